output "instances" {
  description = "Server by name of the node, those of pools too."
  value       = { for name, server in merge(hcloud_server.member, hcloud_server.worker, hcloud_server.pool) : name => server.id }
}

output "api_address" {
  description = "Address of the load balancer; endpoint.host has to resolve to it."
  value       = var.load_balancer == "external" ? one(hcloud_load_balancer.api[*].ipv4) : one(hcloud_load_balancer_network.api[*].ip)
}

output "api_private_address" {
  description = "Private address of the load balancer, for names that machines resolve themselves."
  value       = one(hcloud_load_balancer_network.api[*].ip)
}
