locals {
  roles         = toset(concat([for machine in values(local.nodes) : machine.roles[0]], length(local.pools) > 0 ? ["worker"] : []))
  created_roles = toset([for role in local.roles : role if !contains(keys(var.identities), role)])
  identities = merge(
    { for role, identity in azurerm_user_assigned_identity.node : role => identity.id },
    var.identities,
  )

  # What docs/addons/cloud-controllers.md and csi.md say.
  contributors = toset([
    for role in local.created_roles : role
    if role == "control-plane" && (var.cloud_controller || var.csi) || role == "worker" && var.csi
  ])
}

data "azurerm_resource_group" "here" {
  name = var.resource_group_name
}

resource "azurerm_user_assigned_identity" "node" {
  for_each            = local.created_roles
  name                = "${local.cluster.name}-${each.key}"
  resource_group_name = var.resource_group_name
  location            = var.location
  tags                = var.tags
}

resource "azurerm_role_assignment" "contributor" {
  for_each             = local.contributors
  scope                = data.azurerm_resource_group.here.id
  role_definition_name = "Contributor"
  principal_id         = azurerm_user_assigned_identity.node[each.key].principal_id
}

# Azure checks no names of blobs here. With `sealed`, a payload is of use to its own machine only.
resource "azurerm_role_assignment" "pointer" {
  for_each             = var.pointer_container_id == null ? [] : local.created_roles
  scope                = var.pointer_container_id
  role_definition_name = "Storage Blob Data Reader"
  principal_id         = azurerm_user_assigned_identity.node[each.key].principal_id
}
