locals {
  platforms  = ["hetzner"]
  attributes = ["user_data"]

  # cloud-init takes base64 for what it is.
  documents = { for name, machine in merge(local.nodes, local.pools) : name => file("${var.tree}/${machine.path}") }

  ipv4 = {
    for name, machine in local.nodes : name =>
    one([for address in machine.addresses : address if !strcontains(address, ":")])
  }
  pool_machines = merge([
    for name, pool in local.pools : {
      for number in range(lookup(var.pool_sizes, name, 0)) : "${name}-${number}" => merge(pool, { pool = name })
    }
  ]...)
}

# They carry etcd: a new document or image changes nothing here. Replace one, wait until etcd is whole, then the next:
#   terraform apply -replace='hcloud_server.member["cp2"]'
resource "hcloud_server" "member" {
  for_each     = local.members
  name         = each.key
  location     = var.location
  image        = var.images["${each.value.os}/${each.value.arch}"]
  server_type  = var.server_types["${each.value.roles[0]}/${each.value.arch}"]
  ssh_keys     = var.ssh_keys
  firewall_ids = [hcloud_firewall.nodes.id]
  labels       = { cluster = local.cluster.name, member = "true", api = contains(each.value.roles, "control-plane") ? "true" : "false" }
  user_data    = local.documents[each.key]

  public_net {
    ipv4_enabled = var.public_ipv4
    ipv6_enabled = true
  }

  network {
    subnet_id = var.subnet_id
    ip        = local.ipv4[each.key]
    alias_ips = []
  }

  lifecycle {
    ignore_changes = [user_data, image, ssh_keys]
  }
}

# A new document makes a new server: Hetzner cannot change it.
resource "hcloud_server" "worker" {
  for_each     = local.workers
  name         = each.key
  location     = var.location
  image        = var.images["${each.value.os}/${each.value.arch}"]
  server_type  = var.server_types["worker/${each.value.arch}"]
  ssh_keys     = var.ssh_keys
  firewall_ids = [hcloud_firewall.nodes.id]
  labels       = { cluster = local.cluster.name }
  user_data    = local.documents[each.key]

  public_net {
    ipv4_enabled = var.public_ipv4
    ipv6_enabled = true
  }

  network {
    subnet_id = var.subnet_id
    ip        = local.ipv4[each.key]
    alias_ips = []
  }

  lifecycle {
    ignore_changes = [ssh_keys]
  }
}
