resource "aws_security_group" "nodes" {
  name        = "${local.cluster.name}-nodes"
  description = "Machines of the Kubernetes cluster ${local.cluster.name}"
  vpc_id      = var.vpc_id
  tags        = local.machine_tags
}

resource "aws_security_group" "members" {
  name        = "${local.cluster.name}-members"
  description = "Control planes and etcd of the Kubernetes cluster ${local.cluster.name}"
  vpc_id      = var.vpc_id
  tags        = var.tags # the cloud controller allows its own tag on one group of an instance only
}

locals {
  balancers = var.load_balancer == "none" ? 0 : 1
  between = concat([
    { protocol = "tcp", port = 6443 },  # the API server
    { protocol = "tcp", port = 10250 }, # the kubelet
  ], local.cluster.ports)
}

resource "aws_vpc_security_group_ingress_rule" "between" {
  for_each                     = { for rule in local.between : "${rule.protocol}-${coalesce(rule.port, "all")}" => rule... }
  security_group_id            = aws_security_group.nodes.id
  referenced_security_group_id = aws_security_group.nodes.id
  ip_protocol                  = each.value[0].protocol
  from_port                    = each.value[0].port
  to_port                      = each.value[0].port
  tags                         = var.tags
}

# etcd's clients are control planes, and its members each other's.
resource "aws_vpc_security_group_ingress_rule" "etcd" {
  security_group_id            = aws_security_group.members.id
  referenced_security_group_id = aws_security_group.members.id
  ip_protocol                  = "tcp"
  from_port                    = 2379
  to_port                      = 2380
  tags                         = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "api" {
  for_each          = toset(var.api_cidrs)
  security_group_id = aws_security_group.members.id
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 6443
  to_port           = 6443
  tags              = var.tags
}

resource "aws_security_group" "load_balancer" {
  count       = local.balancers
  name        = "${local.cluster.name}-api"
  description = "Load balancer of the Kubernetes cluster ${local.cluster.name}"
  vpc_id      = var.vpc_id
  tags        = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "balanced" {
  for_each          = toset(local.balancers > 0 ? var.api_cidrs : [])
  security_group_id = aws_security_group.load_balancer[0].id
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = local.cluster.endpoint_port
  to_port           = local.cluster.endpoint_port
  tags              = var.tags
}

# Machines are known by their group only where they come with private addresses: at an internal load balancer.
resource "aws_vpc_security_group_ingress_rule" "balanced_nodes" {
  count                        = local.balancers
  security_group_id            = aws_security_group.load_balancer[0].id
  referenced_security_group_id = aws_security_group.nodes.id
  ip_protocol                  = "tcp"
  from_port                    = local.cluster.endpoint_port
  to_port                      = local.cluster.endpoint_port
  tags                         = var.tags
}

resource "aws_vpc_security_group_egress_rule" "load_balancer" {
  count                        = local.balancers
  security_group_id            = aws_security_group.load_balancer[0].id
  referenced_security_group_id = aws_security_group.members.id
  ip_protocol                  = "tcp"
  from_port                    = 6443
  to_port                      = 6443
  tags                         = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "load_balancer" {
  count                        = local.balancers
  security_group_id            = aws_security_group.members.id
  referenced_security_group_id = aws_security_group.load_balancer[0].id
  ip_protocol                  = "tcp"
  from_port                    = 6443
  to_port                      = 6443
  tags                         = var.tags
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each          = toset(var.ssh_cidrs)
  security_group_id = aws_security_group.nodes.id
  cidr_ipv4         = each.value
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
  tags              = var.tags
}

# Binaries and images are fetched.
resource "aws_vpc_security_group_egress_rule" "all" {
  security_group_id = aws_security_group.nodes.id
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
  tags              = var.tags
}

resource "aws_vpc_security_group_egress_rule" "all_ipv6" {
  security_group_id = aws_security_group.nodes.id
  cidr_ipv6         = "::/0"
  ip_protocol       = "-1"
  tags              = var.tags
}

locals {
  # AWS takes 32 characters.
  balancer_name = (
    length(local.cluster.name) <= 28 ? "${local.cluster.name}-api" :
    "${substr(local.cluster.name, 0, 19)}-${substr(sha256(local.cluster.name), 0, 8)}-api"
  )
}

resource "aws_lb" "api" {
  count                            = local.balancers
  name                             = local.balancer_name
  internal                         = var.load_balancer == "internal"
  load_balancer_type               = "network"
  subnets                          = coalesce(var.load_balancer_subnet_ids, var.subnet_ids)
  security_groups                  = [aws_security_group.load_balancer[0].id]
  enable_cross_zone_load_balancing = true
  tags                             = var.tags
}

# By address, not by instance: a control plane must reach itself through the load balancer, too.
resource "aws_lb_target_group" "api" {
  count              = local.balancers
  name               = local.balancer_name
  vpc_id             = var.vpc_id
  target_type        = "ip"
  port               = 6443
  protocol           = "TCP"
  preserve_client_ip = "false"
  tags               = var.tags

  health_check {
    protocol = "HTTPS"
    path     = "/readyz"
    interval = 10
    timeout  = 6 # 10 by default, which is as long as the interval
  }
}

resource "aws_lb_target_group_attachment" "api" {
  for_each         = local.balancers > 0 ? local.control_planes : {}
  target_group_arn = aws_lb_target_group.api[0].arn
  target_id        = aws_instance.member[each.key].private_ip
}

resource "aws_lb_listener" "api" {
  count             = local.balancers
  load_balancer_arn = aws_lb.api[0].arn
  port              = local.cluster.endpoint_port
  protocol          = "TCP"
  tags              = var.tags

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.api[0].arn
  }
}

resource "aws_route53_record" "api" {
  count   = var.dns_zone == null ? 0 : local.balancers
  zone_id = var.dns_zone
  name    = local.cluster.endpoint_host
  type    = "A"

  alias {
    name                   = aws_lb.api[0].dns_name
    zone_id                = aws_lb.api[0].zone_id
    evaluate_target_health = false
  }
}
