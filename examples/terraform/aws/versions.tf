terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation of 6.x was read on 2026-11-21.
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}
