output "instances" {
  description = "Instance by name of the node."
  value       = { for name, instance in merge(aws_instance.member, aws_instance.worker) : name => instance.id }
}

output "autoscaling_groups" {
  description = "Autoscaling group by name of the pool."
  value       = { for name, group in aws_autoscaling_group.pool : name => group.name }
}

output "api_dns_name" {
  description = "What endpoint.host has to lead to, unless zone_id is given."
  value       = one(aws_lb.api[*].dns_name)
}

output "security_group_id" {
  description = "Security group of all machines."
  value       = aws_security_group.nodes.id
}
