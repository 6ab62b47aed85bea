resource "openstack_networking_secgroup_v2" "nodes" {
  name        = "${local.cluster.name}-nodes"
  description = "Machines of the Kubernetes cluster ${local.cluster.name}"
  tags        = var.tags
}

resource "openstack_networking_secgroup_v2" "members" {
  name        = "${local.cluster.name}-members"
  description = "Control planes and etcd of the Kubernetes cluster ${local.cluster.name}"
  tags        = var.tags
}

locals {
  balancers = var.load_balancer == "none" ? 0 : 1
  control_planes = {
    for name, machine in local.members : name => machine if contains(machine.roles, "control-plane")
  }
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

data "openstack_networking_subnet_v2" "here" {
  subnet_id = var.subnet_id
}

# Octavia asks from addresses of the subnet.
resource "openstack_networking_secgroup_rule_v2" "load_balancer" {
  count             = local.balancers
  security_group_id = openstack_networking_secgroup_v2.members.id
  remote_ip_prefix  = data.openstack_networking_subnet_v2.here.cidr
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = 6443
  port_range_max    = 6443
}

resource "openstack_lb_loadbalancer_v2" "api" {
  count         = local.balancers
  name          = "${local.cluster.name}-api"
  vip_subnet_id = var.subnet_id
  tags          = var.tags
}

resource "openstack_lb_listener_v2" "api" {
  count               = local.balancers
  name                = "${local.cluster.name}-api"
  loadbalancer_id     = openstack_lb_loadbalancer_v2.api[0].id
  protocol            = "TCP"
  protocol_port       = local.cluster.endpoint_port
  allowed_cidrs       = concat([data.openstack_networking_subnet_v2.here.cidr], var.api_cidrs)
  timeout_client_data = 1800000 # watches are idle for minutes
  timeout_member_data = 1800000
}

resource "openstack_lb_pool_v2" "api" {
  count       = local.balancers
  name        = "${local.cluster.name}-api"
  listener_id = openstack_lb_listener_v2.api[0].id
  protocol    = "TCP"
  lb_method   = "LEAST_CONNECTIONS"
}

resource "openstack_lb_monitor_v2" "api" {
  count          = local.balancers
  name           = "${local.cluster.name}-api"
  pool_id        = openstack_lb_pool_v2.api[0].id
  type           = "HTTPS"
  url_path       = "/readyz"
  expected_codes = "200"
  delay          = 5
  timeout        = 4
  max_retries    = 3
}

resource "openstack_lb_member_v2" "api" {
  for_each      = local.balancers == 0 ? {} : local.control_planes
  name          = each.key
  pool_id       = openstack_lb_pool_v2.api[0].id
  subnet_id     = var.subnet_id
  address       = one([for address in each.value.addresses : address if !strcontains(address, ":")])
  protocol_port = 6443
}

resource "openstack_networking_floatingip_v2" "api" {
  count   = var.load_balancer == "external" ? 1 : 0
  pool    = var.external_network
  port_id = openstack_lb_loadbalancer_v2.api[0].vip_port_id
  tags    = var.tags

  lifecycle {
    precondition {
      condition     = var.external_network != null
      error_message = "An external load balancer needs external_network."
    }
  }
}
