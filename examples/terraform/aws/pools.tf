resource "aws_launch_template" "pool" {
  for_each               = local.pools
  name                   = "${local.cluster.name}-${each.key}"
  image_id               = var.images["${each.value.os}/${each.value.arch}"]
  instance_type          = var.instance_types["worker/${each.value.arch}"]
  vpc_security_group_ids = [aws_security_group.nodes.id]
  user_data              = local.documents[each.key]
  update_default_version = true

  dynamic "iam_instance_profile" {
    for_each = var.iam_instance_profile[*]
    content {
      name = iam_instance_profile.value
    }
  }

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  block_device_mappings {
    device_name = data.aws_ami.pool[each.key].root_device_name
    ebs {
      volume_size = var.root_volume_size
      volume_type = "gp3"
      encrypted   = true
    }
  }
}

data "aws_ami" "pool" {
  for_each           = local.pools
  include_deprecated = true # an image that is deprecated one day can still be used

  filter {
    name   = "image-id"
    values = [var.images["${each.value.os}/${each.value.arch}"]]
  }
}

# A new document is for machines to come: those that joined do not read it again, and none is replaced.
resource "aws_autoscaling_group" "pool" {
  for_each            = local.pools
  name                = "${local.cluster.name}-${each.key}"
  min_size            = try(var.pool_sizes[each.key].min, 0)
  max_size            = try(var.pool_sizes[each.key].max, 0)
  vpc_zone_identifier = var.subnet_ids

  launch_template {
    id      = aws_launch_template.pool[each.key].id
    version = aws_launch_template.pool[each.key].latest_version
  }

  tag {
    key                 = "Name"
    value               = "${local.cluster.name}-${each.key}"
    propagate_at_launch = true
  }

  # Facts that a cluster autoscaler needs before there is a machine.
  dynamic "tag" {
    for_each = each.value.labels
    content {
      key                 = "k8s.io/cluster-autoscaler/node-template/label/${tag.key}"
      value               = tag.value
      propagate_at_launch = false
    }
  }
  dynamic "tag" {
    for_each = { for taint in each.value.taints : taint.key => "${taint.value}:${taint.effect}" }
    content {
      key                 = "k8s.io/cluster-autoscaler/node-template/taint/${tag.key}"
      value               = tag.value
      propagate_at_launch = false
    }
  }

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}
