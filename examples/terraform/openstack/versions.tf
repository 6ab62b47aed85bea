terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation of 3.4.0 (2025-11-11) and the source of instances were read on 2026-11-21.
    openstack = {
      source  = "terraform-provider-openstack/openstack"
      version = "~> 3.4"
    }
  }
}
