variable "datacenter" {
  description = "Name of the datacenter."
  type        = string
}

variable "cluster" {
  description = "Name of the compute cluster."
  type        = string
}

variable "datastore" {
  description = "Name of the datastore."
  type        = string
}

variable "network" {
  description = "Name of the port group."
  type        = string
}

variable "folder" {
  description = "Folder of the machines; the datacenter's own if absent."
  type        = string
  default     = null
}

variable "templates" {
  description = "Name of the template by system and architecture of firelay, { \"ubuntu-24.04/amd64\" = \"ubuntu-24.04-cloud\" }."
  type        = map(string)
}

variable "machines" {
  description = "CPUs, MiB of memory and GB of disk by role, by role and architecture (worker/arm64), or by name of a machine or pool."
  type = map(object({
    cpus   = number
    memory = number
    disk   = number
  }))
  default = {}
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
  description = "IDs of vSphere tags of all machines."
  type        = list(string)
  default     = null
}

variable "anti_affinity" {
  description = "Keep members of etcd on different hosts by a rule of DRS, which needs the licence of DRS."
  type        = bool
  default     = false
}

variable "storage_policy_id" {
  description = "Storage policy of the disks, by which vCenter encrypts them, for example."
  type        = string
  default     = null
}
