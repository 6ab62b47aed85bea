variable "region" {
  description = "The region."
  type        = string
}

variable "zone" {
  description = "Zone of the machines that zones does not name."
  type        = string
}

variable "zones" {
  description = "Zone by name of the node: put control planes into different ones. They are not computed: an added machine would move others. Another zone replaces the machine."
  type        = map(string)
  default     = {}
}

variable "network" {
  description = "Name or self link of the VPC network."
  type        = string
}

variable "subnetwork" {
  description = "Name or self link of the subnetwork that has the machines' addresses."
  type        = string
}

variable "images" {
  description = "Image by system and architecture of firelay, { \"ubuntu-24.04/amd64\" = \"ubuntu-os-cloud/ubuntu-2404-lts-amd64\" }."
  type        = map(string)
}

variable "machines" {
  description = "Machine type and boot disk (GB) by role, by role and architecture (worker/arm64), or by name of a machine or pool."
  type = map(object({
    machine_type = string
    disk_size    = optional(number, 50)
    disk_type    = optional(string, "pd-balanced")
  }))
  default = {}
}

variable "pools" {
  description = "Size by pool at its creation; an autoscaler may change it. spot takes spot machines, refresh replaces machines when the template changes."
  type = map(object({
    size    = optional(number, 0)
    zones   = optional(list(string))
    spot    = optional(bool, false)
    refresh = optional(bool, false)
  }))
  default = {}

  validation {
    condition     = alltrue([for pool in values(var.pools) : pool.size >= 0])
    error_message = "A pool's size is 0 or more."
  }
}

variable "labels" {
  description = "Labels of all resources that have labels, also of disks and of the machines of pools."
  type        = map(string)
  default     = {}
}

variable "load_balancer" {
  description = "Proxy network load balancer for the API: internal (regional), external (global), or none, for example with a local endpoint.provider."
  type        = string
  default     = "internal"

  validation {
    condition     = contains(["internal", "external", "none"], var.load_balancer)
    error_message = "load_balancer is internal, external or none."
  }
}

variable "proxy_cidr" {
  description = "Range of the region's proxy-only subnet (purpose REGIONAL_MANAGED_PROXY), for an internal load balancer."
  type        = string
  default     = null
}

variable "dns_zone" {
  description = "Name of the Cloud DNS zone of endpoint.host, for a record of the load balancer. None if absent."
  type        = string
  default     = null
}

variable "api_cidrs" {
  description = "Ranges that may reach the API server, besides the machines themselves. With an external load balancer also the address of Cloud NAT, from which the machines connect."
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

variable "can_ip_forward" {
  description = "true for a network plugin without a tunnel, whose packets have addresses of pods."
  type        = bool
  default     = false
}

variable "identities" {
  description = "Emails of your own service accounts by role (control-plane, etcd, worker). The module creates those that are absent."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.identities), ["control-plane", "etcd", "worker"])) == 0
    error_message = "identities has the keys control-plane, etcd and worker."
  }
}

variable "cloud_controller" {
  description = "Permissions of the control planes for the cloud controller."
  type        = bool
  default     = true
}

variable "csi" {
  description = "Permissions of control planes and workers for the controller of the PD CSI driver (gcePdCsi), which runs on any of them."
  type        = bool
  default     = false
}

variable "pointer_base" {
  description = "delivery.pointer.base of the spec, if it is a bucket (gs://BUCKET/PREFIX): every role may read the payloads of its machines."
  type        = string
  default     = null

  validation {
    condition     = var.pointer_base == null || can(regex("^gs://[^/]+", var.pointer_base))
    error_message = "pointer_base begins with gs://."
  }
}

variable "create_bucket" {
  description = "Create the bucket of pointer_base, without public access. Google encrypts all buckets."
  type        = bool
  default     = false
}

variable "disk_encryption_key" {
  description = "Cloud KMS key (self link) of the boot disks; Google's own if absent."
  type        = string
  default     = null
}
