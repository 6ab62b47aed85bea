terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation of 2.x was read on 2026-11-21.
    vsphere = {
      source  = "vmware/vsphere"
      version = "~> 2.12"
    }
  }
}
