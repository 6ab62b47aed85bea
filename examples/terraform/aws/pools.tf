resource "aws_launch_template" "pool" {
  for_each               = local.pools
  name                   = "${local.cluster.name}-${each.key}"
  image_id               = var.images["${each.value.os}/${each.value.arch}"]
  instance_type          = local.sizes[each.key].instance_type
  vpc_security_group_ids = [aws_security_group.nodes.id]
  user_data              = local.documents[each.key]
  update_default_version = true
  tags                   = var.tags

  iam_instance_profile {
    name = local.identities["worker"]
  }

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  block_device_mappings {
    device_name = data.aws_ami.pool[each.key].root_device_name
    ebs {
      volume_size = local.sizes[each.key].volume_size
      volume_type = local.sizes[each.key].volume_type
      encrypted   = true
      kms_key_id  = var.disk_encryption_key
    }
  }

  tag_specifications {
    resource_type = "volume"
    tags          = merge(var.tags, { Name = "${local.cluster.name}-${each.key}" })
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

locals {
  pool_settings = {
    for name, pool in local.pools : name =>
    try(var.pools[name], { min = 0, max = 0, instance_types = [], spot = false, subnet_ids = null, refresh = false })
  }

  # A cluster autoscaler finds the group by these tags, and reads labels and taints that it cannot see without a machine.
  autoscaler_tags = {
    for name, pool in local.pools : name => merge(
      {
        "k8s.io/cluster-autoscaler/enabled"               = "true"
        "k8s.io/cluster-autoscaler/${local.cluster.name}" = "owned"
      },
      { for key, value in pool.labels : "k8s.io/cluster-autoscaler/node-template/label/${key}" => value },
      { for taint in pool.taints : "k8s.io/cluster-autoscaler/node-template/taint/${taint.key}" => "${taint.value}:${taint.effect}" },
    )
  }
}

# A new document is for new machines. Existing ones are replaced only with `refresh`, each after its drain.
resource "aws_autoscaling_group" "pool" {
  for_each                  = local.pools
  name                      = "${local.cluster.name}-${each.key}"
  min_size                  = local.pool_settings[each.key].min
  max_size                  = local.pool_settings[each.key].max
  vpc_zone_identifier       = coalesce(local.pool_settings[each.key].subnet_ids, var.subnet_ids)
  capacity_rebalance        = local.pool_settings[each.key].spot
  wait_for_capacity_timeout = "0" # a machine is in service before it has joined
  depends_on                = [aws_iam_role_policy.pointer]

  mixed_instances_policy {
    launch_template {
      launch_template_specification {
        launch_template_id = aws_launch_template.pool[each.key].id
        version            = aws_launch_template.pool[each.key].latest_version
      }
      dynamic "override" {
        for_each = distinct(concat([local.sizes[each.key].instance_type], local.pool_settings[each.key].instance_types))
        content {
          instance_type = override.value
        }
      }
    }
    instances_distribution {
      on_demand_base_capacity                  = 0
      on_demand_percentage_above_base_capacity = local.pool_settings[each.key].spot ? 0 : 100
      spot_allocation_strategy                 = "price-capacity-optimized"
    }
  }

  dynamic "instance_refresh" {
    for_each = local.pool_settings[each.key].refresh ? [true] : []
    content {
      strategy = "Rolling"
      preferences {
        min_healthy_percentage = 100
        max_healthy_percentage = 110 # the new machine starts first
        instance_warmup        = 300
      }
    }
  }

  dynamic "tag" {
    for_each = merge(local.machine_tags, { Name = "${local.cluster.name}-${each.key}", (local.drain_tag) = "managed" })
    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = true
    }
  }

  dynamic "tag" {
    for_each = local.autoscaler_tags[each.key]
    content {
      key                 = tag.key
      value               = tag.value
      propagate_at_launch = false
    }
  }

  lifecycle {
    ignore_changes = [desired_capacity]
  }
}

check "pools" {
  assert {
    condition     = length(setsubtract(keys(var.pools), keys(local.pools))) == 0
    error_message = "pools has entries that the tree does not have: ${join(", ", setsubtract(keys(var.pools), keys(local.pools)))}."
  }
}
