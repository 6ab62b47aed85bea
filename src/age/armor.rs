//! The text form: strict PEM (RFC 7468) of one label (age.md, "ASCII armor").

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};

use super::Error;

pub(super) const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";
/// Characters of a line.
const COLUMNS: usize = 64;

pub(super) fn write(sealed: &[u8]) -> String {
    let encoded = STANDARD.encode(sealed);
    let mut text = format!("{BEGIN}\n");
    for line in encoded.as_bytes().chunks(COLUMNS) {
        text.extend(line.iter().copied().map(char::from));
        text.push('\n');
    }
    text + END + "\n"
}

/// The bytes of an armored file; others as they are.
pub(super) fn read(sealed: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    let trimmed = sealed.trim_ascii();
    if !trimmed.starts_with(BEGIN.as_bytes()) {
        return Ok(Cow::Borrowed(sealed));
    }
    let inner = trimmed[BEGIN.len()..].strip_suffix(END.as_bytes());
    let inner = inner.ok_or(Error::Damaged("its last line is missing"))?;
    let packed: Vec<u8> = inner.iter().copied().filter(|byte| !b"\r\n".contains(byte)).collect();
    let bytes = STANDARD.decode(packed);
    bytes
        .map(Cow::Owned)
        .map_err(|_| Error::Damaged("its text is not base64"))
}
