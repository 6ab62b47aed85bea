//! No file makes firelay panic when it is read as a bundle; what is taken is written back as the same bundle, and what is not
//! is refused without a word of it.
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
