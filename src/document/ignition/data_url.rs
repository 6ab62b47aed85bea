use std::fmt::Write;

use crate::document::{base64, base64_len};

/// A `data:` URL (RFC 2397), percent-encoded or base64, whichever is shorter.
pub(super) fn data_url(content: &str) -> String {
    let escapes = content.bytes().filter(|byte| !is_url_data(*byte)).count();
    if content.len() + 2 * escapes <= ";base64".len() + base64_len(content.len()) {
        percent_encoded(content)
    } else {
        format!("data:;base64,{}", base64(content.as_bytes()))
    }
}

fn percent_encoded(content: &str) -> String {
    let mut url = String::from("data:,");
    for byte in content.bytes() {
        if is_url_data(byte) {
            url.push(byte.into());
        } else {
            write!(url, "%{byte:02X}").expect("writing to memory does not fail");
        }
    }
    url
}

/// Bytes that stand for themselves: RFC 3986's `pchar` and `/`, less the percent sign and the apostrophe. Ignition's reader
/// refuses all others of ASCII but `?`, which would start a query.
fn is_url_data(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&()*+,/:;=@".contains(&byte)
}
