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
  description = "Cores, MiB of memory and GB of disk by role, by role and architecture (worker/arm64), or by name of a machine."
  type = map(object({
    cores  = number
    memory = number
    disk   = number
    cpu    = optional(string, "x86-64-v2-AES")
  }))
  default = {}
}

variable "tags" {
  description = "Tags of all machines, besides the cluster's name."
  type        = list(string)
  default     = []
}

variable "agent" {
  description = "true where the image has the QEMU guest agent: a machine is shut down before it is deleted, and the kubelet ends its pods in order."
  type        = bool
  default     = false
}
