terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation and source of 0.9.7 (2026-03-29) were read on 2026-11-21; 0.8 has other attributes.
    libvirt = {
      source  = "dmacvicar/libvirt"
      version = "~> 0.9.7"
    }
  }
}
