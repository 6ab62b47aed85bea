locals {
  platforms  = ["gce"]
  attributes = ["metadata.user-data"]

  # Metadata is text: what is base64 says so in a key of its own, which cloud-init reads.
  metadata = {
    for name, machine in merge(local.nodes, local.pools) : name => merge(
      {
        "user-data"              = file("${var.tree}/${machine.path}")
        "block-project-ssh-keys" = "TRUE"
      },
      endswith(machine.encoding, "base64") ? { "user-data-encoding" = "base64" } : {},
    )
  }

  ipv4 = {
    for name, machine in local.nodes : name =>
    one([for address in machine.addresses : address if !strcontains(address, ":")])
  }
}

# They carry etcd: a new document or image changes nothing here. Replace one, wait until etcd is whole, then the next:
#   terraform apply -replace='google_compute_instance.member["cp2"]'
resource "google_compute_instance" "member" {
  for_each       = local.members
  name           = each.key
  zone           = lookup(var.zones, each.key, var.zone)
  machine_type   = var.machine_types["${each.value.roles[0]}/${each.value.arch}"]
  can_ip_forward = var.can_ip_forward
  tags           = [local.tag, "${local.tag}-member"]
  metadata       = local.metadata[each.key]

  boot_disk {
    initialize_params {
      image = var.images["${each.value.os}/${each.value.arch}"]
      size  = var.boot_disk_size
    }
  }

  network_interface {
    subnetwork = var.subnetwork
    network_ip = local.ipv4[each.key]
  }

  dynamic "service_account" {
    for_each = var.service_account_email[*]
    content {
      email  = service_account.value
      scopes = ["cloud-platform"]
    }
  }

  lifecycle {
    ignore_changes = [metadata, boot_disk[0].initialize_params[0].image]
  }
}

# A new document is read at the first boot only, and GCE would change it on a running machine: it makes a new one.
resource "google_compute_instance" "worker" {
  for_each       = local.workers
  name           = each.key
  zone           = lookup(var.zones, each.key, var.zone)
  machine_type   = var.machine_types["worker/${each.value.arch}"]
  can_ip_forward = var.can_ip_forward
  tags           = [local.tag]
  metadata       = local.metadata[each.key]

  boot_disk {
    initialize_params {
      image = var.images["${each.value.os}/${each.value.arch}"]
      size  = var.boot_disk_size
    }
  }

  network_interface {
    subnetwork = var.subnetwork
    network_ip = local.ipv4[each.key]
  }

  dynamic "service_account" {
    for_each = var.service_account_email[*]
    content {
      email  = service_account.value
      scopes = ["cloud-platform"]
    }
  }

  lifecycle {
    replace_triggered_by = [terraform_data.document[each.key]]
  }
}
