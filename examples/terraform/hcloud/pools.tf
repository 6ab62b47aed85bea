# A new document is for servers to come: those that joined do not read it again, and none is replaced.
resource "hcloud_server" "pool" {
  for_each                 = local.pool_machines
  name                     = each.key
  location                 = lookup(var.locations, each.value.pool, var.location)
  image                    = var.images["${each.value.os}/${each.value.arch}"]
  server_type              = local.sizes[each.value.pool].server_type
  ssh_keys                 = var.ssh_keys
  firewall_ids             = [hcloud_firewall.nodes.id]
  labels                   = merge(var.labels, { cluster = local.cluster.name, pool = each.value.pool })
  shutdown_before_deletion = true
  user_data                = local.documents[each.value.pool]

  public_net {
    ipv4_enabled = var.public_ipv4
    ipv6_enabled = true
  }

  network {
    subnet_id = var.subnet_id
    alias_ips = []
  }

  lifecycle {
    ignore_changes = [user_data, image, server_type, ssh_keys, location, public_net]
  }
}

check "pools" {
  assert {
    condition     = length(setsubtract(keys(var.pools), keys(local.pools))) == 0
    error_message = "pools has entries that the tree does not have: ${join(", ", setsubtract(keys(var.pools), keys(local.pools)))}."
  }
}
