//! No bytes in a document or the manifest make `verify` or `audit` panic, hang or exhaust memory.
#![no_main]

use std::{io, path::Path};

use firelay_audit::{Catalogue, Contents};
use firelay_verify::{Tree, check};
use libfuzzer_sys::fuzz_target;
use time::OffsetDateTime;

const CLOUD_INIT: &str = "nodes/cp1/user-data";
const IGNITION: &str = "nodes/cp1/config.ign";

/// A manifest with one document.
fn manifest(path: &str) -> String {
    format!(
        r#"{{"apiVersion":"firelay.dev/v1alpha1","kind":"Manifest","cluster":"c","kubernetesVersion":"1.36.4","files":[{{"path":"{path}","node":"cp1","roles":["control-plane"],"platform":"nocloud","attribute":"user-data","rung":"plain","encoding":"plain","bytes":1,"counted":1,"sha256":"00"}}]}}"#
    )
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, document)) = bytes.split_first() else { return };
    let manifest = match first {
        b'c' => manifest(CLOUD_INIT).into_bytes(),
        b'i' => manifest(IGNITION).into_bytes(),
        _ => document.to_vec(),
    };
    Contents::read(&Catalogue::new(Vec::new()), document);
    let fetch = |_: &str| -> io::Result<Vec<u8>> { Ok(document.to_vec()) };
    if let Ok(tree) = Tree::read(&manifest, &fetch, Path::new("out")) {
        check(&tree, OffsetDateTime::UNIX_EPOCH);
    }
});
