# As those of members: Proxmox makes the seed anew at every start of the machine.
resource "proxmox_virtual_environment_file" "worker_user" {
  for_each     = local.workers
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

resource "proxmox_virtual_environment_file" "worker_meta" {
  for_each     = { for name, machine in local.workers : name => machine if machine.meta_data_path != null }
  content_type = "snippets"
  datastore_id = var.snippets_datastore
  node_name    = local.hosts[each.key]

  source_raw {
    data      = file("${var.tree}/${each.value.meta_data_path}")
    file_name = "${local.cluster.name}-${each.key}-meta"
  }

  lifecycle {
    ignore_changes       = [source_raw, node_name, datastore_id]
    replace_triggered_by = [proxmox_virtual_environment_file.worker_user[each.key]]
  }
}

resource "proxmox_virtual_environment_file" "worker_network" {
  for_each     = { for name, machine in local.workers : name => machine if machine.network_config_path != null }
  content_type = "snippets"
  datastore_id = var.snippets_datastore
  node_name    = local.hosts[each.key]

  source_raw {
    data      = file("${var.tree}/${each.value.network_config_path}")
    file_name = "${local.cluster.name}-${each.key}-network"
  }

  lifecycle {
    ignore_changes       = [source_raw, node_name, datastore_id]
    replace_triggered_by = [proxmox_virtual_environment_file.worker_user[each.key]]
  }
}

# A new document, image or size changes nothing here either: `firelay update` changes a worker that runs. To replace one, drain it
# first, as examples/terraform/replace does:
#   replace proxmox_virtual_environment_file.worker_user,proxmox_virtual_environment_vm.worker worker-1
resource "proxmox_virtual_environment_vm" "worker" {
  for_each        = local.workers
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
    user_data_file_id    = proxmox_virtual_environment_file.worker_user[each.key].id
    meta_data_file_id    = try(proxmox_virtual_environment_file.worker_meta[each.key].id, null)
    network_data_file_id = try(proxmox_virtual_environment_file.worker_network[each.key].id, null)
  }

  operating_system {
    type = "l26"
  }

  serial_device {}

  lifecycle {
    ignore_changes       = [cpu, memory, disk, agent, node_name, initialization]
    replace_triggered_by = [proxmox_virtual_environment_file.worker_user[each.key]]
  }
}
