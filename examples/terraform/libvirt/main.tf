locals {
  platforms  = ["libvirt", "nocloud"]
  attributes = ["user_data", "content", "user-data", "config.ign"]

  default_machines = {
    control-plane = { cpus = 2, memory = 4096, disk = 40 }
    etcd          = { cpus = 2, memory = 4096, disk = 40 }
    worker        = { cpus = 2, memory = 4096, disk = 40 }
  }

  architectures = { amd64 = "x86_64", arm64 = "aarch64" }
  seeds = merge(
    { for name, disk in libvirt_cloudinit_disk.node : name => disk.path },
    { for name, document in libvirt_ignition.node : name => document.path },
  )
  # QEMU hands an Ignition document over itself; a seed of cloud-init is a disk.
  firmware = {
    for name, machine in local.nodes : name => machine.document != "ignition" ? null : [{
      fw_cfg = {
        entry = [{
          name  = lookup(var.fw_cfg_names, machine.os, "opt/com.coreos/config")
          file  = merge(libvirt_volume.member_seed, libvirt_volume.worker_seed)[name].path
          value = ""
        }]
      }
    }]
  }
}

# Both are files on the machine that runs Terraform, and made again whenever they are gone. Nothing else follows that.
resource "libvirt_cloudinit_disk" "node" {
  for_each       = { for name, machine in local.nodes : name => machine if machine.document == "cloud-init" }
  name           = "${local.cluster.name}-${each.key}"
  user_data      = file("${var.tree}/${each.value.path}")
  meta_data      = file("${var.tree}/${each.value.meta_data_path}")
  network_config = each.value.network_config_path == null ? null : file("${var.tree}/${each.value.network_config_path}")
}

resource "libvirt_ignition" "node" {
  for_each = { for name, machine in local.nodes : name => machine if machine.document == "ignition" }
  name     = "${local.cluster.name}-${each.key}"
  content  = file("${var.tree}/${each.value.path}")
}

# Disks are written on top of it: another image in its place would break those of machines that run.
resource "libvirt_volume" "image" {
  for_each = var.images
  name     = "${local.cluster.name}-${replace(each.key, "/", "-")}.qcow2"
  pool     = var.storage_pool
  target   = { format = { type = "qcow2" } }
  create   = { content = { url = each.value } }

  lifecycle {
    ignore_changes = [create]
  }
}

# They carry etcd: a new document, image or size changes nothing here. Replace one with its disk, wait until etcd is whole, then
# the next:
#   terraform apply -replace='libvirt_volume.member_seed["cp2"]'
resource "libvirt_volume" "member_seed" {
  for_each = local.members
  name     = "${local.cluster.name}-${each.key}-seed"
  pool     = var.storage_pool
  create   = { content = { url = local.seeds[each.key] } }

  depends_on = [terraform_data.document]

  lifecycle {
    ignore_changes = [create]
  }
}

resource "libvirt_volume" "member_disk" {
  for_each      = local.members
  name          = "${local.cluster.name}-${each.key}.qcow2"
  pool          = var.storage_pool
  capacity      = local.sizes[each.key].disk * 1024 * 1024 * 1024
  target        = { format = { type = "qcow2" } }
  backing_store = { path = libvirt_volume.image["${each.value.os}/${each.value.arch}"].path, format = { type = "qcow2" } }

  lifecycle {
    ignore_changes       = [backing_store, capacity]
    replace_triggered_by = [libvirt_volume.member_seed[each.key]]
  }
}

resource "libvirt_domain" "member" {
  for_each    = local.members
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
        source = { volume = { pool = var.storage_pool, volume = libvirt_volume.member_disk[each.key].name } }
        target = { dev = "vda", bus = "virtio" }
        driver = { type = "qcow2" }
      }],
      each.value.document == "ignition" ? [] : [{
        device = "cdrom"
        source = { volume = { pool = var.storage_pool, volume = libvirt_volume.member_seed[each.key].name } }
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
    replace_triggered_by = [libvirt_volume.member_seed[each.key]]
  }
}
