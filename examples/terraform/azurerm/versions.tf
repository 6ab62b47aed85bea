terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation of 4.x was read on 2026-11-21.
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 4.0"
    }
  }
}
