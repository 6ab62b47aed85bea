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
  description = "What endpoint.host has to lead to, by a load balancer that checks /readyz on TCP 6443."
  value       = [for name, machine in local.members : local.ipv4[name] if contains(machine.roles, "control-plane")]
}
