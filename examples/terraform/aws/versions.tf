terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Validated with 5.100.0 on 2026-11-23. Its documentation was read on 2026-11-21, for 6.33 and newer; README.md has the rest.
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100.0, < 7.0.0"
    }
  }
}
