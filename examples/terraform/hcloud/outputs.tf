output "instances" {
  description = "Server by name of the node, those of pools too."
  value       = { for name, server in merge(hcloud_server.member, hcloud_server.worker, hcloud_server.pool) : name => server.id }
}

output "api_addresses" {
  description = "Private and public address of the load balancer; endpoint.host has to lead to one of them."
  value       = concat(hcloud_load_balancer_network.api[*].ip, hcloud_load_balancer.api[*].ipv4)
}
