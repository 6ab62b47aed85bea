use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::encoding::{base64, base64_len};

/// All characters to escape: everything but RFC 3986's `pchar` and `/`, and also the percent sign and the apostrophe.
/// Ignition's parser refuses all other ASCII characters except `?`, which would start a query.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// A `data:` URL (RFC 2397), percent-encoded or base64, whichever is shorter.
pub(super) fn data_url(content: &str) -> String {
    let escaped = utf8_percent_encode(content, ESCAPED).to_string();
    if escaped.len() <= ";base64".len() + base64_len(content.len()) {
        format!("data:,{escaped}")
    } else {
        format!("data:;base64,{}", base64(content.as_bytes()))
    }
}
