//! Private keys: roots that are random, leaves that are derived, all of them signing the same bytes each time.

use aws_lc_rs::{
    agreement::{self, ECDH_P256},
    encoding::{AsDer, Pkcs8V1Der},
    rsa,
};
use firelay_base::p256::ec_private_key;
use p256::{
    FieldBytes, NistP256, Scalar, U256,
    elliptic_curve::{Curve, PrimeField, ops::Reduce},
    pkcs8::der::pem,
};
use p384::ecdsa::signature::Signer;
use rcgen::{KeyPair, PublicKeyData, RsaKeySize, SignatureAlgorithm};
use rfc6979::KGenerator;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{Error, Random};
use crate::{encoding::unbase64, secret::Secret, spec::Algorithm};

/// `ECPrivateKey` (RFC 5915 §3) on P-384 up to the scalar: SEQUENCE of 62 bytes, version 1, OCTET STRING of 48.
const P384_HEAD: [u8; 7] = [0x30, 0x3e, 0x02, 0x01, 0x01, 0x04, 0x30];
/// `[0]` with the OID secp384r1.
const P384_TAIL: [u8; 9] = [0xa0, 0x07, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];

/// PEM labels of private keys: SEC1, PKCS#8 and PKCS#1.
const LABELS: [&str; 3] = ["EC PRIVATE KEY", "PRIVATE KEY", "RSA PRIVATE KEY"];

/// An ECDSA (P-256, P-384) or RSA key. ECDSA signatures follow RFC 6979 and RSA ones PKCS#1 v1.5, so that the same
/// message always has the same signature.
pub struct PrivateKey {
    kind: Kind,
    public: Vec<u8>,
}

enum Kind {
    P256(p256::SecretKey),
    P384(p384::ecdsa::SigningKey),
    Rsa(KeyPair),
}

impl PrivateKey {
    /// Generates a random key. RSA keys use the randomness of the cryptographic library, ECDSA keys use `random`.
    pub fn generate(algorithm: Algorithm, random: &mut Random<'_>) -> Result<Self, Error> {
        match algorithm {
            Algorithm::EcdsaP256 => Self::generate_scalar::<32>(random, Self::p256),
            Algorithm::EcdsaP384 => Self::generate_scalar::<48>(random, Self::p384),
            Algorithm::Rsa2048 => Self::generate_rsa(RsaKeySize::_2048),
            Algorithm::Rsa3072 => Self::generate_rsa(RsaKeySize::_3072),
            Algorithm::Rsa4096 => Self::generate_rsa(RsaKeySize::_4096),
        }
    }

    fn generate_scalar<const SIZE: usize>(
        random: &mut Random<'_>,
        take: fn(&[u8; SIZE]) -> Option<Self>,
    ) -> Result<Self, Error> {
        let mut scalar = Zeroizing::new([0; SIZE]);
        loop {
            random(scalar.as_mut_slice()).map_err(Error::Random)?;
            if let Some(key) = take(&scalar) {
                return Ok(key);
            }
        }
    }

