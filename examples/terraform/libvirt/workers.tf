# A new document, image or size changes nothing here either: `firelay update` changes a worker that runs. To replace one, drain it
# first, as examples/terraform/replace does:
#   replace libvirt_volume.worker_seed,libvirt_domain.worker worker-1
resource "libvirt_volume" "worker_seed" {
  for_each = local.workers
  name     = "${local.cluster.name}-${each.key}-seed"
  pool     = var.storage_pool
  create   = { content = { url = local.seeds[each.key] } }

  depends_on = [terraform_data.document]

  lifecycle {
    ignore_changes = [create]
  }
}

resource "libvirt_volume" "worker_disk" {
  for_each      = local.workers
  name          = "${local.cluster.name}-${each.key}.qcow2"
  pool          = var.storage_pool
  capacity      = local.sizes[each.key].disk * 1024 * 1024 * 1024
  target        = { format = { type = "qcow2" } }
  backing_store = { path = libvirt_volume.image["${each.value.os}/${each.value.arch}"].path, format = { type = "qcow2" } }

  lifecycle {
    ignore_changes       = [backing_store, capacity]
    replace_triggered_by = [libvirt_volume.worker_seed[each.key]]
  }
}

resource "libvirt_domain" "worker" {
  for_each    = local.workers
  name        = "${local.cluster.name}-${each.key}"
  type        = "kvm"
  vcpu        = local.sizes[each.key].cpus
  memory      = local.sizes[each.key].memory
  memory_unit = "MiB"
  autostart   = true
  running     = true
  sys_info    = local.firmware[each.key]

  os = {
    type      = "hvm"
    type_arch = local.architectures[each.value.arch]
  }

  devices = {
    disks = concat(
      [{
        device = "disk"
        source = { volume = { pool = var.storage_pool, volume = libvirt_volume.worker_disk[each.key].name } }
        target = { dev = "vda", bus = "virtio" }
        driver = { type = "qcow2" }
      }],
      each.value.document == "ignition" ? [] : [{
        device = "cdrom"
        source = { volume = { pool = var.storage_pool, volume = libvirt_volume.worker_seed[each.key].name } }
        target = { dev = "sda", bus = "sata" }
        driver = { type = "raw" }
      }],
    )
    interfaces = [{
      model  = { type = "virtio" }
      mac    = each.value.mac == null ? null : { address = each.value.mac }
      source = { network = { network = var.network } }
    }]
  }

  lifecycle {
    ignore_changes       = [vcpu, memory]
    replace_triggered_by = [libvirt_volume.worker_seed[each.key]]
  }
}
