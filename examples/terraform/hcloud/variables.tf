variable "location" {
  description = "Location of the servers."
  type        = string
  default     = "nbg1"
}

variable "subnet_id" {
  description = "Subnet of a Hetzner Cloud network that has the servers' addresses (the id of hcloud_network_subnet)."
  type        = string
}

variable "images" {
  description = "Image by system and architecture of firelay, { \"ubuntu-24.04/amd64\" = \"ubuntu-24.04\" }."
  type        = map(string)
}

variable "server_types" {
  description = "Server type by role and architecture; etcd/amd64 is for members that are no control planes."
  type        = map(string)
  default = {
    "control-plane/amd64" = "cx23"
    "control-plane/arm64" = "cax11"
    "etcd/amd64"          = "cx23"
    "etcd/arm64"          = "cax11"
    "worker/amd64"        = "cx33"
    "worker/arm64"        = "cax21"
  }
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
  description = "Ranges that may reach the API server over the public addresses."
  type        = list(string)
  default     = []
}

variable "ssh_cidrs" {
  description = "Ranges that may reach SSH over the public addresses; nothing of firelay needs it."
  type        = list(string)
  default     = []
}

variable "load_balancer_type" {
  description = "Type of a load balancer for the API, for endpoint.provider: external; null makes none."
  type        = string
  default     = "lb11"
}

variable "pool_sizes" {
  description = "Servers by pool: fewer takes away those with the highest numbers."
  type        = map(number)
  default     = {}
}
