locals {
  pool_settings = { for name, pool in local.pools : name => try(var.pools[name], { size = 0, zones = null, spot = false }) }
}

# Manual: machines that joined do not read a new document, and none is replaced for it, as long as the provider's feature
# roll_instances_when_required is off. It is on by default, and makes every machine of the set anew.
resource "azurerm_linux_virtual_machine_scale_set" "pool" {
  for_each             = local.pools
  name                 = "${local.cluster.name}-${each.key}"
  computer_name_prefix = each.key
  resource_group_name  = var.resource_group_name
  location             = var.location
  sku                  = local.sizes[each.key].size
  instances            = local.pool_settings[each.key].size
  zones                = local.pool_settings[each.key].zones
  priority             = local.pool_settings[each.key].spot ? "Spot" : "Regular"
  eviction_policy      = local.pool_settings[each.key].spot ? "Delete" : null
  upgrade_mode         = "Manual"
  overprovision        = false
  admin_username       = var.admin_username
  custom_data          = local.documents[each.key]
  source_image_id      = local.images[each.key].id
  tags                 = var.tags
  depends_on           = [azurerm_role_assignment.pointer]

  admin_ssh_key {
    username   = var.admin_username
    public_key = var.admin_ssh_key
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [local.identities["worker"]]
  }

  # The serial console shows the messages of the boot chain.
  boot_diagnostics {}

  os_disk {
    caching                = "ReadWrite"
    storage_account_type   = local.sizes[each.key].disk_type
    disk_size_gb           = local.sizes[each.key].disk_size
    disk_encryption_set_id = var.disk_encryption_key
  }

  dynamic "source_image_reference" {
    for_each = local.images[each.key].id == null ? [local.images[each.key]] : []
    content {
      publisher = source_image_reference.value.publisher
      offer     = source_image_reference.value.offer
      sku       = source_image_reference.value.sku
      version   = source_image_reference.value.version
    }
  }

  dynamic "plan" {
    for_each = local.images[each.key].plan ? [local.images[each.key]] : []
    content {
      publisher = plan.value.publisher
      product   = plan.value.offer
      name      = plan.value.sku
    }
  }

  network_interface {
    name                      = "primary"
    primary                   = true
    network_security_group_id = azurerm_network_security_group.nodes.id
    ip_forwarding_enabled     = var.ip_forwarding

    ip_configuration {
      name      = "primary"
      primary   = true
      subnet_id = var.subnet_id
    }
  }

  # After a new document: add machines, drain the old ones, and remove as many.
  scale_in {
    rule = "OldestVM"
  }

  lifecycle {
    ignore_changes = [instances]
  }
}

check "pools" {
  assert {
    condition     = length(setsubtract(keys(var.pools), keys(local.pools))) == 0
    error_message = "pools has entries that the tree does not have: ${join(", ", setsubtract(keys(var.pools), keys(local.pools)))}."
  }
}
