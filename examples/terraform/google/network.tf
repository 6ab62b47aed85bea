locals {
  tag       = local.cluster.name
  balancers = var.load_balancer == "none" ? 0 : 1
  internal  = var.load_balancer == "internal" ? 1 : 0
  external  = var.load_balancer == "external" ? 1 : 0
  control_planes = {
    for name, machine in local.members : name => machine if contains(machine.roles, "control-plane")
  }
  api_zones = toset(local.balancers == 0 ? [] : [for name in keys(local.control_planes) : lookup(var.zones, name, var.zone)])
}

resource "google_compute_firewall" "between" {
  name        = "${local.tag}-between"
  network     = var.network
  source_tags = [local.tag]
  target_tags = [local.tag]

  allow {
    protocol = "tcp"
    ports    = ["6443", "10250"]
  }

  dynamic "allow" {
    for_each = local.cluster.ports
    content {
      protocol = allow.value.protocol
      ports    = allow.value.port == null ? [] : [tostring(allow.value.port)]
    }
  }
}

# etcd's clients are control planes, and its members each other's.
resource "google_compute_firewall" "etcd" {
  name        = "${local.tag}-etcd"
  network     = var.network
  source_tags = ["${local.tag}-member"]
  target_tags = ["${local.tag}-member"]

  allow {
    protocol = "tcp"
    ports    = ["2379-2380"]
  }
}

resource "google_compute_firewall" "api" {
  count         = length(var.api_cidrs) > 0 ? 1 : 0
  name          = "${local.tag}-api"
  network       = var.network
  source_ranges = var.api_cidrs
  target_tags   = ["${local.tag}-member"]

  allow {
    protocol = "tcp"
    ports    = ["6443"]
  }
}

resource "google_compute_firewall" "ssh" {
  count         = length(var.ssh_cidrs) > 0 ? 1 : 0
  name          = "${local.tag}-ssh"
  network       = var.network
  source_ranges = var.ssh_cidrs
  target_tags   = [local.tag]

  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}
