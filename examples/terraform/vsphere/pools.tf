# A new document is for machines to come: those that joined do not read it again, and none is replaced.
resource "vsphere_virtual_machine" "pool" {
  for_each                   = local.pool_machines
  name                       = each.key
  annotation                 = "Kubernetes cluster ${local.cluster.name}"
  folder                     = var.folder
  tags                       = var.tags
  storage_policy_id          = var.storage_policy_id
  resource_pool_id           = data.vsphere_compute_cluster.here.resource_pool_id
  datastore_id               = data.vsphere_datastore.here.id
  num_cpus                   = local.sizes[each.value.pool].cpus
  memory                     = local.sizes[each.value.pool].memory
  guest_id                   = local.templates[each.value.pool].guest_id
  firmware                   = local.templates[each.value.pool].firmware
  enable_disk_uuid           = true # the cloud controller and the CSI driver ask for it
  wait_for_guest_net_timeout = 0

  # A pool's meta-data has no name and one instance-id for all: each machine needs its own.
  extra_config = merge(local.extra_config[each.value.pool], {
    "guestinfo.metadata"          = base64encode(jsonencode({ "instance-id" = each.key, "local-hostname" = each.key }))
    "guestinfo.metadata.encoding" = "base64"
  })

  network_interface {
    network_id = data.vsphere_network.here.id
  }

  disk {
    label             = "disk0"
    size              = local.sizes[each.value.pool].disk
    thin_provisioned  = true
    storage_policy_id = var.storage_policy_id
  }

  clone {
    template_uuid = local.templates[each.value.pool].id
  }

  lifecycle {
    ignore_changes = [extra_config, num_cpus, memory, clone, guest_id, firmware]
  }
}

check "pools" {
  assert {
    condition     = length(setsubtract(keys(var.pools), keys(local.pools))) == 0
    error_message = "pools has entries that the tree does not have: ${join(", ", setsubtract(keys(var.pools), keys(local.pools)))}."
  }
}
