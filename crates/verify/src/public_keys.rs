//! Certificates that lack their public keys in the document, and that the step `public-keys` completes on the machine.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{Root, What, certificate::public_bits, unpack::base64};

/// The step without which the certificates stay as they are.
const STEP: &str = "/steps/11-public-keys";

/// The directories of the step's certificates.
const DIRECTORIES: [&str; 4] = [
    "/etc/firelay/pki",
    "/etc/firelay/pki/etcd",
    "/etc/firelay/kubeconfig",
    "/etc/firelay/kubelet",
];

/// Completes the certificates as the step does. One whose key is absent or unreadable stays as it is: another check reports it.
pub(super) fn complete(root: &mut Root) {
    if !root.entries.keys().any(|path| path.ends_with(STEP)) {
        return;
    }
    let completed: Vec<_> = root.entries.keys().filter_map(|path| whole(root, path)).collect();
    for (path, text) in completed {
        if let Some(entry) = root.entries.get_mut(&path) {
            entry.what = What::File(text.into_bytes().into());
        }
    }
}

/// The path and the whole text of a certificate that lacks its public key.
fn whole(root: &Root, path: &str) -> Option<(String, String)> {
    let stem = path.strip_suffix(".crt")?;
    let (directory, _) = stem.rsplit_once('/')?;
    DIRECTORIES.contains(&directory).then_some(())?;
    let lines: Vec<_> = root.text(path)?.lines().collect();
    let [begin, before, after, end] = lines.as_slice() else {
        return None;
    };
    let point = public_bits(root.text(&format!("{stem}.key"))?).ok()?;
    let decoded = |line: &str| base64(line.as_bytes()).ok();
    let der = [decoded(before)?.as_slice(), point.get(1..)?, &decoded(after)?].concat();
    let text = format!("{begin}\n{}\n{end}\n", STANDARD.encode(der));
    Some((path.to_owned(), text))
}
