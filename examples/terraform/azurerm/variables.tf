variable "resource_group_name" {
  description = "The resource group that the machines are in."
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

variable "sizes" {
  description = "Size by role and architecture; etcd/amd64 is for members that are no control planes."
  type        = map(string)
  default = {
    "control-plane/amd64" = "Standard_D2s_v5"
    "control-plane/arm64" = "Standard_D2ps_v5"
    "etcd/amd64"          = "Standard_D2s_v5"
    "etcd/arm64"          = "Standard_D2ps_v5"
    "worker/amd64"        = "Standard_D4s_v5"
    "worker/arm64"        = "Standard_D4ps_v5"
  }
}

variable "os_disk_size" {
  description = "GB of the system's disk."
  type        = number
  default     = 64
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

variable "identity_ids" {
  description = "Managed identities of the machines; for payloads in a container (azure://) exactly one, which may read it."
  type        = list(string)
  default     = []
}

variable "api_cidrs" {
  description = "Ranges that may reach the API server, besides the virtual network itself."
  type        = list(string)
  default     = []
}

variable "ip_forwarding" {
  description = "true for a network plugin without a tunnel, whose packets have addresses of pods."
  type        = bool
  default     = false
}

variable "pool_sizes" {
  description = "Machines by pool when it is made; later an autoscaler's own."
  type        = map(number)
  default     = {}
}
