output "instances" {
  description = "UUID by name of the node, those of pools too."
  value = {
    for name, machine in merge(vsphere_virtual_machine.member, vsphere_virtual_machine.worker, vsphere_virtual_machine.pool) :
    name => machine.uuid
  }
}

output "control_plane_addresses" {
  description = "What endpoint.host has to lead to, by a load balancer that checks /readyz on TCP 6443."
  value       = flatten([for machine in local.members : machine.addresses if contains(machine.roles, "control-plane")])
}
