resource "openstack_networking_port_v2" "pool" {
  for_each           = local.pool_machines
  name               = "${local.cluster.name}-${each.key}"
  network_id         = var.network_id
  security_group_ids = [openstack_networking_secgroup_v2.nodes.id]

  fixed_ip {
    subnet_id = var.subnet_id
  }
}

# A new document is for machines to come: those that joined do not read it again, and none is replaced.
resource "openstack_compute_instance_v2" "pool" {
  for_each     = local.pool_machines
  name         = each.key
  image_id     = var.images["${each.value.os}/${each.value.arch}"]
  flavor_name  = var.flavors["worker/${each.value.arch}"]
  key_pair     = var.key_pair
  config_drive = var.config_drive
  user_data    = local.documents[each.value.pool]

  network {
    port = openstack_networking_port_v2.pool[each.key].id
  }

  lifecycle {
    ignore_changes = [user_data, image_id, key_pair, config_drive]
  }
}
