output "instances" {
  description = "Instance by name of the node."
  value       = { for name, instance in merge(aws_instance.member, aws_instance.worker) : name => instance.id }
}

output "autoscaling_groups" {
  description = "Autoscaling group by name of the pool."
  value       = { for name, group in aws_autoscaling_group.pool : name => group.name }
}

output "api_dns_name" {
  description = "Name of the load balancer; endpoint.host has to resolve to it, unless dns_zone is given."
  value       = one(aws_lb.api[*].dns_name)
}

output "security_group_id" {
  description = "Security group of all machines."
  value       = aws_security_group.nodes.id
}

output "identities" {
  description = "Instance profile by role."
  value       = local.identities
}

output "termination_handler" {
  description = "Manifest of aws-node-termination-handler, which drains the machines of pools: pipe it to kubectl apply."
  value = local.drains == 0 ? "" : templatefile("${path.module}/termination-handler.yaml.tftpl", {
    queue_url = aws_sqs_queue.drain[0].url
    seconds   = var.drain_timeout - 60
    tag       = local.drain_tag
  })
}
