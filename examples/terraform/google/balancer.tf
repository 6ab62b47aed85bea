# Proxies, not passthrough load balancers: a backend of those reaches only itself at the address, also before it has an API
# server, and no control plane could join.
resource "google_compute_instance_group" "api" {
  for_each = local.api_zones
  name     = "${local.tag}-api"
  zone     = each.value

  named_port {
    name = "api"
    port = 6443
  }
}

# An instance that is replaced loses its place in the group, although its name stays: this resource is replaced with it.
resource "google_compute_instance_group_membership" "api" {
  for_each       = local.balancers == 0 ? {} : local.control_planes
  zone           = lookup(var.zones, each.key, var.zone)
  instance_group = google_compute_instance_group.api[lookup(var.zones, each.key, var.zone)].name
  instance       = google_compute_instance.member[each.key].self_link

  lifecycle {
    replace_triggered_by = [google_compute_instance.member[each.key].instance_id]
  }
}

# 35.191.0.0/16 and 130.211.0.0/22 are Google's probes and external proxies; internal proxies have the region's own subnet.
resource "google_compute_firewall" "load_balancer" {
  count         = local.balancers
  name          = "${local.tag}-load-balancer"
  network       = var.network
  source_ranges = concat(["35.191.0.0/16", "130.211.0.0/22"], local.internal > 0 ? [var.proxy_cidr] : [])
  target_tags   = ["${local.tag}-member"]

  allow {
    protocol = "tcp"
    ports    = ["6443"]
  }

  lifecycle {
    precondition {
      condition     = var.load_balancer != "internal" || var.proxy_cidr != null
      error_message = "An internal load balancer needs proxy_cidr, the range of the region's proxy-only subnet."
    }
  }
}

resource "google_compute_address" "api" {
  count        = local.internal
  name         = "${local.tag}-api"
  region       = var.region
  address_type = "INTERNAL"
  subnetwork   = var.subnetwork
  labels       = var.labels
}

resource "google_compute_region_health_check" "api" {
  count              = local.internal
  name               = "${local.tag}-api"
  region             = var.region
  check_interval_sec = 5
  timeout_sec        = 5

  https_health_check {
    port         = 6443
    request_path = "/readyz"
  }
}

resource "google_compute_region_backend_service" "api" {
  count                 = local.internal
  name                  = "${local.tag}-api"
  region                = var.region
  protocol              = "TCP"
  port_name             = "api"
  load_balancing_scheme = "INTERNAL_MANAGED"
  timeout_sec           = 1800 # watches are idle for minutes
  health_checks         = [google_compute_region_health_check.api[0].id]

  dynamic "backend" {
    for_each = google_compute_instance_group.api
    content {
      group           = backend.value.self_link
      balancing_mode  = "UTILIZATION"
      capacity_scaler = 1
    }
  }
}

resource "google_compute_region_target_tcp_proxy" "api" {
  count           = local.internal
  name            = "${local.tag}-api"
  region          = var.region
  backend_service = google_compute_region_backend_service.api[0].id
}

resource "google_compute_forwarding_rule" "api" {
  count                 = local.internal
  name                  = "${local.tag}-api"
  region                = var.region
  load_balancing_scheme = "INTERNAL_MANAGED"
  ip_protocol           = "TCP"
  ip_address            = google_compute_address.api[0].id
  port_range            = tostring(local.cluster.endpoint_port)
  target                = google_compute_region_target_tcp_proxy.api[0].id
  network               = var.network
  subnetwork            = var.subnetwork
  labels                = var.labels
}

resource "google_compute_global_address" "api" {
  count  = local.external
  name   = "${local.tag}-api"
  labels = var.labels
}

resource "google_compute_health_check" "api" {
  count              = local.external
  name               = "${local.tag}-api"
  check_interval_sec = 5
  timeout_sec        = 5

  https_health_check {
    port         = 6443
    request_path = "/readyz"
  }
}

# A proxy hides the clients' addresses from the firewall: Cloud Armor checks them.
resource "google_compute_security_policy" "api" {
  count = local.external
  name  = "${local.tag}-api"

  dynamic "rule" {
    for_each = { for number, ranges in chunklist(var.api_cidrs, 10) : number => ranges }
    content {
      action   = "allow"
      priority = 1000 + rule.key
      match {
        versioned_expr = "SRC_IPS_V1"
        config {
          src_ip_ranges = rule.value
        }
      }
    }
  }

  rule {
    action   = "deny(403)"
    priority = 2147483647
    match {
      versioned_expr = "SRC_IPS_V1"
      config {
        src_ip_ranges = ["*"]
      }
    }
  }
}

resource "google_compute_backend_service" "api" {
  count                 = local.external
  name                  = "${local.tag}-api"
  protocol              = "TCP"
  port_name             = "api"
  load_balancing_scheme = "EXTERNAL_MANAGED"
  timeout_sec           = 1800
  health_checks         = [google_compute_health_check.api[0].id]
  security_policy       = google_compute_security_policy.api[0].id

  dynamic "backend" {
    for_each = google_compute_instance_group.api
    content {
      group           = backend.value.self_link
      balancing_mode  = "UTILIZATION"
      capacity_scaler = 1
    }
  }
}

resource "google_compute_target_tcp_proxy" "api" {
  count           = local.external
  name            = "${local.tag}-api"
  backend_service = google_compute_backend_service.api[0].id
}

resource "google_compute_global_forwarding_rule" "api" {
  count                 = local.external
  name                  = "${local.tag}-api"
  load_balancing_scheme = "EXTERNAL_MANAGED"
  ip_protocol           = "TCP"
  ip_address            = google_compute_global_address.api[0].id
  port_range            = tostring(local.cluster.endpoint_port)
  target                = google_compute_target_tcp_proxy.api[0].id
  labels                = var.labels
}

locals {
  api_address = one(concat(google_compute_address.api[*].address, google_compute_global_address.api[*].address))
}

resource "google_dns_record_set" "api" {
  count        = var.dns_zone == null ? 0 : local.balancers
  managed_zone = var.dns_zone
  name         = "${local.cluster.endpoint_host}."
  type         = "A"
  ttl          = 60
  rrdatas      = [local.api_address]
}
