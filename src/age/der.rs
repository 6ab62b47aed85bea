//! The part of DER (X.690) that RSA keys need: integers, sequences, and the identifier of RSA.

use zeroize::Zeroizing;

/// `rsaEncryption` with its NULL (RFC 8017 appendix A.1).
const RSA: [u8; 15] = [
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

fn item(tag: u8, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let content = Zeroizing::new(parts.concat());
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let head = match length {
        [] => vec![tag, 0],
        [short @ 0..=0x7f] => vec![tag, *short],
        _ => [&[tag, length.iter().fold(0x80, |count, _| count + 1)], length].concat(),
    };
    Zeroizing::new([head.as_slice(), &content].concat())
}

/// A number that is not negative, big-endian.
fn integer(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = &bytes[zeros.min(bytes.len().saturating_sub(1))..];
    let sign: &[u8] = if bytes.first().is_none_or(|first| first & 0x80 != 0) {
        &[0]
    } else {
        &[]
    };
    item(INTEGER, &[sign, bytes])
}

fn integers(numbers: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let numbers: Vec<_> = numbers.iter().map(|number| integer(number)).collect();
    let parts: Vec<&[u8]> = numbers.iter().map(|number| number.as_slice()).collect();
    item(SEQUENCE, &parts)
}

/// SubjectPublicKeyInfo of an RSA key (RFC 5280 §4.1.2.7).
pub(super) fn rsa_public(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let key = integers(&[modulus, exponent]);
    item(SEQUENCE, &[&RSA, &item(BIT_STRING, &[&[0], &key])]).to_vec()
}

/// RSAPrivateKey (RFC 8017 appendix A.1.2) of its eight numbers, in that order.
pub(super) fn rsa_private(numbers: [&[u8]; 8]) -> Zeroizing<Vec<u8>> {
    let version: &[u8] = &[0];
    integers(&[&[version], &numbers[..]].concat())
}

/// PrivateKeyInfo (RFC 5208) around an RSAPrivateKey.
pub(super) fn pkcs8(rsa: &[u8]) -> Zeroizing<Vec<u8>> {
    item(SEQUENCE, &[&integer(&[0]), &RSA, &item(OCTET_STRING, &[rsa])])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lengths_are_shortest() {
        assert_eq!(*integer(&[0, 0, 0x7f]), [2, 1, 0x7f]);
        assert_eq!(*integer(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(*integer(&[0]), [2, 1, 0]);
        assert_eq!(item(SEQUENCE, &[&[0; 0x7f]])[..2], [0x30, 0x7f]);
        assert_eq!(item(SEQUENCE, &[&[0; 0x80]])[..3], [0x30, 0x81, 0x80]);
        assert_eq!(item(SEQUENCE, &[&[0; 0x100]])[..4], [0x30, 0x82, 1, 0]);
    }
}
