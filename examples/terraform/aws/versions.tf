terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation was read on 2026-11-21, for instances and launch templates as of 6.33 or newer; what of, README.md says.
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.33"
    }
  }
}
