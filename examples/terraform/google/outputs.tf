output "instances" {
  description = "Self link by name of the node."
  value       = { for name, instance in merge(google_compute_instance.member, google_compute_instance.worker) : name => instance.self_link }
}

output "instance_groups" {
  description = "Managed instance group by name of the pool."
  value       = { for name, group in google_compute_region_instance_group_manager.pool : name => group.instance_group }
}

output "control_plane_addresses" {
  description = "What endpoint.host has to lead to, by a load balancer that checks /readyz on TCP 6443."
  value       = [for name, machine in local.members : local.ipv4[name] if contains(machine.roles, "control-plane")]
}
