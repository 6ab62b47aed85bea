//! SSH keys as recipients and identities (age's `agessh`; OpenSSH's PROTOCOL.key): Ed25519 and RSA, without a passphrase.

use aws_lc_rs::rsa::{
    OAEP_SHA256_MGF1SHA256, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use p256::elliptic_curve::bigint::{NonZero, U256, U4096, const_monty_params, modular::ConstMontyForm};
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroizing;

use super::{
    der,
    format::{self, FileKey, Stanza},
    x25519,
};

pub(super) const ED25519: &str = "ssh-ed25519";
pub(super) const RSA: &str = "ssh-rsa";
const ED25519_INFO: &[u8] = b"age-encryption.org/v1/ssh-ed25519";
const RSA_LABEL: &[u8] = b"age-encryption.org/v1/ssh-rsa";
/// Bytes of the smallest and the largest modulus: 2048 and 4096 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=512;

const_monty_params!(
    Field,
    U256,
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed",
    "The field of Curve25519."
);
type Element = ConstMontyForm<Field, { U256::LIMBS }>;

#[derive(Clone, Debug)]
pub(super) struct Public {
    /// The key in SSH's wire format.
    wire: Vec<u8>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// The same key on the other form of the curve.
    Ed25519([u8; 32]),
    Rsa(Vec<u8>),
}

#[derive(Clone)]
pub(super) struct Private {
    public: Public,
    /// Scalar of X25519, or PKCS#8.
    secret: Zeroizing<Vec<u8>>,
}

impl Public {
    /// Parses the second word of `authorized_keys`.
    pub(super) fn parse(base64: &str) -> Result<Self, &'static str> {
        let wire = STANDARD.decode(base64).map_err(|_| "its second word is not base64")?;
        Self::of(&wire)
    }

    fn of(wire: &[u8]) -> Result<Self, &'static str> {
        const BROKEN: &str = "its second word is not an SSH key";
        let mut rest = Wire(wire);
        let kind = match rest.string() {
            Some(name) if name == ED25519.as_bytes() => {
                let point = rest.string().and_then(|key| key.try_into().ok()).ok_or(BROKEN)?;
                Kind::Ed25519(montgomery(point).ok_or(BROKEN)?)
            }
            Some(name) if name == RSA.as_bytes() => {
                let (exponent, modulus) = rest.number().zip(rest.number()).ok_or(BROKEN)?;
                if !MODULUS.contains(&modulus.len()) {
                    return Err("an RSA key has to have 2048 to 4096 bits");
                }
                Kind::Rsa(der::rsa_public(modulus, exponent))
            }
            _ => return Err("its kind is neither ssh-ed25519 nor ssh-rsa"),
        };
        let wire = wire.to_vec();
        if rest.0.is_empty() {
            Ok(Self { wire, kind })
        } else {
            Err(BROKEN)
        }
    }

    /// The tag with which an identity recognizes its stanza.
    fn tag(&self) -> String {
        STANDARD_NO_PAD.encode(&Sha256::digest(&self.wire)[..4])
    }

    /// Makes what two keys agree on a matter of this very SSH key.
    fn tweaked(&self, shared: &[u8; 32]) -> Option<Zeroizing<[u8; 32]>> {
        x25519::agreed(&format::derived(&[], &self.wire, ED25519_INFO), shared)
    }

    pub(super) fn wrap(&self, file_key: &FileKey, ephemeral: &[u8; 32]) -> Option<Stanza> {
        match &self.kind {
            Kind::Ed25519(recipient) => {
                let share = x25519::public(ephemeral);
                let shared = self.tweaked(&*x25519::agreed(ephemeral, recipient)?)?;
                let key = x25519::key(shared.as_slice(), &share, recipient, ED25519_INFO);
                let arguments = [ED25519, &self.tag(), &STANDARD_NO_PAD.encode(share)];
                Some(Stanza::new(&arguments, format::wrapped(&key, file_key)))
            }
            Kind::Rsa(info) => {
                let key = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(info).ok()?).ok()?;
                let mut body = vec![0; key.ciphertext_size()];
                let written = key.encrypt(&OAEP_SHA256_MGF1SHA256, file_key.as_slice(), &mut body, Some(RSA_LABEL));
                let length = written.ok()?.len();
                body.truncate(length);
                Some(Stanza::new(&[RSA, &self.tag()], body))
            }
        }
    }
}

