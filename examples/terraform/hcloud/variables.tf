variable "location" {
  description = "Location of the load balancer, and of the servers that locations does not name."
  type        = string
  default     = "nbg1"
}

variable "locations" {
  description = "Location by name of the node, within the network zone: put control planes into different ones."
  type        = map(string)
  default     = {}
}

variable "subnet_id" {
  description = "Subnet of a Hetzner Cloud network that has the servers' addresses (the id of hcloud_network_subnet)."
  type        = string
}

variable "images" {
  description = "Image by system and architecture of firelay, { \"ubuntu-24.04/amd64\" = \"ubuntu-24.04\" }."
  type        = map(string)
}

variable "machines" {
  description = "Server type by role, by role and architecture (worker/arm64), or by name of a machine or pool."
  type = map(object({
    server_type = string
  }))
  default = {}
}

variable "ssh_keys" {
  description = "Names of SSH keys of the project; without one Hetzner mails a password of root."
  type        = list(string)
}

variable "public_ipv4" {
  description = "Servers have a public IPv4 address, by which they fetch binaries and images. Without it the network needs a way out."
  type        = bool
  default     = true
}

variable "api_cidrs" {
  description = "Ranges that may reach the API server at the servers' public addresses."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.api_cidrs : can(cidrhost(range, 0))])
    error_message = "api_cidrs are ranges, such as 10.0.0.0/8."
  }
}

variable "ssh_cidrs" {
  description = "Ranges that may reach SSH at the servers' public addresses; firelay does not need it."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.ssh_cidrs : can(cidrhost(range, 0))])
    error_message = "ssh_cidrs are ranges, such as 10.0.0.0/8."
  }
}

variable "load_balancer" {
  description = "Load balancer for the API: internal (private address only), external (with a public address), or none, for example with a local endpoint.provider."
  type        = string
  default     = "internal"

  validation {
    condition     = contains(["internal", "external", "none"], var.load_balancer)
    error_message = "load_balancer is internal, external or none."
  }
}

variable "load_balancer_type" {
  description = "Type of the load balancer."
  type        = string
  default     = "lb11"
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

variable "labels" {
  description = "Labels of all resources that have labels."
  type        = map(string)
  default     = {}
}
