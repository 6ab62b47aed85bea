# A template cannot be changed: a new one is made first, and the group takes it for machines to come.
resource "google_compute_instance_template" "pool" {
  for_each       = local.pools
  name_prefix    = "${local.tag}-${each.key}-"
  region         = var.region
  machine_type   = var.machine_types["worker/${each.value.arch}"]
  can_ip_forward = var.can_ip_forward
  tags           = [local.tag]
  metadata       = local.metadata[each.key]

  disk {
    source_image = var.images["${each.value.os}/${each.value.arch}"]
    disk_size_gb = var.boot_disk_size
    boot         = true
    auto_delete  = true
  }

  network_interface {
    subnetwork = var.subnetwork
  }

  dynamic "service_account" {
    for_each = var.service_account_email[*]
    content {
      email  = service_account.value
      scopes = ["cloud-platform"]
    }
  }

  lifecycle {
    create_before_destroy = true
  }
}

# OPPORTUNISTIC: machines that joined do not read a new document, and none is replaced for it.
resource "google_compute_region_instance_group_manager" "pool" {
  for_each                  = local.pools
  name                      = "${local.tag}-${each.key}"
  region                    = var.region
  base_instance_name        = each.key
  distribution_policy_zones = var.pool_zones
  target_size               = lookup(var.pool_sizes, each.key, 0)

  version {
    name              = each.key
    instance_template = google_compute_instance_template.pool[each.key].self_link_unique
  }

  update_policy {
    type                         = "OPPORTUNISTIC"
    minimal_action               = "REPLACE"
    instance_redistribution_type = "NONE"
    # Without them the provider says 0 for both, which Google refuses; a figure has to be 0 or that of the zones at least.
    max_surge_fixed       = max(4, length(coalesce(var.pool_zones, [])))
    max_unavailable_fixed = 0
  }

  lifecycle {
    ignore_changes = [target_size]
  }
}
