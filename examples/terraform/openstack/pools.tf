resource "openstack_networking_port_v2" "pool" {
  for_each           = local.pool_machines
  name               = "${local.cluster.name}-${each.key}"
  network_id         = var.network_id
  tags               = var.tags
  security_group_ids = [openstack_networking_secgroup_v2.nodes.id]

  fixed_ip {
    subnet_id = var.subnet_id
  }
}

# A new document is for machines to come: those that joined do not read it again, and none is replaced.
resource "openstack_compute_instance_v2" "pool" {
  for_each            = local.pool_machines
  name                = each.key
  image_id            = local.sizes[each.value.pool].volume_size == null ? var.images["${each.value.os}/${each.value.arch}"] : null
  flavor_name         = local.sizes[each.value.pool].flavor
  availability_zone   = lookup(var.zones, each.value.pool, null)
  tags                = var.tags
  stop_before_destroy = true # the kubelet ends its pods in order
  key_pair            = var.key_pair
  config_drive        = var.config_drive
  user_data           = local.documents[each.value.pool]

  network {
    port = openstack_networking_port_v2.pool[each.key].id
  }

  dynamic "block_device" {
    for_each = local.sizes[each.value.pool].volume_size[*]
    content {
      uuid                  = var.images["${each.value.os}/${each.value.arch}"]
      source_type           = "image"
      destination_type      = "volume"
      boot_index            = 0
      volume_size           = block_device.value
      volume_type           = local.sizes[each.value.pool].volume_type
      delete_on_termination = true
    }
  }

  lifecycle {
    ignore_changes = [user_data, image_id, flavor_name, availability_zone, key_pair, config_drive, block_device]
  }
}

check "pools" {
  assert {
    condition     = length(setsubtract(keys(var.pools), keys(local.pools))) == 0
    error_message = "pools has entries that the tree does not have: ${join(", ", setsubtract(keys(var.pools), keys(local.pools)))}."
  }
}
