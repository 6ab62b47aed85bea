terraform {
  required_version = ">= 1.5.0"

  required_providers {
    # Its documentation and source of 5.2.0 (2026-08-20) were read on 2026-11-21; 4.x has other names in scale sets.
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 5.2"
    }
  }
}
