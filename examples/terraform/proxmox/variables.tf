variable "host" {
  description = "Proxmox node of the machines that hosts does not name."
  type        = string
}

variable "hosts" {
  description = "Proxmox node by name of the machine: put control planes onto different ones. It is not counted out, since one more machine would move others."
  type        = map(string)
  default     = {}
}

variable "datastore" {
  description = "Datastore of the disks."
  type        = string
  default     = "local-lvm"
}

variable "snippets_datastore" {
  description = "Datastore of the documents; its content types must have snippets. The provider uploads them over SSH."
  type        = string
  default     = "local"
}

variable "bridge" {
  description = "Bridge of the machines. Where firelay sets no addresses, DHCP has to hand out those of the spec by MAC address."
  type        = string
  default     = "vmbr0"
}

variable "images" {
  description = "Disk image by system and architecture of firelay, as the id of a file in Proxmox: { \"ubuntu-24.04/amd64\" = \"local:import/noble.qcow2\" }."
  type        = map(string)
}

variable "machines" {
  description = "Cores, MiB of memory and GB of disk by role; etcd is for members that are no control planes."
  type        = map(object({ cores = number, memory = number, disk = number }))
  default = {
    control-plane = { cores = 2, memory = 4096, disk = 40 }
    etcd          = { cores = 2, memory = 4096, disk = 40 }
    worker        = { cores = 4, memory = 8192, disk = 60 }
  }
}