    fn generate_rsa(size: RsaKeySize) -> Result<Self, Error> {
        KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size)
            .map(Self::rsa)
            .map_err(Error::Generate)
    }

    /// The P-256 key of a big-endian scalar; `None` if it is zero or not below the group's order.
    pub fn p256(scalar: &[u8; 32]) -> Option<Self> {
        p256::SecretKey::from_slice(scalar).ok().and_then(Self::from_p256)
    }

    /// Whether there is such a key; much faster than making it.
    pub fn is_p256(scalar: &[u8; 32]) -> bool {
        p256::SecretKey::from_slice(scalar).is_ok()
    }

    fn p384(scalar: &[u8; 48]) -> Option<Self> {
        p384::ecdsa::SigningKey::from_slice(scalar).ok().map(Self::from_p384)
    }

    fn from_p256(key: p256::SecretKey) -> Option<Self> {
        Some(Self {
            public: p256_point(&Zeroizing::new(key.to_bytes()))?,
            kind: Kind::P256(key),
        })
    }

    fn from_p384(key: p384::ecdsa::SigningKey) -> Self {
        let public = key.verifying_key().to_sec1_point(false).as_bytes().to_vec();
        Self {
            kind: Kind::P384(key),
            public,
        }
    }

    /// rcgen keeps the bytes that it read, and those of PKCS#1 are no PKCS#8.
    fn rsa_in_pkcs8(key: &KeyPair) -> Option<Self> {
        let der = Zeroizing::new(key.serialize_der());
        let read = rsa::KeyPair::from_pkcs8(&der).or_else(|_| rsa::KeyPair::from_der(&der));
        let der: Pkcs8V1Der<'_> = read.ok()?.as_der().ok()?;
        KeyPair::try_from(der.as_ref()).ok().map(Self::rsa)
    }

    fn rsa(key: KeyPair) -> Self {
        let public = key.der_bytes().to_vec();
        Self {
            kind: Kind::Rsa(key),
            public,
        }
    }

    /// The spec's name of the algorithm; `None` for an RSA key of another size.
    pub fn kind(&self) -> Option<Algorithm> {
        // Bytes of an RSAPublicKey (RFC 8017 appendix A.1.1) with the exponent 65537.
        let sizes = [
            (270, Algorithm::Rsa2048),
            (398, Algorithm::Rsa3072),
            (526, Algorithm::Rsa4096),
        ];
        match &self.kind {
            Kind::P256(_) => Some(Algorithm::EcdsaP256),
            Kind::P384(_) => Some(Algorithm::EcdsaP384),
            Kind::Rsa(_) => sizes
                .into_iter()
                .find(|(size, _)| *size == self.public.len())
                .map(|(_, name)| name),
        }
    }

    /// Parses the first private key of a PEM text: SEC1 with or without public key, PKCS#8 or PKCS#1. `None` if there
    /// is none, or one of another kind.
    pub fn from_pem(text: &str) -> Option<Self> {
        let block = private_key_block(text)?;
        let block = block.as_str();
        if let Ok(key) = p256::SecretKey::from_pem(block) {
            return Self::from_p256(key);
        }
        if let Ok(key) = p384::SecretKey::from_pem(block) {
            return Some(Self::from_p384(key.into()));
        }
        let key = KeyPair::from_pem(block).ok()?;
        let is_rsa = key.algorithm() == &rcgen::PKCS_RSA_SHA256;
        is_rsa.then(|| Self::rsa_in_pkcs8(&key)).flatten()
    }

    /// PEM of the key: SEC1 without public key for ECDSA, PKCS#8 for RSA.
    pub fn to_pem(&self) -> Secret<String> {
        let (label, der) = match &self.kind {
            Kind::P256(key) => (LABELS[0], ec_private_key(&key.to_bytes())),
            Kind::P384(key) => (LABELS[0], sec1(&P384_HEAD, &key.to_bytes(), &P384_TAIL)),
            Kind::Rsa(key) => (LABELS[1], Zeroizing::new(key.serialize_der())),
        };
        Secret::new(to_pem(label, &der))
    }

    /// PEM of the public key, `PUBLIC KEY` (RFC 5280 SubjectPublicKeyInfo).
    pub fn public_pem(&self) -> String {
        to_pem("PUBLIC KEY", &self.subject_public_key_info())
    }
}

impl PublicKeyData for PrivateKey {
    fn der_bytes(&self) -> &[u8] {
        &self.public
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        match &self.kind {
            Kind::P256(_) => &rcgen::PKCS_ECDSA_P256_SHA256,
            Kind::P384(_) => &rcgen::PKCS_ECDSA_P384_SHA384,
            Kind::Rsa(_) => &rcgen::PKCS_RSA_SHA256,
        }
    }
}

impl rcgen::SigningKey for PrivateKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        match &self.kind {
            Kind::P256(key) => {
                let signature = sign_p256(key, &Sha256::digest(message)).ok_or_else(unsigned)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Kind::P384(key) => {
                let signature: p384::ecdsa::DerSignature = key.try_sign(message).map_err(|_| unsigned())?;
                Ok(signature.as_bytes().to_vec())
            }
            Kind::Rsa(key) => key.sign(message),
        }
    }
}

