locals {
  platforms  = ["gce"]
  attributes = ["metadata.user-data"]

  default_machines = {
    "control-plane/amd64" = { machine_type = "e2-standard-2", disk_size = 50, disk_type = "pd-balanced" }
    "control-plane/arm64" = { machine_type = "t2a-standard-2", disk_size = 50, disk_type = "pd-balanced" }
    "etcd/amd64"          = { machine_type = "e2-standard-2", disk_size = 50, disk_type = "pd-balanced" }
    "etcd/arm64"          = { machine_type = "t2a-standard-2", disk_size = 50, disk_type = "pd-balanced" }
    "worker/amd64"        = { machine_type = "e2-standard-4", disk_size = 50, disk_type = "pd-balanced" }
    "worker/arm64"        = { machine_type = "t2a-standard-4", disk_size = 50, disk_type = "pd-balanced" }
  }

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

# They carry etcd: a new document, image or size changes nothing here. Replace one, wait until etcd is whole, then the next:
#   terraform apply -replace='google_compute_instance.member["cp2"]'
resource "google_compute_instance" "member" {
  for_each       = local.members
  name           = each.key
  zone           = lookup(var.zones, each.key, var.zone)
  machine_type   = local.sizes[each.key].machine_type
  can_ip_forward = var.can_ip_forward
  tags           = [local.tag, "${local.tag}-member"]
  labels         = var.labels
  metadata       = local.metadata[each.key]
  depends_on     = [google_storage_bucket_iam_member.pointer, terraform_data.document]

  boot_disk {
    kms_key_self_link = var.disk_encryption_key
    initialize_params {
      image  = var.images["${each.value.os}/${each.value.arch}"]
      size   = local.sizes[each.key].disk_size
      type   = local.sizes[each.key].disk_type
      labels = var.labels
    }
  }

  network_interface {
    subnetwork = var.subnetwork
    network_ip = local.ipv4[each.key]
  }

  service_account {
    email  = local.identities[each.value.roles[0]]
    scopes = ["cloud-platform"]
  }

  lifecycle {
    ignore_changes = [metadata, machine_type, boot_disk]
  }
}

# A new document, image or size changes nothing here either: `firelay update` changes a worker that runs. To replace one, drain it
# first, as examples/terraform/replace does.
resource "google_compute_instance" "worker" {
  for_each       = local.workers
  name           = each.key
  zone           = lookup(var.zones, each.key, var.zone)
  machine_type   = local.sizes[each.key].machine_type
  can_ip_forward = var.can_ip_forward
  tags           = [local.tag]
  labels         = var.labels
  metadata       = local.metadata[each.key]
  depends_on     = [google_storage_bucket_iam_member.pointer, terraform_data.document]

  boot_disk {
    kms_key_self_link = var.disk_encryption_key
    initialize_params {
      image  = var.images["${each.value.os}/${each.value.arch}"]
      size   = local.sizes[each.key].disk_size
      type   = local.sizes[each.key].disk_type
      labels = var.labels
    }
  }

  network_interface {
    subnetwork = var.subnetwork
    network_ip = local.ipv4[each.key]
  }

  service_account {
    email  = local.identities[each.value.roles[0]]
    scopes = ["cloud-platform"]
  }

  lifecycle {
    ignore_changes = [metadata, machine_type, zone, boot_disk]
  }
}