impl Private {
    pub(super) fn unwrap(&self, stanza: &Stanza) -> Option<FileKey> {
        if stanza.argument(1)? != self.public.tag() {
            return None;
        }
        match (&self.public.kind, stanza.kind()) {
            (Kind::Ed25519(own), ED25519) => {
                let share = stanza.share(2)?;
                let scalar = self.secret.as_slice().try_into().ok()?;
                let shared = self.public.tweaked(&*x25519::agreed(scalar, &share)?)?;
                let key = x25519::key(shared.as_slice(), &share, own, ED25519_INFO);
                format::unwrapped(&key, &stanza.body)
            }
            (Kind::Rsa(_), RSA) => {
                let key = OaepPrivateDecryptingKey::new(PrivateDecryptingKey::from_pkcs8(&self.secret).ok()?).ok()?;
                let mut text = Zeroizing::new(vec![0; key.min_output_size()]);
                let read = key.decrypt(&OAEP_SHA256_MGF1SHA256, &stanza.body, &mut text, Some(RSA_LABEL));
                let length = read.ok()?.len();
                text[..length].try_into().ok().map(Zeroizing::new)
            }
            _ => None,
        }
    }

    /// Reads the inside of `OPENSSH PRIVATE KEY`.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        const BROKEN: &str = "the SSH key is damaged";
        let mut rest = Wire(bytes.strip_prefix(b"openssh-key-v1\0").ok_or(BROKEN)?);
        let cipher = rest.string().ok_or(BROKEN)?;
        rest.string().zip(rest.string()).ok_or(BROKEN)?;
        if cipher != b"none" {
            return Err(
                "the SSH key has a passphrase, which firelay does not ask for; open the bundle with age: \
                        age -d -i KEY BUNDLE | firelay … --secrets -",
            );
        }
        rest.take(4).ok_or(BROKEN)?;
        let public = Public::of(rest.string().ok_or(BROKEN)?)?;
        let mut secret = Wire(rest.string().ok_or(BROKEN)?);
        let secret = secret.secret(&public.kind).ok_or(BROKEN)?;
        Ok(Self { public, secret })
    }
}

/// The coordinate u = (1 + y)
/// (1 - y) of the same point on Curve25519 (RFC 7748 §4.1); the point is public, so timing is no concern.
fn montgomery(mut point: [u8; 32]) -> Option<[u8; 32]> {
    // The sign of x.
    point[31] &= 0x7f;
    let y = Element::new(&U256::from_le_slice(&point));
    let one = Element::new(&U256::ONE);
    let inverse: Option<Element> = one.sub(&y).invert().into();
    let u = one.add(&y).mul(&inverse?).retrieve();
    u.to_le_bytes().as_ref().try_into().ok()
}

/// SSH's encoding (RFC 4251 §5).
struct Wire<'a>(&'a [u8]);

impl<'a> Wire<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_be_bytes(self.take(4)?.try_into().ok()?);
        self.take(usize::try_from(length).ok()?)
    }

    /// A non-negative number, without its leading zero byte.
    fn number(&mut self) -> Option<&'a [u8]> {
        let number = self.string()?;
        Some(number.strip_prefix(&[0]).unwrap_or(number))
    }

    /// The key after the two check numbers in the private part.
    fn secret(&mut self, kind: &Kind) -> Option<Zeroizing<Vec<u8>>> {
        if self.take(4)? != self.take(4)? {
            return None;
        }
        self.string()?;
        match kind {
            Kind::Ed25519(_) => {
                self.string()?;
                let seed = self.string()?.get(..32)?;
                Some(Zeroizing::new(
                    Zeroizing::new(<[u8; 64]>::from(Sha512::digest(seed)))[..32].to_vec(),
                ))
            }
            Kind::Rsa(_) => {
                let mut next = || self.number();
                let (n, e, d, inverse, p, q) = (next()?, next()?, next()?, next()?, next()?, next()?);
                let (of_p, of_q) = (remainder(d, p)?, remainder(d, q)?);
                Some(der::pkcs8(&der::rsa_private([n, e, d, p, q, &of_p, &of_q, inverse])))
            }
        }
    }
}

/// d mod (prime - 1).
fn remainder(d: &[u8], prime: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let wide = |bytes: &[u8]| {
        let mut padded = Zeroizing::new(vec![0; U4096::BYTES.checked_sub(bytes.len())?]);
        padded.extend_from_slice(bytes);
        Some(Zeroizing::new(U4096::from_be_slice(&padded)))
    };
    let less: Option<NonZero<U4096>> = NonZero::new(wide(prime)?.wrapping_sub(&U4096::ONE)).into();
    let rest = Zeroizing::new(wide(d)?.rem(&less?));
    Some(Zeroizing::new(rest.to_be_bytes().as_ref().to_vec()))
}
