output "instances" {
  description = "Server by name of the node, those of pools too."
  value = {
    for name, server in merge(openstack_compute_instance_v2.member, openstack_compute_instance_v2.worker, openstack_compute_instance_v2.pool) :
    name => server.id
  }
}

output "control_plane_addresses" {
  description = "What endpoint.host has to lead to, where load_balancer is none: TCP 6443, checked on /readyz."
  value       = flatten([for machine in local.members : machine.addresses if contains(machine.roles, "control-plane")])
}

output "api_address" {
  description = "Address of the load balancer; endpoint.host has to resolve to it."
  value       = var.load_balancer == "external" ? one(openstack_networking_floatingip_v2.api[*].address) : one(openstack_lb_loadbalancer_v2.api[*].vip_address)
}
