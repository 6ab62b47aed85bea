locals {
  platforms  = ["vsphere"]
  attributes = ["guestinfo.userdata", "guestinfo.ignition.config.data"]

  default_machines = {
    control-plane = { cpus = 2, memory = 4096, disk = 40 }
    etcd          = { cpus = 2, memory = 4096, disk = 40 }
    worker        = { cpus = 4, memory = 8192, disk = 60 }
  }

  # firelay's words for encodings, and those of guestinfo.
  encodings = { plain = "", base64 = "base64", gzip-base64 = "gzip+base64" }

  extra_config = {
    for name, machine in merge(local.nodes, local.pools) : name => merge(
      {
        (machine.attribute)             = file("${var.tree}/${machine.path}")
        "${machine.attribute}.encoding" = local.encodings[machine.encoding]
      },
      machine.meta_data_path == null ? {} : {
        "guestinfo.metadata"          = filebase64("${var.tree}/${machine.meta_data_path}")
        "guestinfo.metadata.encoding" = "base64"
      },
    )
  }

  pool_machines = merge([
    for name, pool in local.pools : {
      for number in range(try(var.pools[name].size, 0)) : "${name}-${number}" => merge(pool, { pool = name })
    }
  ]...)

  templates = {
    for name, machine in merge(local.nodes, local.pools) : name =>
    data.vsphere_virtual_machine.template["${machine.os}/${machine.arch}"]
  }
}

data "vsphere_datacenter" "here" {
  name = var.datacenter
}

data "vsphere_compute_cluster" "here" {
  name          = var.cluster
  datacenter_id = data.vsphere_datacenter.here.id
}

data "vsphere_datastore" "here" {
  name          = var.datastore
  datacenter_id = data.vsphere_datacenter.here.id
}

data "vsphere_network" "here" {
  name          = var.network
  datacenter_id = data.vsphere_datacenter.here.id
}

data "vsphere_virtual_machine" "template" {
  for_each      = var.templates
  name          = each.value
  datacenter_id = data.vsphere_datacenter.here.id
}

# They carry etcd: a new document, template or size changes nothing here. Replace one, wait until etcd is whole, then the next:
#   terraform apply -replace='vsphere_virtual_machine.member["cp2"]'
resource "vsphere_virtual_machine" "member" {
  for_each                   = local.members
  name                       = each.key
  annotation                 = "Kubernetes cluster ${local.cluster.name}"
  folder                     = var.folder
  tags                       = var.tags
  storage_policy_id          = var.storage_policy_id
  resource_pool_id           = data.vsphere_compute_cluster.here.resource_pool_id
  datastore_id               = data.vsphere_datastore.here.id
  num_cpus                   = local.sizes[each.key].cpus
  memory                     = local.sizes[each.key].memory
  guest_id                   = local.templates[each.key].guest_id
  firmware                   = local.templates[each.key].firmware
  extra_config               = local.extra_config[each.key]
  depends_on                 = [terraform_data.document]
  enable_disk_uuid           = true # the cloud controller and the CSI driver ask for it
  wait_for_guest_net_timeout = 0

  network_interface {
    network_id     = data.vsphere_network.here.id
    use_static_mac = each.value.mac != null
    mac_address    = each.value.mac
  }

  disk {
    label             = "disk0"
    size              = local.sizes[each.key].disk
    thin_provisioned  = true
    storage_policy_id = var.storage_policy_id
  }

  clone {
    template_uuid = local.templates[each.key].id
  }

  lifecycle {
    ignore_changes = [extra_config, num_cpus, memory, clone, guest_id, firmware]
  }
}

# A new document, image or size changes nothing here either: `firelay update` changes a worker that runs. To replace one, drain it
# first, as examples/terraform/replace does.
resource "vsphere_virtual_machine" "worker" {
  for_each                   = local.workers
  name                       = each.key
  annotation                 = "Kubernetes cluster ${local.cluster.name}"
  folder                     = var.folder
  tags                       = var.tags
  storage_policy_id          = var.storage_policy_id
  resource_pool_id           = data.vsphere_compute_cluster.here.resource_pool_id
  datastore_id               = data.vsphere_datastore.here.id
  num_cpus                   = local.sizes[each.key].cpus
  memory                     = local.sizes[each.key].memory
  guest_id                   = local.templates[each.key].guest_id
  firmware                   = local.templates[each.key].firmware
  extra_config               = local.extra_config[each.key]
  depends_on                 = [terraform_data.document]
  enable_disk_uuid           = true # the cloud controller and the CSI driver ask for it
  wait_for_guest_net_timeout = 0

  network_interface {
    network_id     = data.vsphere_network.here.id
    use_static_mac = each.value.mac != null
    mac_address    = each.value.mac
  }

  disk {
    label             = "disk0"
    size              = local.sizes[each.key].disk
    thin_provisioned  = true
    storage_policy_id = var.storage_policy_id
  }

  clone {
    template_uuid = local.templates[each.key].id
  }

  lifecycle {
    ignore_changes = [extra_config, num_cpus, memory, clone, guest_id, firmware]
  }
}

resource "vsphere_compute_cluster_vm_anti_affinity_rule" "members" {
  count               = var.anti_affinity && length(local.members) > 1 ? 1 : 0
  name                = "${local.cluster.name}-members"
  compute_cluster_id  = data.vsphere_compute_cluster.here.id
  virtual_machine_ids = [for machine in vsphere_virtual_machine.member : machine.id]
}
