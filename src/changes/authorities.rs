//! Changes of CAs: a running machine takes a step of a rotation, which has a CA in common with the step before, and nothing else.

use std::collections::BTreeSet;

use firelay_verify::Machine;
use x509_parser::pem::Pem;

use super::Handler;

/// Certificates of CAs, each with the file of its key.
const AUTHORITIES: [(&str, &str); 4] = [
    ("/etc/firelay/pki/ca.crt", "/etc/firelay/pki/ca.key"),
    (
        "/etc/firelay/pki/front-proxy-ca.crt",
        "/etc/firelay/pki/front-proxy-ca.key",
    ),
    ("/etc/firelay/pki/etcd/ca.crt", "/etc/firelay/pki/etcd/ca.key"),
    ("/etc/firelay/etcd/ca.crt", "/etc/firelay/etcd/ca.key"),
];
/// The certificate of the CA that signs requests, which a machine gets with the first rotation.
pub const SIGNING: &str = "/etc/firelay/pki/ca-signing.crt";
/// The kubelet's certificate in a document. Without it the kubelet has one of the cluster.
const KUBELET: &str = "/etc/firelay/kubelet/client.pem";

/// The handler of a changed file of a CA; `None` for other files.
pub fn handler(path: &str, old: &Machine, new: &Machine) -> Option<Handler> {
    if path == SIGNING {
        return Some(Handler::Certificates);
    }
    let (certificate, _) = AUTHORITIES.iter().find(|(crt, key)| [*crt, *key].contains(&path))?;
    let (before, after) = (authorities(old, certificate), authorities(new, certificate));
    let known: BTreeSet<_> = before.iter().collect();
    let overlaps = after.iter().any(|own| known.contains(own));
    let has = |path: &str| new.root.entries.contains_key(path);
    // No script asks the cluster for another certificate of the kubelet.
    let bootstraps = certificate == &AUTHORITIES[0].0 && before.first() != after.first() && !has(KUBELET);
    Some(match overlaps && !bootstraps {
        true => Handler::Certificates,
        false => Handler::Replace,
    })
}

/// Whether a file is of a CA.
pub fn is_one(path: &str) -> bool {
    AUTHORITIES.iter().any(|(crt, key)| [*crt, *key].contains(&path)) || path == SIGNING
}

/// Whether another CA signs the certificates of a machine than before.
pub fn signs_anew(old: &Machine, new: &Machine) -> bool {
    let first = |machine: &Machine, path: &str| authorities(machine, path).into_iter().next();
    AUTHORITIES.iter().any(|(path, _)| first(old, path) != first(new, path))
}

/// The certificates of a file, as DER.
fn authorities(machine: &Machine, path: &str) -> Vec<Vec<u8>> {
    let text = machine.text(path).unwrap_or_default();
    let blocks = Pem::iter_from_buffer(text.as_bytes()).flatten();
    blocks.map(|block| block.contents).collect()
}
