//! No file makes the bundle parser panic. An accepted file is written back as the same bundle; the error of a refused
//! one shows none of its content.
#![no_main]

use firelay::secrets::Bundle;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(bundle) = Bundle::parse("firelay.secrets.yaml", text) else {
        return;
    };
    let written = bundle.to_yaml().expect("a bundle that was read can be written");
    let again = Bundle::parse("firelay.secrets.yaml", written.expose()).expect("what was written can be read");
    assert_eq!(bundle.fingerprint(), again.fingerprint());
});
