# The output of firelay for `delivery: { extraOutputs: [terraform] }`. This file is the same in every module.

variable "tree" {
  description = "The directory that firelay render wrote, relative to Terraform's working directory."
  type        = string
  default     = "out"
}

locals {
  tree    = jsondecode(file("${var.tree}/terraform/nodes.auto.tfvars.json"))
  cluster = local.tree.firelay_cluster

  # A tree may have machines of several platforms.
  nodes = {
    for name, machine in local.tree.firelay_nodes : name => machine if contains(local.platforms, machine.platform)
  }
  pools = {
    for name, machine in local.tree.firelay_pools : name => machine if contains(local.platforms, machine.platform)
  }

  # Members run etcd: Terraform creates them, and replaces one only with -replace.
  members = {
    for name, machine in local.nodes : name => machine
    if length(setintersection(machine.roles, ["control-plane", "etcd"])) > 0
  }
  workers = { for name, machine in local.nodes : name => machine if !contains(keys(local.members), name) }

  # The entry of `machines` for each machine: by its name, by role and architecture, by role; else the module's default.
  size_keys = {
    for name, machine in merge(local.nodes, local.pools) : name =>
    [name, "${machine.roles[0]}/${machine.arch}", machine.roles[0]]
  }
  sizes = {
    for name, order in local.size_keys : name => concat(
      [for key in order : var.machines[key] if contains(keys(var.machines), key)],
      [for key in order : local.default_machines[key] if contains(keys(local.default_machines), key)],
    )[0]
  }
  unknown_sizes = [
    for key in keys(var.machines) : key
    if !can(regex("^(control-plane|etcd|worker)(/(amd64|arm64))?$", key)) && !contains(keys(local.size_keys), key)
  ]
}

check "machines" {
  assert {
    condition     = length(local.unknown_sizes) == 0
    error_message = "machines has neither a role nor a machine of this name: ${join(", ", local.unknown_sizes)}."
  }
}

# Looks whether the documents are those that were rendered. Machines depend on it, so that -target looks as well. Its change shows
# in a plan which machines have new documents.
resource "terraform_data" "document" {
  for_each = merge(local.nodes, local.pools)
  input = join(" ", [
    for path in [each.value.path, each.value.meta_data_path, each.value.network_config_path] :
    filesha256("${var.tree}/${path}") if path != null
  ])

  lifecycle {
    precondition {
      condition     = contains(local.attributes, each.value.attribute)
      error_message = "${each.key} is for ${each.value.attribute}, which this module does not set."
    }
    precondition {
      condition     = filesha256("${var.tree}/${each.value.path}") == each.value.sha256
      error_message = "${each.value.path} is not as it was rendered: run firelay render again."
    }
  }
}
