//! Certificates of external etcd on a machine that begins or ends to renew them itself: only their dates change
//! (docs/adr/0028-etcd-signs-on-its-members.md).

use firelay_verify::Machine;
use x509_parser::{
    certificate::X509Certificate,
    pem::{Pem, parse_x509_pem},
};

use super::{
    Handler,
    handlers::{is_renewed_for_etcd, renewal_keys},
};

/// Parts of its time after which a certificate is not laid any more, if the one in use ends later: the timer of the machine has to look
/// before it ends.
const USED: (i64, i64) = (2, 3);

/// The handler of a certificate whose renewal by the machine begins or ends; `None` for other files.
pub fn handler(path: &str, old: &Machine, new: &Machine) -> Option<Handler> {
    let has = |machine: &Machine, key: &String| machine.root.entries.contains_key(key);
    let switches = renewal_keys().iter().any(|key| has(old, key) != has(new, key));
    let own = switches && is_renewed_for_etcd(path) && ends(path, old, new).is_some();
    own.then_some(Handler::Certificates)
}

/// The moment from which a new certificate that ends before the old one is not laid any more; `None` for other files.
pub fn last_moment(path: &str, old: &Machine, new: &Machine) -> Option<i64> {
    handler(path, old, new)?;
    let (begin, [before, after]) = ends(path, old, new)?;
    (after < before).then(|| begin + (after - begin) / USED.1 * USED.0)
}

/// The begin and the two ends of a certificate that differs in nothing but its end and its serial number.
fn ends(path: &str, old: &Machine, new: &Machine) -> Option<(i64, [i64; 2])> {
    let [old, new] = [block(old, path)?, block(new, path)?];
    let [old, new] = [old.parse_x509().ok()?, new.parse_x509().ok()?];
    let begin = new.validity().not_before.timestamp();
    let same = identity(&old) == identity(&new) && old.validity().not_before.timestamp() == begin;
    same.then(|| (begin, [&old, &new].map(|own| own.validity().not_after.timestamp())))
}

fn block(machine: &Machine, path: &str) -> Option<Pem> {
    let (_, block) = parse_x509_pem(machine.text(path)?.as_bytes()).ok()?;
    Some(block)
}

/// Issuer, subject, key and extensions.
fn identity(certificate: &X509Certificate<'_>) -> Vec<Vec<u8>> {
    let names = [
        certificate.issuer().as_raw(),
        certificate.subject().as_raw(),
        certificate.public_key().raw,
    ];
    let extensions = certificate.extensions().iter().map(|own| own.value);
    names.into_iter().chain(extensions).map(<[u8]>::to_vec).collect()
}
