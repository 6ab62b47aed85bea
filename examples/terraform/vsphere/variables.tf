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
  description = "CPUs, MiB of memory and GB of disk by role; etcd is for members that are no control planes."
  type        = map(object({ cpus = number, memory = number, disk = number }))
  default = {
    control-plane = { cpus = 2, memory = 4096, disk = 40 }
    etcd          = { cpus = 2, memory = 4096, disk = 40 }
    worker        = { cpus = 4, memory = 8192, disk = 60 }
  }
}

variable "pool_sizes" {
  description = "Machines by pool: fewer takes away those with the highest numbers."
  type        = map(number)
  default     = {}
}
