# Azure's own rules let everything of the virtual network in: kubelets, the API server and what a network plugin needs.
# etcd is shut to all but its members.
resource "azurerm_network_security_group" "nodes" {
  name                = "${local.cluster.name}-nodes"
  resource_group_name = var.resource_group_name
  location            = var.location

  dynamic "security_rule" {
    for_each = length(var.api_cidrs) > 0 ? [var.api_cidrs] : []
    content {
      name                       = "api"
      priority                   = 100
      direction                  = "Inbound"
      access                     = "Allow"
      protocol                   = "Tcp"
      source_address_prefixes    = security_rule.value
      source_port_range          = "*"
      destination_address_prefix = "*"
      destination_port_range     = "6443"
    }
  }

  security_rule {
    name                       = "etcd-of-members"
    priority                   = 200
    direction                  = "Inbound"
    access                     = "Allow"
    protocol                   = "Tcp"
    source_address_prefixes    = [for name, machine in local.members : local.ipv4[name]]
    source_port_range          = "*"
    destination_address_prefix = "*"
    destination_port_range     = "2379-2380"
  }

  security_rule {
    name                       = "etcd-of-nobody-else"
    priority                   = 210
    direction                  = "Inbound"
    access                     = "Deny"
    protocol                   = "Tcp"
    source_address_prefix      = "*"
    source_port_range          = "*"
    destination_address_prefix = "*"
    destination_port_range     = "2379-2380"
  }
}

resource "azurerm_network_interface_security_group_association" "node" {
  for_each                  = local.nodes
  network_interface_id      = azurerm_network_interface.node[each.key].id
  network_security_group_id = azurerm_network_security_group.nodes.id
}
