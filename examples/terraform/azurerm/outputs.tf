output "instances" {
  description = "ID by name of the node."
  value = {
    for name, machine in merge(azurerm_linux_virtual_machine.member, azurerm_linux_virtual_machine.worker) : name => machine.id
  }
}

output "scale_sets" {
  description = "Scale set by name of the pool."
  value       = { for name, set in azurerm_linux_virtual_machine_scale_set.pool : name => set.id }
}

output "control_plane_addresses" {
  description = "What endpoint.host has to lead to, where load_balancer is none: TCP 6443, checked on /readyz."
  value       = [for name, machine in local.members : local.ipv4[name] if contains(machine.roles, "control-plane")]
}

output "api_address" {
  description = "Address of the load balancer; endpoint.host has to resolve to it."
  value       = var.load_balancer == "external" ? one(azurerm_public_ip.api[*].ip_address) : one(azurerm_lb.api[*].private_ip_address)
}

output "identities" {
  description = "ID of the managed identity by role."
  value       = local.identities
}
