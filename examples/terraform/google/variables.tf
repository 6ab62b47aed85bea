variable "region" {
  description = "The region."
  type        = string
}

variable "zone" {
  description = "Zone of the machines that zones does not name."
  type        = string
}

variable "zones" {
  description = "Zone by name of the node: put control planes into different ones. It is not counted out, since one more machine would move others."
  type        = map(string)
  default     = {}
}

variable "pool_zones" {
  description = "Zones of pools; those of the region that Google chooses if absent."
  type        = list(string)
  default     = null
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

variable "machine_types" {
  description = "Machine type by role and architecture; etcd/amd64 is for members that are no control planes."
  type        = map(string)
  default = {
    "control-plane/amd64" = "e2-standard-2"
    "control-plane/arm64" = "t2a-standard-2"
    "etcd/amd64"          = "e2-standard-2"
    "etcd/arm64"          = "t2a-standard-2"
    "worker/amd64"        = "e2-standard-4"
    "worker/arm64"        = "t2a-standard-4"
  }
}

variable "boot_disk_size" {
  description = "GB of the boot disk."
  type        = number
  default     = 50
}

variable "api_cidrs" {
  description = "Ranges that may reach the API server, besides the machines themselves; a load balancer's probes, too (130.211.0.0/22, 35.191.0.0/16)."
  type        = list(string)
  default     = []
}

variable "ssh_cidrs" {
  description = "Ranges that may reach SSH; nothing of firelay needs it."
  type        = list(string)
  default     = []
}

variable "can_ip_forward" {
  description = "true for a network plugin without a tunnel, whose packets have addresses of pods."
  type        = bool
  default     = false
}

variable "service_account_email" {
  description = "Service account, for the cloud controller manager; none if absent."
  type        = string
  default     = null
}

variable "pool_sizes" {
  description = "Machines by pool when it is made; later an autoscaler's own."
  type        = map(number)
  default     = {}
}
