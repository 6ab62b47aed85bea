# The module with the schema of its provider, and with mocked answers of AWS.

mock_provider "aws" {
  mock_data "aws_subnet" {
    defaults = { cidr_block = "10.4.0.0/24" }
  }
  mock_data "aws_ami" {
    defaults = { root_device_name = "/dev/sda1" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_resource "aws_lb" {
    defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/net/api/1234567890123456" }
  }
  mock_resource "aws_lb_target_group" {
    defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/api/1234567890123456" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:eu-central-1:123456789012:drain", url = "https://sqs.eu-central-1.amazonaws.com/123456789012/drain" }
  }
  mock_resource "aws_cloudwatch_event_rule" {
    defaults = { arn = "arn:aws:events:eu-central-1:123456789012:rule/drain" }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::example" }
  }
  mock_resource "aws_launch_template" {
    defaults = { id = "lt-0123456789abcdef0", latest_version = 1 }
  }
}

variables {
  vpc_id     = "vpc-0123456789abcdef0"
  subnet_ids = ["subnet-0123456789abcdef0"]
  images     = { "ubuntu-24.04/amd64" = "ami-1", "ubuntu-24.04/arm64" = "ami-2" }
}

run "defaults" {
  command = apply

  assert {
    condition     = aws_lb.api[0].internal && length(aws_s3_bucket.pointer) == 0 && length(aws_iam_role_policy.pointer) == 0
    error_message = "By default the load balancer is internal, and there is no bucket."
  }
  assert {
    condition     = !strcontains(aws_iam_role_policy.cloud_controller["worker"].policy, "elasticloadbalancing")
    error_message = "Workers may not change load balancers."
  }
}

run "everything" {
  command = apply

  variables {
    machines = {
      control-plane  = { instance_type = "m7i.large" }
      "worker/arm64" = { instance_type = "m7g.large", volume_size = 80 }
      arm2           = { instance_type = "m7g.xlarge" }
      burst          = { instance_type = "m7i.xlarge" }
    }
    pools                    = { burst = { min = 1, max = 5, instance_types = ["m6i.xlarge"], spot = true, refresh = true } }
    tags                     = { owner = "me" }
    load_balancer            = "external"
    load_balancer_subnet_ids = ["subnet-0123456789abcdef1"]
    dns_zone                 = "Z0123456789ABCDEFGHIJ"
    api_cidrs                = ["192.0.2.0/24"]
    ssh_cidrs                = ["192.0.2.0/24"]
    csi                      = true
    pointer_base             = "s3://example/far"
    create_bucket            = true
    disk_encryption_key      = "arn:aws:kms:eu-central-1:123456789012:key/12345678-1234-1234-1234-123456789012"
  }

  assert {
    condition = (
      aws_instance.member["cp1"].instance_type == "m7i.large" && aws_instance.worker["arm1"].instance_type == "m7g.large" &&
      aws_instance.worker["arm1"].root_block_device[0].volume_size == 80 && aws_instance.worker["arm2"].instance_type == "m7g.xlarge" &&
      aws_launch_template.pool["burst"].instance_type == "m7i.xlarge"
    )
    error_message = "The name precedes role and architecture, and these the role."
  }
  assert {
    condition     = !aws_lb.api[0].internal && contains(aws_lb.api[0].subnets, "subnet-0123456789abcdef1")
    error_message = "The load balancer is internet-facing, in its own subnets."
  }
  assert {
    condition     = anytrue([for tag in aws_autoscaling_group.pool["burst"].tag : tag.key == "owner" && tag.propagate_at_launch])
    error_message = "The group gives its tags to instances."
  }
  assert {
    condition = alltrue([
      for statement in jsondecode(aws_iam_role_policy.pointer["worker"].policy).Statement :
      statement.Effect == "Allow" || length(statement.Resource) == 3 && strcontains(statement.Resource[0], "s3:::example/far/mixed-cp1-????")
    ])
    error_message = "Workers may not read the payloads of the three control planes."
  }
  assert {
    condition     = yamldecode(split("---\n", output.termination_handler)[3]).spec.template.spec.hostNetwork
    error_message = "The last manifest is the deployment, in the host's network."
  }
}

run "no_load_balancer_and_own_identities" {
  command = plan

  variables {
    load_balancer = "none"
    identities    = { control-plane = "mine", worker = "mine-too" }
  }

  assert {
    condition     = length(aws_lb.api) == 0 && length(aws_iam_role.node) == 0 && aws_instance.member["cp1"].iam_instance_profile == "mine"
    error_message = "Nothing is created that is not needed."
  }
}

run "refused" {
  command = plan

  variables {
    load_balancer = "internet-facing"
    api_cidrs     = ["192.0.2.1"]
    identities    = { workers = "mine" }
    drain_timeout = 1
    pools         = { burst = { min = 2, max = 1 } }
    pointer_base  = "gs://example"
  }

  expect_failures = [var.load_balancer, var.api_cidrs, var.identities, var.drain_timeout, var.pools, var.pointer_base]
}

run "names_that_are_not_there" {
  command = plan

  variables {
    machines = { wroker = { instance_type = "m7i.large" } }
    pools    = { brust = { max = 1 } }
  }

  expect_failures = [check.machines, check.pools]
}
