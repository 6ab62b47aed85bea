terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation of 2.16.1 (2026-06-10) and the source of clones were read on 2026-11-21.
    vsphere = {
      source  = "vmware/vsphere"
      version = "~> 2.16"
    }
  }
}
