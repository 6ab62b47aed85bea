variable "vpc_id" {
  description = "The VPC of the machines."
  type        = string
}

variable "subnet_ids" {
  description = "Subnets of the VPC. A machine is in the one whose range has its address; pools are in all of them."
  type        = list(string)

  validation {
    condition     = length(var.subnet_ids) > 0
    error_message = "subnet_ids needs at least one subnet."
  }
}

variable "load_balancer_subnet_ids" {
  description = "Subnets of the load balancer: public ones for an external one. Those of the machines if absent."
  type        = list(string)
  default     = null
}

variable "images" {
  description = "AMI by system and architecture of firelay, { \"ubuntu-24.04/amd64\" = \"ami-…\" }."
  type        = map(string)
}

variable "machines" {
  description = "Instance type and root volume (GiB) by role, by role and architecture (worker/arm64), or by name of a machine or pool."
  type = map(object({
    instance_type = string
    volume_size   = optional(number, 50)
    volume_type   = optional(string, "gp3")
  }))
  default = {}
}

variable "pools" {
  description = "Size by pool. instance_types are further types, spot takes spot instances, refresh replaces instances when the document or the image changes."
  type = map(object({
    min            = optional(number, 0)
    max            = number
    instance_types = optional(list(string), [])
    spot           = optional(bool, false)
    subnet_ids     = optional(list(string))
    refresh        = optional(bool, false)
  }))
  default = {}

  validation {
    condition     = alltrue([for pool in values(var.pools) : pool.min >= 0 && pool.min <= pool.max])
    error_message = "A pool's min is between 0 and its max."
  }
}

variable "drain_timeout" {
  description = "Seconds that a pool's instance waits for its drain before it ends."
  type        = number
  default     = 900

  validation {
    condition     = var.drain_timeout >= 120 && var.drain_timeout <= 7200
    error_message = "drain_timeout is between 120 and 7200 seconds."
  }
}

variable "tags" {
  description = "Tags of all resources, also of volumes and of the instances of pools."
  type        = map(string)
  default     = {}
}

variable "load_balancer" {
  description = "Network load balancer for the API: internal, external (internet-facing), or none, for example with a local endpoint.provider."
  type        = string
  default     = "internal"

  validation {
    condition     = contains(["internal", "external", "none"], var.load_balancer)
    error_message = "load_balancer is internal, external or none."
  }
}

variable "dns_zone" {
  description = "Route 53 zone of endpoint.host, for a record of the load balancer. None if absent."
  type        = string
  default     = null
}

variable "api_cidrs" {
  description = "Ranges that may reach the API server, besides the machines themselves."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.api_cidrs : can(cidrhost(range, 0)) && !strcontains(range, ":")])
    error_message = "api_cidrs are IPv4 ranges, such as 10.0.0.0/8."
  }
}

variable "ssh_cidrs" {
  description = "Ranges that may reach SSH; firelay does not need it."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.ssh_cidrs : can(cidrhost(range, 0)) && !strcontains(range, ":")])
    error_message = "ssh_cidrs are IPv4 ranges, such as 10.0.0.0/8."
  }
}

variable "source_dest_check" {
  description = "false for a network plugin without a tunnel, whose packets have addresses of pods."
  type        = bool
  default     = true
}

variable "identities" {
  description = "Your own instance profiles by role (control-plane, etcd, worker). The module creates those that are absent."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.identities), ["control-plane", "etcd", "worker"])) == 0
    error_message = "identities has the keys control-plane, etcd and worker."
  }
}

variable "cloud_controller" {
  description = "Permissions of the control planes for the cloud controller, and of other machines for ECR."
  type        = bool
  default     = true
}

variable "csi" {
  description = "Permissions of control planes and workers for the controller of the EBS CSI driver (awsEbsCsi), which runs on any of them."
  type        = bool
  default     = false
}

variable "pointer_base" {
  description = "delivery.pointer.base of the spec, if it is a bucket (s3://BUCKET/PREFIX): every role may read the payloads of its machines."
  type        = string
  default     = null

  validation {
    condition     = var.pointer_base == null || can(regex("^s3://[^/]+", var.pointer_base))
    error_message = "pointer_base begins with s3://."
  }
}

variable "create_bucket" {
  description = "Create the bucket of pointer_base: encrypted, private, reachable by TLS only."
  type        = bool
  default     = false
}

variable "disk_encryption_key" {
  description = "KMS key (ARN) of the root volumes; the account's default key for EBS if absent."
  type        = string
  default     = null
}
