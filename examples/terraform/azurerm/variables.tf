variable "resource_group_name" {
  description = "The resource group of the machines."
  type        = string
}

variable "location" {
  description = "Its region."
  type        = string
}

variable "subnet_id" {
  description = "The subnet that has the machines' addresses."
  type        = string
}

variable "zones" {
  description = "Availability zone by name of the node; none if absent. Put control planes into different ones."
  type        = map(string)
  default     = {}
}

variable "images" {
  description = "Image by system and architecture of firelay: the ID of one of your own or of a gallery, or that of the marketplace; plan for those that have a plan there, such as Flatcar's."
  type = map(object({
    id        = optional(string)
    publisher = optional(string)
    offer     = optional(string)
    sku       = optional(string)
    version   = optional(string, "latest")
    plan      = optional(bool, false)
  }))
}

variable "machines" {
  description = "Size and OS disk (GB) by role, by role and architecture (worker/arm64), or by name of a machine or pool."
  type = map(object({
    size      = string
    disk_size = optional(number, 64)
    disk_type = optional(string, "Premium_LRS")
  }))
  default = {}
}

variable "pools" {
  description = "Size by pool at its creation; an autoscaler may change it. spot takes spot machines."
  type = map(object({
    size  = optional(number, 0)
    zones = optional(list(string))
    spot  = optional(bool, false)
  }))
  default = {}

  validation {
    condition     = alltrue([for pool in values(var.pools) : pool.size >= 0])
    error_message = "A pool's size is 0 or more."
  }
}

variable "admin_username" {
  description = "User that Azure makes on every machine; it asks for one with a key."
  type        = string
  default     = "azureuser"
}

variable "admin_ssh_key" {
  description = "Public SSH key of that user."
  type        = string
}

variable "tags" {
  description = "Tags of all resources that have tags, also of the machines of pools."
  type        = map(string)
  default     = {}
}

variable "load_balancer" {
  description = "Standard load balancer for the API: internal, external, or none, for example with a local endpoint.provider."
  type        = string
  default     = "internal"

  validation {
    condition     = contains(["internal", "external", "none"], var.load_balancer)
    error_message = "load_balancer is internal, external or none."
  }
}

variable "api_cidrs" {
  description = "Ranges that may reach the API server, besides the virtual network itself."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.api_cidrs : can(cidrhost(range, 0)) && !strcontains(range, ":")])
    error_message = "api_cidrs are IPv4 ranges, such as 10.0.0.0/8."
  }
}

variable "ssh_cidrs" {
  description = "Ranges that may reach SSH, besides the virtual network itself; firelay does not need it."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.ssh_cidrs : can(cidrhost(range, 0)) && !strcontains(range, ":")])
    error_message = "ssh_cidrs are IPv4 ranges, such as 10.0.0.0/8."
  }
}

variable "ip_forwarding" {
  description = "true for a network plugin without a tunnel, whose packets have addresses of pods."
  type        = bool
  default     = false
}

variable "identities" {
  description = "IDs of your own user-assigned identities by role (control-plane, etcd, worker). The module creates those that are absent."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.identities), ["control-plane", "etcd", "worker"])) == 0
    error_message = "identities has the keys control-plane, etcd and worker."
  }
}

variable "cloud_controller" {
  description = "Make the control planes Contributor of the resource group, for the cloud controller."
  type        = bool
  default     = true
}

variable "csi" {
  description = "Make control planes and workers Contributor of the resource group, for the controller of the disk CSI driver (azureDiskCsi), which runs on any of them."
  type        = bool
  default     = false
}

variable "pointer_container_id" {
  description = "Resource ID of the container of delivery.pointer.base, if it is azure://…: all machines may read its blobs."
  type        = string
  default     = null
}

variable "disk_encryption_key" {
  description = "Disk encryption set (ID) of the OS disks; Azure's own keys if absent."
  type        = string
  default     = null
}
