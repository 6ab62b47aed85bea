# Azure's own rules admit the whole virtual network: kubelets, the API server and the ports of a network plugin. Only members
# of etcd reach etcd. Rules are resources of their own, because the cloud controller adds others to the same group.
resource "azurerm_network_security_group" "nodes" {
  name                = "${local.cluster.name}-nodes"
  resource_group_name = var.resource_group_name
  location            = var.location
  tags                = var.tags
}

locals {
  open = {
    api = { priority = 100, port = "6443", cidrs = var.api_cidrs }
    ssh = { priority = 110, port = "22", cidrs = var.ssh_cidrs }
  }
  balancers = var.load_balancer == "none" ? 0 : 1
  control_planes = {
    for name, machine in local.members : name => machine if contains(machine.roles, "control-plane")
  }
}

resource "azurerm_network_security_rule" "open" {
  for_each                    = { for name, rule in local.open : name => rule if length(rule.cidrs) > 0 }
  name                        = each.key
  resource_group_name         = var.resource_group_name
  network_security_group_name = azurerm_network_security_group.nodes.name
  priority                    = local.open[each.key].priority
  direction                   = "Inbound"
  access                      = "Allow"
  protocol                    = "Tcp"
  source_address_prefixes     = local.open[each.key].cidrs
  source_port_range           = "*"
  destination_address_prefix  = "*"
  destination_port_range      = local.open[each.key].port
}

resource "azurerm_network_security_rule" "etcd_of_members" {
  name                        = "etcd-of-members"
  resource_group_name         = var.resource_group_name
  network_security_group_name = azurerm_network_security_group.nodes.name
  priority                    = 200
  direction                   = "Inbound"
  access                      = "Allow"
  protocol                    = "Tcp"
  source_address_prefixes     = [for name, machine in local.members : local.ipv4[name]]
  source_port_range           = "*"
  destination_address_prefix  = "*"
  destination_port_range      = "2379-2380"
}

resource "azurerm_network_security_rule" "etcd_of_nobody_else" {
  name                        = "etcd-of-nobody-else"
  resource_group_name         = var.resource_group_name
  network_security_group_name = azurerm_network_security_group.nodes.name
  priority                    = 210
  direction                   = "Inbound"
  access                      = "Deny"
  protocol                    = "Tcp"
  source_address_prefix       = "*"
  source_port_range           = "*"
  destination_address_prefix  = "*"
  destination_port_range      = "2379-2380"
}

resource "azurerm_network_interface_security_group_association" "node" {
  for_each                  = local.nodes
  network_interface_id      = azurerm_network_interface.node[each.key].id
  network_security_group_id = azurerm_network_security_group.nodes.id
}

resource "azurerm_public_ip" "api" {
  count               = var.load_balancer == "external" ? 1 : 0
  name                = "${local.cluster.name}-api"
  resource_group_name = var.resource_group_name
  location            = var.location
  allocation_method   = "Static"
  sku                 = "Standard"
  tags                = var.tags
}

resource "azurerm_lb" "api" {
  count               = local.balancers
  name                = "${local.cluster.name}-api"
  resource_group_name = var.resource_group_name
  location            = var.location
  sku                 = "Standard"
  tags                = var.tags

  frontend_ip_configuration {
    name                 = "api"
    subnet_id            = var.load_balancer == "internal" ? var.subnet_id : null
    public_ip_address_id = one(azurerm_public_ip.api[*].id)
  }
}

resource "azurerm_lb_backend_address_pool" "api" {
  count           = local.balancers
  name            = "api"
  loadbalancer_id = azurerm_lb.api[0].id
}

resource "azurerm_network_interface_backend_address_pool_association" "api" {
  for_each                = local.balancers == 0 ? {} : local.control_planes
  network_interface_id    = azurerm_network_interface.node[each.key].id
  ip_configuration_name   = "primary"
  backend_address_pool_id = azurerm_lb_backend_address_pool.api[0].id
}

resource "azurerm_lb_probe" "api" {
  count               = local.balancers
  name                = "api"
  loadbalancer_id     = azurerm_lb.api[0].id
  protocol            = "Https"
  port                = 6443
  request_path        = "/readyz"
  interval_in_seconds = 5
}

resource "azurerm_lb_rule" "api" {
  count                          = local.balancers
  name                           = "api"
  loadbalancer_id                = azurerm_lb.api[0].id
  protocol                       = "Tcp"
  frontend_port                  = local.cluster.endpoint_port
  backend_port                   = 6443
  frontend_ip_configuration_name = "api"
  backend_address_pool_ids       = [azurerm_lb_backend_address_pool.api[0].id]
  probe_id                       = azurerm_lb_probe.api[0].id
  idle_timeout_in_minutes        = 30 # watches are idle for minutes
}
