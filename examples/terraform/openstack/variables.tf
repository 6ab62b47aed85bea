variable "network_id" {
  description = "The network that the machines are in."
  type        = string
}

variable "subnet_id" {
  description = "Its subnet, which has the machines' addresses."
  type        = string
}

variable "images" {
  description = "Image ID by system and architecture of firelay, { \"ubuntu-24.04/amd64\" = \"8b1…\" }."
  type        = map(string)
}

variable "machines" {
  description = "Flavor by role, by role and architecture (worker/arm64), or by name of a machine or pool. With volume_size (GB) the machine boots from a volume."
  type = map(object({
    flavor      = string
    volume_size = optional(number)
    volume_type = optional(string)
  }))

  validation {
    condition     = length(var.machines) > 0
    error_message = "machines needs the flavors of each role: flavors have other names in every OpenStack."
  }
}

variable "key_pair" {
  description = "Key pair that Nova puts onto the machines; none if absent."
  type        = string
  default     = null
}

variable "config_drive" {
  description = "true where machines do not reach the metadata service, or boot before the network is there."
  type        = bool
  default     = true
}

variable "allowed_address_pairs" {
  description = "Addresses that control planes may have besides their own: that of kube-vip."
  type        = list(string)
  default     = []
}

variable "api_cidrs" {
  description = "Ranges that may reach the API server, besides the machines themselves."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.api_cidrs : can(cidrhost(range, 0))])
    error_message = "api_cidrs are ranges, such as 10.0.0.0/8."
  }
}

variable "ssh_cidrs" {
  description = "Ranges that may reach SSH; firelay does not need it."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.ssh_cidrs : can(cidrhost(range, 0))])
    error_message = "ssh_cidrs are ranges, such as 10.0.0.0/8."
  }
}

variable "pools" {
  description = "Size by pool. A smaller size removes the machines with the highest numbers: drain them first."
  type = map(object({
    size = optional(number, 0)
  }))
  default = {}

  validation {
    condition     = alltrue([for pool in values(var.pools) : pool.size >= 0])
    error_message = "A pool's size is 0 or more."
  }
}

variable "tags" {
  description = "Tags of all resources that have tags."
  type        = list(string)
  default     = []
}

variable "zones" {
  description = "Availability zone by name of the node; Nova's choice if absent."
  type        = map(string)
  default     = {}
}

variable "load_balancer" {
  description = "Octavia load balancer for the API: internal, external (with a floating IP), or none, for example with endpoint.provider kubeVip."
  type        = string
  default     = "internal"

  validation {
    condition     = contains(["internal", "external", "none"], var.load_balancer)
    error_message = "load_balancer is internal, external or none."
  }
}

variable "external_network" {
  description = "Name of the network of the floating IP, for an external load balancer."
  type        = string
  default     = null
}
