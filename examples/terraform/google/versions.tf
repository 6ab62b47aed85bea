terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation of 7.x was read on 2026-11-21.
    google = {
      source  = "hashicorp/google"
      version = "~> 7.0"
    }
  }
}
