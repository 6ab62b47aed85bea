terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation and source of 7.45.0 (2026-08-18) were read on 2026-11-21.
    google = {
      source  = "hashicorp/google"
      version = "~> 7.45"
    }
  }
}
