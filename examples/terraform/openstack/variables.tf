variable "network_id" {
  description = "The network that the machines are in."
  type        = string
}

variable "subnet_id" {
  description = "Its subnet, which has the machines' addresses."
  type        = string
}

variable "images" {
  description = "Image ID by system and architecture of firelay, { \"ubuntu-24.04/amd64\" = \"8b1…\" }."
  type        = map(string)
}

variable "flavors" {
  description = "Flavor by role and architecture; etcd/amd64 is for members that are no control planes."
  type        = map(string)
}

variable "key_pair" {
  description = "Key pair that Nova puts onto the machines; none if absent."
  type        = string
  default     = null
}

variable "config_drive" {
  description = "true where machines do not reach the metadata service, or boot before the network is there."
  type        = bool
  default     = true
}

variable "allowed_address_pairs" {
  description = "Addresses that control planes may have besides their own: that of kube-vip."
  type        = list(string)
  default     = []
}

variable "api_cidrs" {
  description = "Ranges that may reach the API server, besides the machines themselves."
  type        = list(string)
  default     = []
}

variable "ssh_cidrs" {
  description = "Ranges that may reach SSH; nothing of firelay needs it."
  type        = list(string)
  default     = []
}

variable "pool_sizes" {
  description = "Machines by pool. OpenStack has no group of its own here: fewer takes away those with the highest numbers."
  type        = map(number)
  default     = {}
}
