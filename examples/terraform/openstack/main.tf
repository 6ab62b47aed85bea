locals {
  platforms  = ["openstack"]
  attributes = ["user_data"]

  default_machines = {} # every OpenStack has its own flavors

  # The provider passes base64 on unchanged.
  documents = { for name, machine in merge(local.nodes, local.pools) : name => file("${var.tree}/${machine.path}") }

  pool_machines = merge([
    for name, pool in local.pools : {
      for number in range(try(var.pools[name].size, 0)) : "${name}-${number}" => merge(pool, { pool = name })
    }
  ]...)
}

resource "openstack_networking_port_v2" "node" {
  for_each           = local.nodes
  name               = "${local.cluster.name}-${each.key}"
  network_id         = var.network_id
  tags               = var.tags
  security_group_ids = concat([openstack_networking_secgroup_v2.nodes.id], contains(keys(local.members), each.key) ? [openstack_networking_secgroup_v2.members.id] : [])

  dynamic "fixed_ip" {
    for_each = [for address in each.value.addresses : address if !strcontains(address, ":")]
    content {
      subnet_id  = var.subnet_id
      ip_address = fixed_ip.value
    }
  }

  dynamic "allowed_address_pairs" {
    for_each = contains(each.value.roles, "control-plane") ? var.allowed_address_pairs : []
    content {
      ip_address = allowed_address_pairs.value
    }
  }
}

# On different hosts, as far as there are some.
resource "openstack_compute_servergroup_v2" "members" {
  name     = "${local.cluster.name}-members"
  policies = ["soft-anti-affinity"]
}

# They carry etcd: a new document, image, key or size changes nothing here. Replace one, wait until etcd is whole, then the next:
#   terraform apply -replace='openstack_compute_instance_v2.member["cp2"]'
resource "openstack_compute_instance_v2" "member" {
  for_each            = local.members
  name                = each.key
  image_id            = local.sizes[each.key].volume_size == null ? var.images["${each.value.os}/${each.value.arch}"] : null
  flavor_name         = local.sizes[each.key].flavor
  availability_zone   = lookup(var.zones, each.key, null)
  tags                = var.tags
  stop_before_destroy = true # the kubelet ends its pods in order
  key_pair            = var.key_pair
  config_drive        = var.config_drive
  user_data           = local.documents[each.key]
  depends_on          = [terraform_data.document]

  network {
    port = openstack_networking_port_v2.node[each.key].id
  }

  dynamic "block_device" {
    for_each = local.sizes[each.key].volume_size[*]
    content {
      uuid                  = var.images["${each.value.os}/${each.value.arch}"]
      source_type           = "image"
      destination_type      = "volume"
      boot_index            = 0
      volume_size           = block_device.value
      volume_type           = local.sizes[each.key].volume_type
      delete_on_termination = true
    }
  }

  scheduler_hints {
    group = openstack_compute_servergroup_v2.members.id
  }

  lifecycle {
    ignore_changes = [user_data, image_id, flavor_name, availability_zone, key_pair, config_drive, block_device]
  }
}

# A new document, image or size changes nothing here either: `firelay update` changes a worker that runs. To replace one, drain it
# first, as examples/terraform/replace does.
resource "openstack_compute_instance_v2" "worker" {
  for_each            = local.workers
  name                = each.key
  image_id            = local.sizes[each.key].volume_size == null ? var.images["${each.value.os}/${each.value.arch}"] : null
  flavor_name         = local.sizes[each.key].flavor
  availability_zone   = lookup(var.zones, each.key, null)
  tags                = var.tags
  stop_before_destroy = true # the kubelet ends its pods in order
  key_pair            = var.key_pair
  config_drive        = var.config_drive
  user_data           = local.documents[each.key]
  depends_on          = [terraform_data.document]

  network {
    port = openstack_networking_port_v2.node[each.key].id
  }

  dynamic "block_device" {
    for_each = local.sizes[each.key].volume_size[*]
    content {
      uuid                  = var.images["${each.value.os}/${each.value.arch}"]
      source_type           = "image"
      destination_type      = "volume"
      boot_index            = 0
      volume_size           = block_device.value
      volume_type           = local.sizes[each.key].volume_type
      delete_on_termination = true
    }
  }

  lifecycle {
    ignore_changes = [user_data, image_id, flavor_name, availability_zone, key_pair, config_drive, block_device]
  }
}
