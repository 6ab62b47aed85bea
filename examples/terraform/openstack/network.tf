resource "openstack_networking_secgroup_v2" "nodes" {
  name        = "${local.cluster.name}-nodes"
  description = "Machines of the Kubernetes cluster ${local.cluster.name}"
}

resource "openstack_networking_secgroup_v2" "members" {
  name        = "${local.cluster.name}-members"
  description = "Control planes and etcd of the Kubernetes cluster ${local.cluster.name}"
}

locals {
  between = concat([
    { protocol = "tcp", port = 6443 },  # the API server
    { protocol = "tcp", port = 10250 }, # the kubelet
  ], local.cluster.ports)
}

# A new security group allows outgoing traffic.
resource "openstack_networking_secgroup_rule_v2" "between" {
  for_each          = { for rule in local.between : "${rule.protocol}-${coalesce(rule.port, "all")}" => rule... }
  security_group_id = openstack_networking_secgroup_v2.nodes.id
  remote_group_id   = openstack_networking_secgroup_v2.nodes.id
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = each.value[0].protocol
  port_range_min    = each.value[0].port
  port_range_max    = each.value[0].port
}

# etcd's clients are control planes, and its members each other's.
resource "openstack_networking_secgroup_rule_v2" "etcd" {
  security_group_id = openstack_networking_secgroup_v2.members.id
  remote_group_id   = openstack_networking_secgroup_v2.members.id
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = 2379
  port_range_max    = 2380
}

resource "openstack_networking_secgroup_rule_v2" "api" {
  for_each          = toset(var.api_cidrs)
  security_group_id = openstack_networking_secgroup_v2.members.id
  remote_ip_prefix  = each.value
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = 6443
  port_range_max    = 6443
}

resource "openstack_networking_secgroup_rule_v2" "ssh" {
  for_each          = toset(var.ssh_cidrs)
  security_group_id = openstack_networking_secgroup_v2.nodes.id
  remote_ip_prefix  = each.value
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = 22
  port_range_max    = 22
}
