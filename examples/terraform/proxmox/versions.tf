terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation and source of 0.111.1 (2026-07-03) were read on 2026-11-21.
    proxmox = {
      source  = "bpg/proxmox"
      version = "~> 0.111.1"
    }
  }
}
