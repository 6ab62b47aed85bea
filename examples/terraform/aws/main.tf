locals {
  platforms  = ["aws"]
  attributes = ["user_data", "user_data_base64"]

  default_machines = {
    "control-plane/amd64" = { instance_type = "t3.medium", volume_size = 50, volume_type = "gp3" }
    "control-plane/arm64" = { instance_type = "t4g.medium", volume_size = 50, volume_type = "gp3" }
    "etcd/amd64"          = { instance_type = "t3.medium", volume_size = 50, volume_type = "gp3" }
    "etcd/arm64"          = { instance_type = "t4g.medium", volume_size = 50, volume_type = "gp3" }
    "worker/amd64"        = { instance_type = "t3.large", volume_size = 50, volume_type = "gp3" }
    "worker/arm64"        = { instance_type = "t4g.large", volume_size = 50, volume_type = "gp3" }
  }

  # The cloud controller finds instances and the security group of its load balancers by the second tag.
  machine_tags = merge(var.tags, { "kubernetes.io/cluster/${local.cluster.name}" = "owned" })

  # Always base64, so that a document that is compressed one day changes no attribute and replaces no machine for that.
  documents = {
    for name, machine in merge(local.nodes, local.pools) : name =>
    endswith(machine.encoding, "base64") ? file("${var.tree}/${machine.path}") : filebase64("${var.tree}/${machine.path}")
  }

  ipv4 = {
    for name, machine in local.nodes : name =>
    one([for address in machine.addresses : address if !strcontains(address, ":")])
  }
  ipv6 = {
    for name, machine in local.nodes : name =>
    length(machine.addresses) == 1 ? null : [for address in machine.addresses : address if strcontains(address, ":")]
  }
  subnets = {
    for name, address in local.ipv4 : name => one([
      for id, subnet in data.aws_subnet.given : id
      if cidrhost("${address}/${split("/", subnet.cidr_block)[1]}", 0) == cidrhost(subnet.cidr_block, 0)
    ])
  }
  control_planes = {
    for name, machine in local.members : name => machine if contains(machine.roles, "control-plane")
  }
}

data "aws_subnet" "given" {
  for_each = toset(var.subnet_ids)
  id       = each.value
}

# They carry etcd: a new document, image or size changes nothing here. Replace one, wait until etcd is whole, then the next:
#   terraform apply -replace='aws_instance.member["cp2"]'
resource "aws_instance" "member" {
  for_each               = local.members
  ami                    = var.images["${each.value.os}/${each.value.arch}"]
  instance_type          = local.sizes[each.key].instance_type
  subnet_id              = local.subnets[each.key]
  private_ip             = local.ipv4[each.key]
  ipv6_addresses         = local.ipv6[each.key]
  vpc_security_group_ids = [aws_security_group.nodes.id, aws_security_group.members.id]
  iam_instance_profile   = local.identities[each.value.roles[0]]
  source_dest_check      = var.source_dest_check
  user_data_base64       = local.documents[each.key]
  tags                   = merge(local.machine_tags, { Name = "${local.cluster.name}-${each.key}" })
  depends_on             = [aws_iam_role_policy.pointer, terraform_data.document]

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1 # pods cannot read the document
  }

  root_block_device {
    volume_size = local.sizes[each.key].volume_size
    volume_type = local.sizes[each.key].volume_type
    encrypted   = true # the document writes keys to it
    kms_key_id  = var.disk_encryption_key
    tags        = merge(var.tags, { Name = "${local.cluster.name}-${each.key}" })
  }

  lifecycle {
    ignore_changes = [ami, instance_type, subnet_id, user_data, user_data_base64, root_block_device[0].kms_key_id]
    precondition {
      condition     = local.subnets[each.key] != null
      error_message = "${each.key}: none of subnet_ids contains ${local.ipv4[each.key]}."
    }
  }
}

# A new document, image or size changes nothing here either: `firelay update` changes a worker that runs. To replace one, drain it
# first, as examples/terraform/replace does. Its address is fixed: the old machine ends before the new one starts.
resource "aws_instance" "worker" {
  for_each               = local.workers
  ami                    = var.images["${each.value.os}/${each.value.arch}"]
  instance_type          = local.sizes[each.key].instance_type
  subnet_id              = local.subnets[each.key]
  private_ip             = local.ipv4[each.key]
  ipv6_addresses         = local.ipv6[each.key]
  vpc_security_group_ids = [aws_security_group.nodes.id]
  iam_instance_profile   = local.identities[each.value.roles[0]]
  source_dest_check      = var.source_dest_check
  user_data_base64       = local.documents[each.key]
  tags                   = merge(local.machine_tags, { Name = "${local.cluster.name}-${each.key}" })
  depends_on             = [aws_iam_role_policy.pointer, terraform_data.document]

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_size = local.sizes[each.key].volume_size
    volume_type = local.sizes[each.key].volume_type
    encrypted   = true
    kms_key_id  = var.disk_encryption_key
    tags        = merge(var.tags, { Name = "${local.cluster.name}-${each.key}" })
  }

  lifecycle {
    ignore_changes = [ami, instance_type, subnet_id, user_data, user_data_base64, root_block_device[0].kms_key_id]
    precondition {
      condition     = local.subnets[each.key] != null
      error_message = "${each.key}: none of subnet_ids contains ${local.ipv4[each.key]}."
    }
  }
}
