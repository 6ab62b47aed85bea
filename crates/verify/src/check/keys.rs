//! Private keys of the cluster's authorities, which belong on control planes and nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use super::Known;
use super::certificates::TABLE;
use crate::{
    Bytes, Finding, Machine, Tree,
    certificate::{Certificate, bits, private_keys},
};

/// A part of the first line of a private key in PEM.
const MARK: &str = "PRIVATE KEY-----";

/// The script with which a member of external etcd renews its certificates, and the key that it signs with.
const RENEWAL: &str = "/etc/firelay/etcd-renewal.sh";
const SIGNER: &str = "/etc/firelay/etcd/ca.key";

/// The public keys of a tree's authorities, each with the file that shows it.
pub(super) type Authorities = BTreeMap<Vec<u8>, &'static str>;

/// The CAs of a tree.
pub(super) fn authorities(tree: &Tree) -> Authorities {
    let mut found = Authorities::new();
    for row in TABLE.certificates.iter().filter(|row| row.authority) {
        let certificates = different(tree, &row.path).into_iter().filter_map(|bytes| text(bytes));
        let keys = certificates.filter_map(|text| Some(Certificate::first(text).ok()?.key.clone()));
        found.extend(keys.map(|key| (key, row.path.as_str())));
    }
    for pair in &TABLE.public_keys {
        let keys = different(tree, &pair.path).into_iter().filter_map(|bytes| text(bytes));
        found.extend(keys.filter_map(|text| Some((bits(text).ok()?, pair.path.as_str()))));
    }
    found
}

/// The different files of all machines at a path below `/etc/firelay`.
fn different<'a>(tree: &'a Tree, path: &str) -> BTreeSet<&'a Bytes> {
    let path = format!("/etc/firelay/{path}");
    let machines = tree.machines.iter();
    machines.filter_map(|machine| machine.root.bytes(&path)).collect()
}

fn text(bytes: &Bytes) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Every private key in every file of a machine that signs nothing.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    if machine.is("control-plane") {
        return Vec::new();
    }
    let renews = machine.is("etcd") && machine.root.has(RENEWAL);
    let files = machine.root.files().filter(|(path, ..)| !(renews && *path == SIGNER));
    let files = files.filter_map(|(path, _, bytes)| Some((path, text(bytes)?)));
    files
        .filter(|(_, text)| text.contains(MARK))
        .flat_map(|(path, text)| one(machine, path, text, known))
        .collect()
}

fn one(machine: &Machine, path: &str, text: &str, known: &Known<'_>) -> Vec<Finding> {
    let keys = private_keys(text).into_iter();
    let theirs = keys.filter_map(|key| known.authorities.get(&key));
    theirs
        .map(|shown| {
            let message = format!("the private key of {shown}, on a machine that is no control plane");
            let help = "take it away, and make a new authority if anybody has seen the document";
            machine.error("FL1042", path, message).help(help)
        })
        .collect()
}
