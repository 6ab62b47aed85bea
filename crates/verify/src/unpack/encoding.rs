//! How bytes are wrapped: gzip, base64, `data:` URLs, MIME.

use std::io::Read;

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use firelay_base::shared_end::{Halves, SharedEnds};
use flate2::read::MultiGzDecoder;
use percent_encoding::percent_decode_str;

/// The maximum decoded size: far larger than any document, far smaller than a machine's memory.
const MOST: u64 = 64 << 20;

/// No reader of these documents checks the padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Undoes gzip (RFC 1952).
pub(super) fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(MOST + 1).read_to_end(&mut plain);
    match read {
        Err(_) => Err("not gzip, or cut short".to_owned()),
        Ok(_) if plain.len() as u64 > MOST => Err(format!("more than {MOST} bytes come out of gzip")),
        Ok(_) => Ok(plain),
    }
}

/// The same for a stream whose end is known; `None` if it is to be read as a whole.
pub(super) fn gunzip_sharing(bytes: &[u8], ends: &SharedEnds) -> Option<Halves> {
    ends.gunzip(bytes, usize::try_from(MOST).ok()?)
}

/// Whether it has gzip's magic number.
pub(super) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Undoes base64 (RFC 4648 §4), over any number of lines.
pub(crate) fn base64(text: &[u8]) -> Result<Vec<u8>, String> {
    // Most documents have it on one line.
    if let Ok(bytes) = LENIENT.decode(text) {
        return Ok(bytes);
    }
    let dense: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    LENIENT.decode(dense).map_err(|_| "not base64".to_owned())
}

/// The bytes of a `data:` URL (RFC 2397).
pub(super) fn data_url(url: &str) -> Result<Vec<u8>, String> {
    let (kind, data) = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(','))
        .ok_or("not a data: URL")?;
    let bytes = percent_decoded(data)?;
    if kind.ends_with(";base64") {
        base64(&bytes)
    } else {
        Ok(bytes)
    }
}

fn percent_decoded(text: &str) -> Result<Vec<u8>, String> {
    let whole = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if text.split('%').skip(1).all(whole) {
        Ok(percent_decode_str(text).collect())
    } else {
        Err("a data: URL with a broken escape".to_owned())
    }
}

/// The body of a MIME message of one part (RFC 2045), decoded.
pub(super) fn mime(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "a MIME message that is not text")?;
    let (head, body) = text.split_once("\n\n").ok_or("a MIME message without a body")?;
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name)
                .then(|| value.trim().to_ascii_lowercase())
        })
    };
    if header("Content-Type").is_some_and(|kind| kind.starts_with("multipart/")) {
        return Err("a MIME message of several parts, which firelay does not write".to_owned());
    }
    match header("Content-Transfer-Encoding").as_deref() {
        Some("base64") => base64(body.as_bytes()),
        None | Some("7bit" | "8bit" | "binary") => Ok(body.as_bytes().to_vec()),
        Some(other) => Err(format!(
            "a MIME message in the encoding {other:?}, which firelay does not write"
        )),
    }
}

/// Whether it starts like a MIME message (cloud-init's user_data.convert_string searches the first 4 KiB).
pub(super) fn is_mime(bytes: &[u8]) -> bool {
    const MARK: &[u8] = b"mime-version:";
    let head = &bytes[..bytes.len().min(4096)];
    head.windows(MARK.len()).any(|window| window.eq_ignore_ascii_case(MARK))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn data_urls_are_percent_encoded_or_base64() {
        assert_eq!(data_url("data:,a%20b").unwrap(), b"a b");
        assert_eq!(data_url("data:;base64,YSBi").unwrap(), b"a b");
        assert_eq!(data_url("data:text/plain;base64,YSBi").unwrap(), b"a b");
        for broken in ["data:", "http://a", "data:,%2", "data:,%zz", "data:;base64,*"] {
            data_url(broken).unwrap_err();
        }
    }

    #[test]
    fn a_message_of_one_part_has_a_body() {
        let message =
            b"Content-Type: application/gzip\nMIME-Version: 1.0\ncontent-transfer-encoding: Base64\n\nYS\nBi\n";
        assert!(is_mime(message));
        assert_eq!(mime(message).unwrap(), b"a b");
        mime(b"Content-Type: multipart/mixed; boundary=a\nMIME-Version: 1.0\n\n--a--\n").unwrap_err();
    }
}
