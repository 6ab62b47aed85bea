//! Certificates without their public keys, for a document that has no room for them
//! (docs/adr/0034-public-keys-are-computed.md).

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{NodeFile, Text};
use crate::encoding::base64;

/// The end of the algorithm and the begin of the key in the `SubjectPublicKeyInfo` of P-256 (RFC 5480 section 2): the curve's OID, a bit
/// string of 66 bytes, and the sign of an uncompressed point.
const BEFORE_POINT: [u8; 14] = [
    0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
];

/// Bytes of the two coordinates of a point of P-256.
const POINT: usize = 64;

/// Replaces each certificate that has its private key beside it: the base64 of the bytes before the coordinates of its public key, and
/// that of the bytes behind them, on two lines. The step `public-keys` computes the coordinates.
pub(super) fn leave_out(files: &mut [NodeFile]) {
    let shortened: Vec<_> = files.iter().map(|file| shortened(file, files)).collect();
    for (file, content) in files.iter_mut().zip(shortened) {
        file.content = content.unwrap_or_else(|| file.content.clone());
    }
}

fn shortened(file: &NodeFile, files: &[NodeFile]) -> Option<Text> {
    let key = format!("{}.key", file.path.strip_suffix(".crt")?);
    files.iter().any(|file| file.path == key).then_some(())?;
    let lines: Vec<_> = file.content.lines().collect();
    let [begin, block, end] = lines.as_slice() else {
        return None;
    };
    let der = STANDARD.decode(block).ok()?;
    let marker = der
        .windows(BEFORE_POINT.len())
        .position(|bytes| bytes == BEFORE_POINT)?;
    let (before, rest) = der.split_at(marker + BEFORE_POINT.len());
    let after = rest.get(POINT..)?;
    Some(format!("{begin}\n{}\n{}\n{end}\n", base64(before), base64(after)).into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn file(path: &str, der: &[u8]) -> NodeFile {
        let text = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            base64(der)
        );
        NodeFile::new(path, 0o644, text)
    }

    fn certificate() -> Vec<u8> {
        [b"before".as_slice(), &BEFORE_POINT, &[7; POINT], b"after"].concat()
    }

    #[test]
    fn a_certificate_with_its_key_loses_the_point() {
        let mut files = [file("/a.crt", &certificate()), NodeFile::new("/a.key", 0o600, "key")];
        leave_out(&mut files);
        let lines: Vec<_> = files[0].content.lines().collect();
        assert_eq!(lines.len(), 4);
        let decoded = |line: &str| STANDARD.decode(line).unwrap();
        assert_eq!(decoded(lines[1]), [b"before".as_slice(), &BEFORE_POINT].concat());
        assert_eq!(decoded(lines[2]), b"after");
    }

    #[test]
    fn others_stay_whole() {
        let chain = format!("{0}{0}", file("", &certificate()).content);
        let mut files = vec![
            file("/alone.crt", &certificate()),
            file("/rsa.crt", b"another algorithm"),
            NodeFile::new("/rsa.key", 0o600, "key"),
            NodeFile::new("/chain.crt", 0o644, chain),
            NodeFile::new("/chain.key", 0o600, "key"),
        ];
        let whole = files.clone();
        leave_out(&mut files);
        assert_eq!(files, whole);
    }
}
