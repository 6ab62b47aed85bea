# Hetzner's firewalls are for public addresses only: within the network everything is open, etcd, too.
resource "hcloud_firewall" "nodes" {
  name   = "${local.cluster.name}-nodes"
  labels = var.labels

  dynamic "rule" {
    for_each = length(var.api_cidrs) > 0 ? [var.api_cidrs] : []
    content {
      direction  = "in"
      protocol   = "tcp"
      port       = "6443"
      source_ips = rule.value
    }
  }

  dynamic "rule" {
    for_each = length(var.ssh_cidrs) > 0 ? [var.ssh_cidrs] : []
    content {
      direction  = "in"
      protocol   = "tcp"
      port       = "22"
      source_ips = rule.value
    }
  }
}

resource "hcloud_load_balancer" "api" {
  count              = local.balancers
  name               = "${local.cluster.name}-api"
  load_balancer_type = var.load_balancer_type
  location           = var.location
  labels             = var.labels
}

locals {
  balancers = var.load_balancer == "none" ? 0 : 1
}

resource "hcloud_load_balancer_network" "api" {
  count                   = local.balancers
  load_balancer_id        = hcloud_load_balancer.api[0].id
  subnet_id               = var.subnet_id
  enable_public_interface = var.load_balancer == "external"
}

resource "hcloud_load_balancer_service" "api" {
  count            = local.balancers
  load_balancer_id = hcloud_load_balancer.api[0].id
  protocol         = "tcp"
  listen_port      = local.cluster.endpoint_port
  destination_port = 6443

  health_check {
    protocol = "http"
    port     = 6443
    interval = 10
    timeout  = 5
    retries  = 3

    http {
      path         = "/readyz"
      tls          = true
      status_codes = ["200"]
    }
  }
}

resource "hcloud_load_balancer_target" "api" {
  count            = local.balancers
  load_balancer_id = hcloud_load_balancer.api[0].id
  type             = "label_selector"
  label_selector   = "cluster=${local.cluster.name},api=true"
  use_private_ip   = true
  depends_on       = [hcloud_load_balancer_network.api]
}
