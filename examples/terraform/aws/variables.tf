variable "vpc_id" {
  description = "The VPC that the machines are in."
  type        = string
}

variable "subnet_ids" {
  description = "Its subnets. A machine goes into the one whose range has its address, pools into all."
  type        = list(string)
}

variable "images" {
  description = "AMI by system and architecture of firelay, { \"ubuntu-24.04/amd64\" = \"ami-…\" }."
  type        = map(string)
}

variable "instance_types" {
  description = "Instance type by role and architecture; etcd/amd64 is for members that are no control planes."
  type        = map(string)
  default = {
    "control-plane/amd64" = "t3.medium"
    "control-plane/arm64" = "t4g.medium"
    "etcd/amd64"          = "t3.medium"
    "etcd/arm64"          = "t4g.medium"
    "worker/amd64"        = "t3.large"
    "worker/arm64"        = "t4g.large"
  }
}

variable "root_volume_size" {
  description = "GiB of the root volume."
  type        = number
  default     = 50
}

variable "api_cidrs" {
  description = "Ranges that may reach the API server, besides the machines themselves."
  type        = list(string)
  default     = []
}

variable "ssh_cidrs" {
  description = "Ranges that may reach SSH; nothing of firelay needs it."
  type        = list(string)
  default     = []
}

variable "source_dest_check" {
  description = "false for a network plugin without a tunnel, whose packets have addresses of pods."
  type        = bool
  default     = true
}

variable "iam_instance_profile" {
  description = "Instance profile, for the cloud controller manager; none if absent."
  type        = string
  default     = null
}

variable "load_balancer" {
  description = "Make an internal network load balancer for the API; for endpoint.provider: external."
  type        = bool
  default     = true
}

variable "zone_id" {
  description = "Route 53 zone that endpoint.host is in; the name leads to the load balancer. None if absent."
  type        = string
  default     = null
}

variable "pool_sizes" {
  description = "Fewest and most machines by pool."
  type        = map(object({ min = number, max = number }))
  default     = {}
}
