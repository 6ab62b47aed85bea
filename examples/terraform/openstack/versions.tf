terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation of 3.x was read on 2026-11-21.
    openstack = {
      source  = "terraform-provider-openstack/openstack"
      version = "~> 3.0"
    }
  }
}
