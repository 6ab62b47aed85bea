output "instances" {
  description = "Server by name of the node, those of pools too."
  value = {
    for name, server in merge(openstack_compute_instance_v2.member, openstack_compute_instance_v2.worker, openstack_compute_instance_v2.pool) :
    name => server.id
  }
}

output "control_plane_addresses" {
  description = "What endpoint.host has to lead to, by a load balancer that checks /readyz on TCP 6443."
  value       = flatten([for machine in local.members : machine.addresses if contains(machine.roles, "control-plane")])
}
