locals {
  roles         = toset(concat([for machine in values(local.nodes) : machine.roles[0]], length(local.pools) > 0 ? ["worker"] : []))
  created_roles = toset([for role in local.roles : role if !contains(keys(var.identities), role)])
  identities = merge(
    { for role, account in google_service_account.node : role => account.email },
    var.identities,
  )
  short_roles = { control-plane = "cp", etcd = "etcd", worker = "worker" } # an account's name has 30 characters

  # What docs/addons/cloud-controllers.md and csi.md say.
  permissions = {
    control-plane = distinct(concat(
      var.cloud_controller ? ["roles/compute.instanceAdmin.v1", "roles/compute.loadBalancerAdmin", "roles/compute.securityAdmin"] : [],
      var.csi ? ["roles/compute.instanceAdmin.v1"] : [],
    ))
    worker = var.csi ? ["roles/compute.instanceAdmin.v1"] : []
    etcd   = []
  }
  bindings = merge([
    for role in local.created_roles : {
      for permission in local.permissions[role] : "${role} ${permission}" => { member = google_service_account.node[role].member, permission = permission }
    }
  ]...)

  pointer = var.pointer_base == null ? null : regex("^gs://(?P<bucket>[^/]+)/*(?P<prefix>.*?)/*$", var.pointer_base)
  objects = var.pointer_base == null ? "" : "projects/_/buckets/${local.pointer.bucket}/objects/${local.pointer.prefix == "" ? "" : "${local.pointer.prefix}/"}${local.cluster.name}"
  # Payloads have the keys of their machines: a worker must not read those of a control plane or a member of etcd.
  conditions = {
    for role in local.created_roles : role => role == "worker" ? join(" && ", concat(
      ["resource.name.startsWith(\"${local.objects}-\")"],
      [for name in keys(local.members) : "!resource.name.startsWith(\"${local.objects}-${name}-\")"],
    )) : join(" || ", [for name, machine in local.members : "resource.name.startsWith(\"${local.objects}-${name}-\")" if machine.roles[0] == role])
  }
}

locals {
  account_ids = {
    for role in local.created_roles : role =>
    length("${local.cluster.name}-${local.short_roles[role]}") <= 30 ? "${local.cluster.name}-${local.short_roles[role]}" :
    "${substr(local.cluster.name, 0, 16)}-${substr(sha256(local.cluster.name), 0, 6)}-${local.short_roles[role]}"
  }
}

data "google_project" "here" {}

resource "google_service_account" "node" {
  for_each     = local.created_roles
  account_id   = local.account_ids[each.key]
  display_name = "Machines (${each.key}) of the Kubernetes cluster ${local.cluster.name}"
}

resource "google_project_iam_member" "node" {
  for_each = local.bindings
  project  = data.google_project.here.project_id
  role     = local.bindings[each.key].permission
  member   = local.bindings[each.key].member
}

resource "google_storage_bucket_iam_member" "pointer" {
  for_each = var.pointer_base == null ? [] : local.created_roles
  bucket   = var.create_bucket ? google_storage_bucket.pointer[0].name : local.pointer.bucket
  role     = "roles/storage.objectViewer"
  member   = google_service_account.node[each.key].member

  condition {
    title      = "payloads of ${local.cluster.name}"
    expression = local.conditions[each.key]
  }
}

resource "google_storage_bucket" "pointer" {
  count                       = var.create_bucket ? 1 : 0
  name                        = local.pointer.bucket
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  labels                      = var.labels
}
