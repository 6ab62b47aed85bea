# An instance that leaves its group waits until aws-node-termination-handler has drained its Node: the hook holds it, the
# event bus puts the event into the queue, and the handler completes the hook.
resource "aws_autoscaling_lifecycle_hook" "drain" {
  for_each               = local.pools
  name                   = "drain"
  autoscaling_group_name = aws_autoscaling_group.pool[each.key].name
  lifecycle_transition   = "autoscaling:EC2_INSTANCE_TERMINATING"
  heartbeat_timeout      = var.drain_timeout
  default_result         = "CONTINUE"
}

resource "aws_sqs_queue" "drain" {
  count                     = local.drains
  name                      = "${local.cluster.name}-drain"
  message_retention_seconds = var.drain_timeout
  sqs_managed_sse_enabled   = true
  tags                      = var.tags
}

resource "aws_sqs_queue_policy" "drain" {
  count     = local.drains
  queue_url = aws_sqs_queue.drain[0].url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "events.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = aws_sqs_queue.drain[0].arn
      Condition = { ArnEquals = { "aws:SourceArn" = concat([aws_cloudwatch_event_rule.drain[0].arn], aws_cloudwatch_event_rule.spot[*].arn) } }
    }]
  })
}

resource "aws_cloudwatch_event_rule" "drain" {
  count       = local.drains
  name        = "${local.cluster.name}-drain"
  description = "Instances that leave the pools of the Kubernetes cluster ${local.cluster.name}"
  tags        = var.tags
  event_pattern = jsonencode({
    source        = ["aws.autoscaling"]
    "detail-type" = ["EC2 Instance-terminate Lifecycle Action"]
    detail        = { AutoScalingGroupName = [for group in aws_autoscaling_group.pool : group.name] }
  })
}

resource "aws_cloudwatch_event_target" "drain" {
  count = local.drains
  rule  = aws_cloudwatch_event_rule.drain[0].name
  arn   = aws_sqs_queue.drain[0].arn
}

# AWS interrupts a spot instance two minutes after this notice, and no hook holds it. The notice names no group, so the handler asks for
# the tag of the instance.
resource "aws_cloudwatch_event_rule" "spot" {
  count       = local.spots
  name        = "${local.cluster.name}-spot"
  description = "Interrupted spot instances, of which the Kubernetes cluster ${local.cluster.name} drains its own"
  tags        = var.tags
  event_pattern = jsonencode({
    source        = ["aws.ec2"]
    "detail-type" = ["EC2 Spot Instance Interruption Warning"]
  })
}

resource "aws_cloudwatch_event_target" "spot" {
  count = local.spots
  rule  = aws_cloudwatch_event_rule.spot[0].name
  arn   = aws_sqs_queue.drain[0].arn
}

locals {
  drains = length(local.pools) > 0 ? 1 : 0
  spots  = anytrue([for pool in values(local.pool_settings) : pool.spot]) ? 1 : 0
  # aws-node-termination-handler drains instances with this tag.
  drain_tag = "aws-node-termination-handler/${local.cluster.name}"
}
