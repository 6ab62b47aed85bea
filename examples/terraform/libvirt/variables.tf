variable "storage_pool" {
  description = "Storage pool of disks and seeds."
  type        = string
  default     = "default"
}

variable "network" {
  description = "Network of the machines. Where firelay sets no addresses, its DHCP has to hand out those of the spec by MAC address."
  type        = string
  default     = "default"
}

variable "images" {
  description = "Path or URL of a qcow2 image by system and architecture of firelay."
  type        = map(string)
}

variable "machines" {
  description = "CPUs, MiB of memory and GiB of disk by role, by role and architecture (worker/arm64), or by name of a machine."
  type = map(object({
    cpus   = number
    memory = number
    disk   = number
  }))
  default = {}
}

variable "fw_cfg_names" {
  description = "Where Ignition of a system looks for its document, if not at opt/com.coreos/config."
  type        = map(string)
  default     = { flatcar = "opt/org.flatcar-linux/config" }
}
