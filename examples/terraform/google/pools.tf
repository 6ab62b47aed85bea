locals {
  pool_settings = { for name, pool in local.pools : name => try(var.pools[name], { size = 0, zones = null, spot = false, refresh = false }) }
}

# A template cannot be changed: a new one is made first, and the group takes it for machines to come.
resource "google_compute_instance_template" "pool" {
  for_each       = local.pools
  name_prefix    = "${local.tag}-${each.key}-"
  region         = var.region
  machine_type   = local.sizes[each.key].machine_type
  can_ip_forward = var.can_ip_forward
  tags           = [local.tag]
  labels         = var.labels
  metadata       = local.metadata[each.key]
  depends_on     = [google_storage_bucket_iam_member.pointer]

  disk {
    source_image = var.images["${each.value.os}/${each.value.arch}"]
    disk_size_gb = local.sizes[each.key].disk_size
    disk_type    = local.sizes[each.key].disk_type
    labels       = var.labels
    boot         = true
    auto_delete  = true

    dynamic "disk_encryption_key" {
      for_each = var.disk_encryption_key[*]
      content {
        kms_key_self_link = disk_encryption_key.value
      }
    }
  }

  network_interface {
    subnetwork = var.subnetwork
  }

  service_account {
    email  = local.identities["worker"]
    scopes = ["cloud-platform"]
  }

  dynamic "scheduling" {
    for_each = local.pool_settings[each.key].spot ? [true] : []
    content {
      provisioning_model          = "SPOT"
      preemptible                 = true
      automatic_restart           = false
      instance_termination_action = "DELETE"
    }
  }

  lifecycle {
    create_before_destroy = true
  }
}

# OPPORTUNISTIC: machines that joined do not read a new document, and none is replaced for it. PROACTIVE replaces them a
# few at a time; the new ones start first.
resource "google_compute_region_instance_group_manager" "pool" {
  for_each                  = local.pools
  name                      = "${local.tag}-${each.key}"
  region                    = var.region
  base_instance_name        = each.key
  distribution_policy_zones = local.pool_settings[each.key].zones
  target_size               = local.pool_settings[each.key].size

  version {
    name              = each.key
    instance_template = google_compute_instance_template.pool[each.key].self_link_unique
  }

  update_policy {
    type                         = local.pool_settings[each.key].refresh ? "PROACTIVE" : "OPPORTUNISTIC"
    minimal_action               = "REPLACE"
    instance_redistribution_type = "NONE"
    # Without them the provider says 0 for both, which Google refuses; a figure has to be 0 or that of the zones at least.
    max_surge_fixed       = max(4, length(coalesce(local.pool_settings[each.key].zones, [])))
    max_unavailable_fixed = 0
  }

  lifecycle {
    ignore_changes = [target_size, distribution_policy_zones]
  }
}

check "pools" {
  assert {
    condition     = length(setsubtract(keys(var.pools), keys(local.pools))) == 0
    error_message = "pools has entries that the tree does not have: ${join(", ", setsubtract(keys(var.pools), keys(local.pools)))}."
  }
}
