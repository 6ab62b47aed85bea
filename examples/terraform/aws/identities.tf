locals {
  roles         = toset(concat([for machine in values(local.nodes) : machine.roles[0]], length(local.pools) > 0 ? ["worker"] : []))
  created_roles = toset([for role in local.roles : role if !contains(keys(var.identities), role)])
  identities = merge(
    { for role, profile in aws_iam_instance_profile.node : role => profile.name },
    var.identities,
  )

  # kubernetes/cloud-provider-aws, docs/prerequisites.md (1.36), without routes (the network plugin) and volumes (the CSI driver).
  cloud_controller = [
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeTags",
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:CreateSecurityGroup",
    "ec2:CreateTags",
    "ec2:DeleteSecurityGroup",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstances",
    "ec2:DescribeInstanceTopology",
    "ec2:DescribeRegions",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ec2:ModifyInstanceAttribute",
    "ec2:RevokeSecurityGroupIngress",
    "elasticloadbalancing:AddTags",
    "elasticloadbalancing:ApplySecurityGroupsToLoadBalancer",
    "elasticloadbalancing:AttachLoadBalancerToSubnets",
    "elasticloadbalancing:ConfigureHealthCheck",
    "elasticloadbalancing:CreateListener",
    "elasticloadbalancing:CreateLoadBalancer",
    "elasticloadbalancing:CreateLoadBalancerListeners",
    "elasticloadbalancing:CreateLoadBalancerPolicy",
    "elasticloadbalancing:CreateTargetGroup",
    "elasticloadbalancing:DeleteListener",
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteLoadBalancerListeners",
    "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:DeregisterInstancesFromLoadBalancer",
    "elasticloadbalancing:DeregisterTargets",
    "elasticloadbalancing:DescribeListeners",
    "elasticloadbalancing:DescribeLoadBalancerAttributes",
    "elasticloadbalancing:DescribeLoadBalancerPolicies",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
    "elasticloadbalancing:DetachLoadBalancerFromSubnets",
    "elasticloadbalancing:ModifyListener",
    "elasticloadbalancing:ModifyLoadBalancerAttributes",
    "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:RegisterInstancesWithLoadBalancer",
    "elasticloadbalancing:RegisterTargets",
    "elasticloadbalancing:SetLoadBalancerPoliciesForBackendServer",
    "elasticloadbalancing:SetLoadBalancerPoliciesOfListener",
    "elasticloadbalancing:SetSecurityGroups",
    "iam:CreateServiceLinkedRole",
    "kms:DescribeKey",
  ]
  nodes_of_cloud_controller = [
    "ec2:DescribeInstances",
    "ec2:DescribeRegions",
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:DescribeRepositories",
    "ecr:GetAuthorizationToken",
    "ecr:GetDownloadUrlForLayer",
    "ecr:GetRepositoryPolicy",
    "ecr:ListImages",
  ]

  pointer = var.pointer_base == null ? null : regex("^s3://(?P<bucket>[^/]+)/*(?P<prefix>.*?)/*$", var.pointer_base)
  objects = var.pointer_base == null ? null : "arn:${data.aws_partition.here.partition}:s3:::${local.pointer.bucket}/${local.pointer.prefix == "" ? "" : "${local.pointer.prefix}/"}${local.cluster.name}"
  # A payload's name has the SHA-256 of its bytes: 64 characters, of which each `?` stands for one.
  payloads = {
    for name, machine in merge(local.nodes, local.pools) : name =>
    var.pointer_base == null ? "" : "${local.objects}-${name}-${join("", [for digit in range(64) : "?"])}.*"
  }
}

locals {
  # AWS takes 64 characters.
  role_names = {
    for role in local.created_roles : role =>
    length("${local.cluster.name}-${role}") <= 64 ? "${local.cluster.name}-${role}" :
    "${substr(local.cluster.name, 0, 40)}-${substr(sha256(local.cluster.name), 0, 8)}-${role}"
  }
}

data "aws_partition" "here" {}

resource "aws_iam_role" "node" {
  for_each    = local.created_roles
  name        = local.role_names[each.key]
  description = "Machines (${each.key}) of the Kubernetes cluster ${local.cluster.name}"
  tags        = var.tags
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Principal = { Service = "ec2.amazonaws.com" }, Action = "sts:AssumeRole" }]
  })
}

resource "aws_iam_instance_profile" "node" {
  for_each = local.created_roles
  name     = local.role_names[each.key]
  role     = aws_iam_role.node[each.key].name
  tags     = var.tags
}

resource "aws_iam_role_policy" "cloud_controller" {
  for_each = var.cloud_controller ? local.created_roles : []
  name     = "cloud-controller"
  role     = aws_iam_role.node[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = distinct(concat(local.nodes_of_cloud_controller, each.key == "control-plane" ? local.cloud_controller : []))
      Resource = "*"
    }]
  })
}

# The driver's controller runs on any machine, and uses the identity of that machine.
resource "aws_iam_role_policy_attachment" "csi" {
  for_each   = toset([for role in local.created_roles : role if var.csi && role != "etcd"])
  role       = aws_iam_role.node[each.key].name
  policy_arn = "arn:${data.aws_partition.here.partition}:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy"
}

# aws-node-termination-handler runs on control planes.
resource "aws_iam_role_policy" "drain" {
  for_each = toset([for role in local.created_roles : role if role == "control-plane" && local.drains > 0])
  name     = "drain"
  role     = aws_iam_role.node[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      { Effect = "Allow", Action = ["ec2:DescribeInstances", "autoscaling:DescribeAutoScalingInstances", "autoscaling:DescribeTags"], Resource = "*" },
      { Effect = "Allow", Action = ["autoscaling:CompleteLifecycleAction"], Resource = [for group in aws_autoscaling_group.pool : group.arn] },
      { Effect = "Allow", Action = ["sqs:ReceiveMessage", "sqs:DeleteMessage"], Resource = [aws_sqs_queue.drain[0].arn] },
    ]
  })
}

# Payloads have the keys of their machines: a worker must not read those of a control plane or a member of etcd.
resource "aws_iam_role_policy" "pointer" {
  for_each = var.pointer_base == null ? [] : local.created_roles
  name     = "pointer"
  role     = aws_iam_role.node[each.key].name
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = each.key == "worker" ? [
      { Effect = "Allow", Action = ["s3:GetObject"], Resource = ["${local.objects}-*"] },
      { Effect = "Deny", Action = ["s3:GetObject"], Resource = [for name in keys(local.members) : local.payloads[name]] },
      ] : [
      { Effect = "Allow", Action = ["s3:GetObject"], Resource = [for name, machine in local.members : local.payloads[name] if machine.roles[0] == each.key] },
    ]
  })
}

resource "aws_s3_bucket" "pointer" {
  count  = var.create_bucket ? 1 : 0
  bucket = local.pointer.bucket
  tags   = var.tags
}

resource "aws_s3_bucket_server_side_encryption_configuration" "pointer" {
  count  = var.create_bucket ? 1 : 0
  bucket = aws_s3_bucket.pointer[0].id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm = "AES256"
    }
  }
}

resource "aws_s3_bucket_public_access_block" "pointer" {
  count                   = var.create_bucket ? 1 : 0
  bucket                  = aws_s3_bucket.pointer[0].id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "pointer" {
  count      = var.create_bucket ? 1 : 0
  bucket     = aws_s3_bucket.pointer[0].id
  depends_on = [aws_s3_bucket_public_access_block.pointer]
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.pointer[0].arn, "${aws_s3_bucket.pointer[0].arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}