/// The uncompressed point of a scalar. aws-lc computes it several times as fast as p256.
fn p256_point(scalar: &[u8]) -> Option<Vec<u8>> {
    let twin = agreement::PrivateKey::from_private_key(&ECDH_P256, scalar).ok()?;
    Some(twin.compute_public_key().ok()?.as_ref().to_vec())
}

/// The signature of a digest (FIPS 186-5 §6.4.1) with the nonce of RFC 6979. `None` where it would have a zero: never in practice.
fn sign_p256(key: &p256::SecretKey, digest: &[u8]) -> Option<p256::ecdsa::Signature> {
    let mut nonce = Zeroizing::new(FieldBytes::default());
    let mut blind = Zeroizing::new(FieldBytes::default());
    let secret = Zeroizing::new(key.to_bytes());
    let mut nonces = KGenerator::<Sha256, U256>::new(&secret, digest, &[], &NistP256::ORDER);
    nonces.fill_next_k(&mut nonce);
    nonces.fill_next_k(&mut blind);
    let point = p256_point(&nonce)?;
    let number = |bytes: &[u8]| <Scalar as Reduce<U256>>::reduce(&U256::from_be_slice(bytes));
    let (x, e) = (number(point.get(1..33)?), number(digest));
    let s = blinded_inverse(&nonce, &blind)? * (e + x * *key.to_nonzero_scalar());
    p256::ecdsa::Signature::from_scalars(x, s).ok()
}

/// The inverse of a secret scalar. The time depends only on the product with another secret scalar. In constant time, it takes three times
/// as long.
fn blinded_inverse(scalar: &FieldBytes, blind: &FieldBytes) -> Option<Scalar> {
    let read = |bytes: &FieldBytes| Option::<Scalar>::from(Scalar::from_repr(*bytes));
    let blind = read(blind)?;
    let inverse: Option<Scalar> = (read(scalar)? * blind).invert_vartime().into();
    Some(inverse? * blind)
}

fn unsigned() -> rcgen::Error {
    rcgen::Error::RemoteKeyError
}

fn sec1(head: &[u8], scalar: &[u8], tail: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new([head, scalar, tail].concat())
}

/// PEM (RFC 7468) with lines of 64 characters and LF on every platform.
pub fn to_pem(label: &str, der: &[u8]) -> String {
    pem::encode_string(label, pem::LineEnding::LF, der).expect("the labels are constants and the length fits")
}

