//! Machines of one class: their documents are equal but for each machine's own name, addresses, certificates and keys. What is
//! proven of one document of a class holds for all.

use std::{
    collections::HashSet,
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

use aws_lc_rs::digest::{Context, SHA256};

use super::{Finding, Format, Machine, cluster::variable};

/// The places of a machine's own values, each at the end of a line: keys of cloud-init and kubeadm, and variables of the chain.
const PLACES: [&str; 9] = [
    "hostname: ",
    "fqdn: ",
    "name: ",
    "value: ",
    "FL_NODE=",
    "FL_ADDRESSES=",
    "FL_LOCAL=",
    "FL_URL_ADDRESS=",
    "FL_PIN=",
];

/// Variables with a machine's addresses.
const ADDRESSES: [&str; 4] = ["FL_ADDRESSES", "FL_LOCAL", "FL_URL_ADDRESS", "FL_PIN"];

/// A body of PEM is longer: a short line may be anything.
const SHORTEST: usize = 60;

/// Classes without a finding.
#[derive(Debug, Default)]
pub(super) struct Proven(Mutex<HashSet<Vec<u8>>>);

impl Proven {
    /// The findings of checks whose result is the same for all machines of a class.
    pub(super) fn of(&self, machine: &Machine, check: impl FnOnce() -> Vec<Finding>) -> Vec<Finding> {
        let proven = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let class = class(machine);
        if class.as_ref().is_some_and(|class| proven().contains(class)) {
            return Vec::new();
        }
        let findings = check();
        proven().extend(class.filter(|_| findings.is_empty()));
        findings
    }
}

/// The digest of all but a machine's own values; `None` for a machine that is to be looked at alone.
fn class(machine: &Machine) -> Option<Vec<u8>> {
    let [layer] = machine.layers.as_slice() else {
        return None;
    };
    let is_whole = layer.format == Some(Format::CloudInit) && machine.faults.is_empty();
    let text = std::str::from_utf8(machine.innermost.as_ref().filter(|_| is_whole)?).ok()?;
    let own = own_values(machine);
    let mut digest = Context::new(&SHA256);
    digest.update(format!("{:?} {} {}\n", machine.roles, machine.pool, machine.platform).as_bytes());
    let mut in_pem = false;
    for line in text.split_inclusive('\n') {
        let is_base64 = in_pem && is_base64(line);
        if !is_base64 {
            let (before, word, behind) = without_own(line, &own).unwrap_or((line, "", ""));
            let kind = ["address", "name"][usize::from(word == machine.name)];
            for part in [before, if word.is_empty() { "" } else { kind }, behind] {
                digest.update(part.as_bytes());
            }
        }
        in_pem = is_base64 || line.trim_start().starts_with("-----BEGIN ");
    }
    Some(digest.finish().as_ref().to_vec())
}

/// Name and addresses, as far as every reader of YAML takes them for text: a name has a letter first, and more than letters.
fn own_values(machine: &Machine) -> Vec<String> {
    let lists = ADDRESSES.iter().filter_map(|name| variable(machine, name));
    let mut values: Vec<_> = lists
        .flat_map(|list| {
            list.split(' ')
                .map(str::to_owned)
                .chain([list.clone()])
                .collect::<Vec<_>>()
        })
        .collect();
    let is_address = |word: &str| word.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    values.retain(|value| !value.is_empty() && value.split(' ').all(is_address));
    let name = machine.name.as_str();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    let is_text = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && !name.bytes().all(|byte| byte.is_ascii_alphabetic());
    values.extend((is_text && name.bytes().all(is_plain)).then(|| name.to_owned()));
    values
}

/// A machine's own value with what is before and behind it, in a line that ends with one at its place.
fn without_own<'l>(line: &'l str, own: &[String]) -> Option<(&'l str, &'l str, &'l str)> {
    let key = line.trim_start_matches([' ', '-']);
    let place = PLACES.iter().find(|place| key.starts_with(**place))?;
    let (before, value) = line.split_at(line.len() - key.len() + place.len());
    let plain = value.trim_end_matches('\n');
    let unquoted = |quote| plain.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let word = unquoted('"').or_else(|| unquoted('\'')).unwrap_or(plain);
    let start = usize::from(word.len() != plain.len());
    let is_own = own.iter().any(|own| own == word);
    is_own.then(|| (&line[..before.len() + start], word, &value[start + word.len()..]))
}

fn is_base64(line: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let line = line.trim();
    line.len() >= SHORTEST && line.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_values_at_their_places_are_left_out() {
        let own = ["w5".to_owned(), "172.17.0.6".to_owned()];
        let own_lines = [
            ("hostname: w5\n", "hostname: ", "\n"),
            ("    FL_PIN=172.17.0.6\n", "    FL_PIN=", "\n"),
            ("  value: \"172.17.0.6\"\n", "  value: \"", "\"\n"),
            ("- name: 'w5'\n", "- name: '", "'\n"),
        ];
        for (line, before, behind) in own_lines {
            let found = without_own(line, &own).unwrap_or_default();
            assert_eq!((found.0, found.2), (before, behind));
        }
        let others = [
            "apiVersion: w5\n",
            "hostname: w55\n",
            "hostname: w5 # a\n",
            "FL_PIN=172.17.0.60\n",
            "name: \"w5'\n",
        ];
        for line in others {
            assert_eq!(without_own(line, &own), None);
        }
    }

    #[test]
    fn a_body_of_pem_is_one_of_base64() {
        assert!(is_base64(&format!("    {}\n", "MIIB+/=".repeat(10))));
        assert!(!is_base64("    reboot\n"));
        assert!(!is_base64("    -----END CERTIFICATE-----\n") && !is_base64("\n") && !is_base64("- path: /a\n"));
    }
}
