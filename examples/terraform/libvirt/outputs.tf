output "instances" {
  description = "UUID by name of the node."
  value       = { for name, domain in merge(libvirt_domain.member, libvirt_domain.worker) : name => domain.uuid }
}

output "control_plane_addresses" {
  description = "What endpoint.host has to lead to; endpoint.provider kubeVip or local needs nothing outside."
  value       = flatten([for machine in local.members : machine.addresses if contains(machine.roles, "control-plane")])
}

# libvirt makes no machines by itself: name them as nodes.
check "no_pools" {
  assert {
    condition     = length(local.pools) == 0
    error_message = "Pools are left out: ${join(", ", keys(local.pools))}."
  }
}
