# Manual: machines that joined do not read a new document, and none is replaced for it, as long as the provider's feature
# roll_instances_when_required is off. It is on by default, and makes every machine of the set anew.
resource "azurerm_linux_virtual_machine_scale_set" "pool" {
  for_each             = local.pools
  name                 = "${local.cluster.name}-${each.key}"
  computer_name_prefix = each.key
  resource_group_name  = var.resource_group_name
  location             = var.location
  sku                  = var.sizes["worker/${each.value.arch}"]
  instances            = lookup(var.pool_sizes, each.key, 0)
  upgrade_mode         = "Manual"
  overprovision        = false
  admin_username       = var.admin_username
  custom_data          = local.documents[each.key]
  source_image_id      = local.images[each.key].id

  admin_ssh_key {
    username   = var.admin_username
    public_key = var.admin_ssh_key
  }

  dynamic "identity" {
    for_each = length(var.identity_ids) > 0 ? [var.identity_ids] : []
    content {
      type         = "UserAssigned"
      identity_ids = identity.value
    }
  }

  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "Premium_LRS"
    disk_size_gb         = var.os_disk_size
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

  lifecycle {
    ignore_changes = [instances]
  }
}
