output "instances" {
  description = "Self link by name of the node."
  value       = { for name, instance in merge(google_compute_instance.member, google_compute_instance.worker) : name => instance.self_link }
}

output "instance_groups" {
  description = "Managed instance group by name of the pool."
  value       = { for name, group in google_compute_region_instance_group_manager.pool : name => group.instance_group }
}

output "control_plane_addresses" {
  description = "What endpoint.host has to lead to, where load_balancer is none: TCP 6443, checked on /readyz."
  value       = [for name, machine in local.members : local.ipv4[name] if contains(machine.roles, "control-plane")]
}

output "api_address" {
  description = "Address of the load balancer; endpoint.host has to resolve to it, unless dns_zone is given."
  value       = local.api_address
}

output "identities" {
  description = "Service account by role."
  value       = local.identities
}
