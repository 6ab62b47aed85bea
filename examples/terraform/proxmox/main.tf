locals {
  platforms  = ["proxmox", "nocloud"]
  attributes = ["source_raw.data", "user-data", "config.ign"]

  default_machines = {
    control-plane = { cores = 2, memory = 4096, disk = 40, cpu = "x86-64-v2-AES" }
    etcd          = { cores = 2, memory = 4096, disk = 40, cpu = "x86-64-v2-AES" }
    worker        = { cores = 4, memory = 8192, disk = 60, cpu = "x86-64-v2-AES" }
  }

  hosts = { for name in keys(local.nodes) : name => lookup(var.hosts, name, var.host) }
}

# Proxmox makes the seed anew at every start of the machine, and cloud-init runs again when it finds another instance-id:
# the snippets of members stay as they were, too.
resource "proxmox_virtual_environment_file" "member_user" {
  for_each     = local.members
  content_type = "snippets"
  datastore_id = var.snippets_datastore
  node_name    = local.hosts[each.key]
  depends_on   = [terraform_data.document]

  source_raw {
    data      = file("${var.tree}/${each.value.path}")
    file_name = "${local.cluster.name}-${each.key}-user"
  }

  lifecycle {
    ignore_changes = [source_raw, node_name, datastore_id]
  }
}

resource "proxmox_virtual_environment_file" "member_meta" {
  for_each     = { for name, machine in local.members : name => machine if machine.meta_data_path != null }
  content_type = "snippets"
  datastore_id = var.snippets_datastore
  node_name    = local.hosts[each.key]

  source_raw {
    data      = file("${var.tree}/${each.value.meta_data_path}")
    file_name = "${local.cluster.name}-${each.key}-meta"
  }

  lifecycle {
    ignore_changes       = [source_raw, node_name, datastore_id]
    replace_triggered_by = [proxmox_virtual_environment_file.member_user[each.key]]
  }
}

resource "proxmox_virtual_environment_file" "member_network" {
  for_each     = { for name, machine in local.members : name => machine if machine.network_config_path != null }
  content_type = "snippets"
  datastore_id = var.snippets_datastore
  node_name    = local.hosts[each.key]

  source_raw {
    data      = file("${var.tree}/${each.value.network_config_path}")
    file_name = "${local.cluster.name}-${each.key}-network"
  }

  lifecycle {
    ignore_changes       = [source_raw, node_name, datastore_id]
    replace_triggered_by = [proxmox_virtual_environment_file.member_user[each.key]]
  }
}

# They carry etcd: a new document, image or size changes nothing here. Replace one with its snippets, wait until etcd is whole,
# then the next:
#   terraform apply -replace='proxmox_virtual_environment_file.member_user["cp2"]'
resource "proxmox_virtual_environment_vm" "member" {
  for_each        = local.members
  name            = each.key
  node_name       = local.hosts[each.key]
  tags            = sort(concat([local.cluster.name], var.tags))
  scsi_hardware   = "virtio-scsi-single"
  stop_on_destroy = !var.agent # without an agent nothing answers a shutdown

  agent {
    enabled = var.agent
  }

  cpu {
    cores = local.sizes[each.key].cores
    type  = local.sizes[each.key].cpu
  }

  memory {
    dedicated = local.sizes[each.key].memory
  }

  disk {
    datastore_id = var.datastore
    import_from  = var.images["${each.value.os}/${each.value.arch}"]
    interface    = "scsi0"
    size         = local.sizes[each.key].disk
  }

  network_device {
    bridge      = var.bridge
    mac_address = each.value.mac
  }

  initialization {
    datastore_id         = var.datastore
    user_data_file_id    = proxmox_virtual_environment_file.member_user[each.key].id
    meta_data_file_id    = try(proxmox_virtual_environment_file.member_meta[each.key].id, null)
    network_data_file_id = try(proxmox_virtual_environment_file.member_network[each.key].id, null)
  }

  operating_system {
    type = "l26"
  }

  serial_device {}

  lifecycle {
    ignore_changes       = [cpu, memory, disk, agent, node_name, initialization]
    replace_triggered_by = [proxmox_virtual_environment_file.member_user[each.key]]
  }
}
