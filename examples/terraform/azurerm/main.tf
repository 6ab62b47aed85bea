locals {
  platforms  = ["azure"]
  attributes = ["custom_data"]

  default_machines = {
    "control-plane/amd64" = { size = "Standard_D2s_v5", disk_size = 64, disk_type = "Premium_LRS" }
    "control-plane/arm64" = { size = "Standard_D2ps_v5", disk_size = 64, disk_type = "Premium_LRS" }
    "etcd/amd64"          = { size = "Standard_D2s_v5", disk_size = 64, disk_type = "Premium_LRS" }
    "etcd/arm64"          = { size = "Standard_D2ps_v5", disk_size = 64, disk_type = "Premium_LRS" }
    "worker/amd64"        = { size = "Standard_D4s_v5", disk_size = 64, disk_type = "Premium_LRS" }
    "worker/arm64"        = { size = "Standard_D4ps_v5", disk_size = 64, disk_type = "Premium_LRS" }
  }

  # Azure takes base64, and cloud-init unpacks gzip itself.
  documents = {
    for name, machine in merge(local.nodes, local.pools) : name =>
    endswith(machine.encoding, "base64") ? file("${var.tree}/${machine.path}") : filebase64("${var.tree}/${machine.path}")
  }

  ipv4 = {
    for name, machine in local.nodes : name =>
    one([for address in machine.addresses : address if !strcontains(address, ":")])
  }
  images = {
    for name, machine in merge(local.nodes, local.pools) : name => var.images["${machine.os}/${machine.arch}"]
  }
}

resource "azurerm_network_interface" "node" {
  for_each              = local.nodes
  name                  = "${local.cluster.name}-${each.key}"
  resource_group_name   = var.resource_group_name
  location              = var.location
  ip_forwarding_enabled = var.ip_forwarding
  tags                  = var.tags

  ip_configuration {
    name                          = "primary"
    subnet_id                     = var.subnet_id
    private_ip_address_allocation = "Static"
    private_ip_address            = local.ipv4[each.key]
  }
}

# They carry etcd: a new document, image, key or size changes nothing here. Replace one, wait until etcd is whole, then the next:
#   terraform apply -replace='azurerm_linux_virtual_machine.member["cp2"]'
resource "azurerm_linux_virtual_machine" "member" {
  for_each              = local.members
  name                  = "${local.cluster.name}-${each.key}"
  computer_name         = each.key
  resource_group_name   = var.resource_group_name
  location              = var.location
  size                  = local.sizes[each.key].size
  network_interface_ids = [azurerm_network_interface.node[each.key].id]
  admin_username        = var.admin_username
  custom_data           = local.documents[each.key]
  source_image_id       = local.images[each.key].id
  zone                  = lookup(var.zones, each.key, null)
  tags                  = var.tags
  depends_on            = [azurerm_role_assignment.pointer, terraform_data.document]

  admin_ssh_key {
    username   = var.admin_username
    public_key = var.admin_ssh_key
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [local.identities[each.value.roles[0]]]
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

  lifecycle {
    ignore_changes = [custom_data, size, source_image_id, source_image_reference, plan, admin_ssh_key, admin_username, zone, os_disk]
  }
}

# A new document, image or size changes nothing here either: `firelay update` changes a worker that runs. To replace one, drain it
# first, as examples/terraform/replace does.
resource "azurerm_linux_virtual_machine" "worker" {
  for_each              = local.workers
  name                  = "${local.cluster.name}-${each.key}"
  computer_name         = each.key
  resource_group_name   = var.resource_group_name
  location              = var.location
  size                  = local.sizes[each.key].size
  network_interface_ids = [azurerm_network_interface.node[each.key].id]
  admin_username        = var.admin_username
  custom_data           = local.documents[each.key]
  source_image_id       = local.images[each.key].id
  zone                  = lookup(var.zones, each.key, null)
  tags                  = var.tags
  depends_on            = [azurerm_role_assignment.pointer, terraform_data.document]

  admin_ssh_key {
    username   = var.admin_username
    public_key = var.admin_ssh_key
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [local.identities[each.value.roles[0]]]
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

  lifecycle {
    ignore_changes = [custom_data, size, source_image_id, source_image_reference, plan, admin_ssh_key, admin_username, zone, os_disk]
  }
}
