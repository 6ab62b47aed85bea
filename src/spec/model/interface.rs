//! `interfaces`: the network configuration of a machine.

use firelay_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

use super::NameServers;

/// A network interface: a device, a bond of devices, or a VLAN.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Interface {
    /// The device's name in the kernel, `eno1`; with `mac`, `bond` or `vlan` the name that it is given.
    pub name: Spanned<String>,
    /// MAC address by which the device is known, whatever the kernel calls it.
    pub mac: Option<Spanned<String>>,
    /// Makes it a bond of devices.
    pub bond: Option<Spanned<Bond>>,
    /// Makes it a VLAN on another interface.
    pub vlan: Option<Spanned<Vlan>>,
    /// Networks in which it stands: the machine's own `addresses` that lie in one of them are set on it, with the prefix
    /// length of the network.
    #[serde(default)]
    pub subnets: Vec<Spanned<String>>,
    /// Further addresses, `ADDRESS/LENGTH`; `FIRST-LAST/LENGTH` counts along with the names of a row.
    #[serde(default)]
    pub addresses: Vec<Spanned<String>>,
    /// Whether it asks DHCP for an IPv4 address.
    #[serde(default)]
    pub dhcp4: bool,
    /// Whether it asks DHCPv6 for an address; what routers advertise is taken as the system does it.
    #[serde(default)]
    pub dhcp6: bool,
    /// The router to everywhere, one for each IP family.
    #[serde(default)]
    pub gateways: Vec<Spanned<String>>,
    /// Further routes.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Most bytes of a packet; the device's own if absent, 1500 as a rule.
    pub mtu: Option<Spanned<u16>>,
    /// Name servers behind this interface, beside those of `dns` of the machine.
    pub dns: Option<Spanned<NameServers>>,
}

/// `bond` of an interface.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bond {
    /// The devices in it. They need no entry of their own, unless they are known by a MAC address.
    pub devices: Spanned<Vec<Spanned<String>>>,
    /// How they share the traffic, in the kernel's words.
    pub mode: Spanned<BondMode>,
    /// How often in milliseconds a device's link is looked at; 100 if absent.
    pub mii_monitor_ms: Option<Spanned<u16>>,
    /// How often the other side of 802.3ad is asked for a sign of life; `slow` if absent, every 30 seconds.
    pub lacp_rate: Option<Spanned<LacpRate>>,
    /// The fields of a packet that select the sending device; `layer2` if absent.
    pub hash_policy: Option<Spanned<HashPolicy>>,
    /// The device that is used whenever its link is up.
    pub primary: Option<Spanned<String>>,
}

/// Modes of the kernel's bonding driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BondMode {
    BalanceRr,
    ActiveBackup,
    BalanceXor,
    Broadcast,
    #[serde(rename = "802.3ad")]
    Lacp,
    BalanceTlb,
    BalanceAlb,
}

/// How often LACP asks for a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LacpRate {
    /// Every 30 seconds.
    Slow,
    /// Every second.
    Fast,
}

/// Hash policies of the kernel's bonding driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, serde::Serialize)]
pub enum HashPolicy {
    #[serde(rename = "layer2")]
    Layer2,
    #[serde(rename = "layer2+3")]
    Layer2And3,
    #[serde(rename = "layer3+4")]
    Layer3And4,
    #[serde(rename = "encap2+3")]
    Encap2And3,
    #[serde(rename = "encap3+4")]
    Encap3And4,
}

/// `vlan` of an interface.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Vlan {
    /// The VLAN's number, from 1 to 4094.
    pub id: Spanned<u16>,
    /// The interface that carries it, by its name.
    pub link: Spanned<String>,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Route {
    /// The network that is reached, `10.0.0.0/8`.
    pub to: Spanned<String>,
    /// The router.
    pub via: Spanned<String>,
    /// Of several routes to one network the one with the lowest counts.
    pub metric: Option<Spanned<u32>>,
}
