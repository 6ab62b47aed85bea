locals {
  platforms  = ["hetzner"]
  attributes = ["user_data"]

  default_machines = {
    "control-plane/amd64" = { server_type = "cx23" }
    "control-plane/arm64" = { server_type = "cax11" }
    "etcd/amd64"          = { server_type = "cx23" }
    "etcd/arm64"          = { server_type = "cax11" }
    "worker/amd64"        = { server_type = "cx33" }
    "worker/arm64"        = { server_type = "cax21" }
  }

  # cloud-init takes base64 for what it is.
  documents = { for name, machine in merge(local.nodes, local.pools) : name => file("${var.tree}/${machine.path}") }

  ipv4 = {
    for name, machine in local.nodes : name =>
    one([for address in machine.addresses : address if !strcontains(address, ":")])
  }
  pool_machines = merge([
    for name, pool in local.pools : {
      for number in range(try(var.pools[name].size, 0)) : "${name}-${number}" => merge(pool, { pool = name })
    }
  ]...)
}

# On different hosts. A group has ten servers at most.
resource "hcloud_placement_group" "members" {
  name   = "${local.cluster.name}-members"
  type   = "spread"
  labels = var.labels
}

# They carry etcd: a new document, image or size changes nothing here. Replace one, wait until etcd is whole, then the next:
#   terraform apply -replace='hcloud_server.member["cp2"]'
resource "hcloud_server" "member" {
  for_each                 = local.members
  name                     = each.key
  location                 = lookup(var.locations, each.key, var.location)
  image                    = var.images["${each.value.os}/${each.value.arch}"]
  server_type              = local.sizes[each.key].server_type
  ssh_keys                 = var.ssh_keys
  firewall_ids             = [hcloud_firewall.nodes.id]
  labels                   = merge(var.labels, { cluster = local.cluster.name, member = "true", api = contains(each.value.roles, "control-plane") ? "true" : "false" })
  placement_group_id       = hcloud_placement_group.members.id
  shutdown_before_deletion = true # the kubelet ends its pods in order
  user_data                = local.documents[each.key]
  depends_on               = [terraform_data.document]

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
    ignore_changes = [user_data, image, server_type, ssh_keys, location, public_net]
  }
}

# A new document, image or size changes nothing here either: `firelay update` changes a worker that runs. To replace one, drain it
# first, as examples/terraform/replace does.
resource "hcloud_server" "worker" {
  for_each                 = local.workers
  name                     = each.key
  location                 = lookup(var.locations, each.key, var.location)
  image                    = var.images["${each.value.os}/${each.value.arch}"]
  server_type              = local.sizes[each.key].server_type
  ssh_keys                 = var.ssh_keys
  firewall_ids             = [hcloud_firewall.nodes.id]
  labels                   = merge(var.labels, { cluster = local.cluster.name })
  shutdown_before_deletion = true # the kubelet ends its pods in order
  user_data                = local.documents[each.key]
  depends_on               = [terraform_data.document]

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
    ignore_changes = [user_data, image, server_type, ssh_keys, location, public_net]
  }
}
