//! No bytes make the parser of HTTP requests panic, and no accepted path points outside a directory.
#![no_main]

use firelay_serve::{MOST_BYTES, Parsed, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
    let Parsed::Whole(request) = parse(bytes) else {
        return;
    };
    for name in request.segments.iter().flatten() {
        assert!(!name.is_empty() && name != "." && name != "..", "{name:?}");
        assert!(!name.contains(['/', '\\', '\0', '\n']), "{name:?}");
    }
});
