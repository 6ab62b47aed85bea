terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation of 1.68.0 (2026-07-28) was read on 2026-11-21.
    hcloud = {
      source  = "hetznercloud/hcloud"
      version = "~> 1.68"
    }
  }
}