/// The first block with a private key, in lines of 64 characters; OpenSSL writes `EC PARAMETERS` before it. Documents have the key on one line,
/// which OpenSSL and Go read (RFC 7468 section 2 leaves it to the parser), and the parser here does not.
fn private_key_block(text: &str) -> Option<Zeroizing<String>> {
    let begin = |label: &'static str| Some((text.find(&format!("-----BEGIN {label}-----"))?, label));
    let (start, label) = LABELS.into_iter().filter_map(begin).min()?;
    let (_, rest) = text[start..].split_once('\n')?;
    let (body, _) = rest.split_once("-----END ")?;
    let body: Zeroizing<String> = Zeroizing::new(body.split_whitespace().collect());
    let der = Zeroizing::new(unbase64(body.as_str()).ok()?);
    Some(Zeroizing::new(to_pem(label, &der)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rcgen::SigningKey;

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        crate::encoding::unhex(text).unwrap()
    }

    /// The DER of an ECDSA signature whose r and s both have their top bit set.
    fn signature(r: &str, s: &str) -> Vec<u8> {
        let integer = |value: &str| [&[0x02, u8::try_from(value.len() / 2 + 1).unwrap(), 0][..], &hex(value)].concat();
        let body = [integer(r), integer(s)].concat();
        [&[0x30, u8::try_from(body.len()).unwrap()][..], &body].concat()
    }

    #[test]
    fn signs_as_rfc_6979_a_2_5_says() {
        let scalar = hex("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721");
        let key = PrivateKey::p256(scalar.as_slice().try_into().unwrap()).unwrap();
        let expected = signature(
            "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
            "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
        );
        assert_eq!(key.sign(b"sample").unwrap(), expected);
    }

    /// Some numbers begin with zeros, and some digests are above the order.
    #[test]
    fn signs_as_p256_does() {
        for at in 1..=1000_u32 {
            let scalar = Sha256::digest(at.to_be_bytes());
            let key = p256::SecretKey::from_slice(&scalar).unwrap();
            let signer = p256::ecdsa::SigningKey::from(&key);
            let expected: p256::ecdsa::Signature = signer.sign(&scalar);
            let own = PrivateKey::from_p256(key).unwrap().sign(&scalar).unwrap();
            assert_eq!(own, expected.to_der().as_bytes(), "{at}");
        }
    }

    #[test]
    fn signs_as_rfc_6979_a_2_6_says() {
        let scalar = hex(concat!(
            "6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA",
            "9AA47740787137D896D5724E4C70A825F872C9EA60D2EDF5"
        ));
        let key = PrivateKey::p384(scalar.as_slice().try_into().unwrap()).unwrap();
        let (r, s) = (
            "94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C81A648152E44ACF96E36DD1E80FABE46",
            "99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94FA329C145786E679E7B82C71A38628AC8",
        );
        assert_eq!(key.sign(b"sample").unwrap(), signature(r, s));
    }

    #[test]
    fn refuses_scalars_outside_the_group() {
        let order = hex("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551");
        assert!(PrivateKey::p256(&[0; 32]).is_none());
        assert!(PrivateKey::p256(order.as_slice().try_into().unwrap()).is_none());
    }

    #[test]
    fn draws_again_until_the_scalar_is_in_the_group() {
        let mut draws = 0;
        let mut random = |bytes: &mut [u8]| {
            draws += 1;
            bytes.fill(if draws < 3 { 0xff } else { 7 });
            Ok(())
        };
        let key = PrivateKey::generate(Algorithm::EcdsaP256, &mut random).unwrap();
        assert_eq!(
            key.to_pem().expose(),
            PrivateKey::p256(&[7; 32]).unwrap().to_pem().expose()
        );
        assert_eq!(draws, 3);
    }

    #[test]
    fn short_sec1_reads_back() {
        for key in [PrivateKey::p256(&[7; 32]).unwrap(), PrivateKey::p384(&[7; 48]).unwrap()] {
            let again = PrivateKey::from_pem(key.to_pem().expose()).unwrap();
            assert_eq!(again.der_bytes(), key.der_bytes());
            assert_eq!(again.to_pem().expose(), key.to_pem().expose());
        }
    }

    #[test]
    fn reads_pkcs8_and_blocks_before_the_key() {
        use p256::pkcs8::EncodePrivateKey;
        let secret = p256::SecretKey::from_slice(&[7; 32]).unwrap();
        let expected = PrivateKey::p256(&[7; 32]).unwrap().to_pem();
        let pkcs8 = secret.to_pkcs8_pem(pem::LineEnding::LF).unwrap();
        let sec1 = secret.to_sec1_pem(pem::LineEnding::LF).unwrap();
        let parameters = format!("{}{}", to_pem("EC PARAMETERS", &[6, 1, 1]), sec1.as_str());
        let lines: Vec<_> = sec1.lines().collect();
        let on_one_line = format!(
            "{}\n{}\n{}\n",
            lines[0],
            lines[1..lines.len() - 1].concat(),
            lines[lines.len() - 1]
        );
        let windows = sec1.replace('\n', "\r\n");
        for text in [pkcs8.as_str(), sec1.as_str(), &parameters, &on_one_line, &windows] {
            assert_eq!(PrivateKey::from_pem(text).unwrap().to_pem().expose(), expected.expose());
        }
        assert!(PrivateKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").is_none());
        assert!(PrivateKey::from_pem("").is_none());
    }
}
