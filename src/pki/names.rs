//! Subject alternative names in kubeadm's order: host names sorted, then addresses as they were given, each once.

use std::{collections::BTreeSet, net::IpAddr};

/// The names of one certificate.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Host names.
    pub(super) hosts: BTreeSet<String>,
    /// Addresses.
    pub(super) addresses: Vec<IpAddr>,
}

impl Names {
    /// Adds an address or, if it is none, a host name.
    pub(super) fn with(mut self, name: &str) -> Self {
        match name.parse() {
            Ok(address) => self.with_addresses([address]),
            Err(_) => {
                self.hosts.insert(name.to_owned());
                self
            }
        }
    }

    /// Adds each of the names.
    pub(super) fn with_all(self, names: &[String]) -> Self {
        names.iter().fold(self, |all, name| all.with(name))
    }

    /// Adds addresses.
    pub(super) fn with_addresses(mut self, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        for address in addresses {
            if !self.addresses.contains(&address) {
                self.addresses.push(address);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_sorted_addresses_keep_their_order_and_each_stands_once() {
        let names = ["b", "10.0.0.2", "a", "b", "10.0.0.1", "10.0.0.2"];
        let names = names.into_iter().fold(Names::default(), Names::with);
        assert_eq!(names.hosts.into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(
            names.addresses,
            [IpAddr::from([10, 0, 0, 2]), IpAddr::from([10, 0, 0, 1])]
        );
    }
}
