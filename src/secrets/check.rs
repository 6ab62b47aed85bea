//! Checks of a bundle from any source.

use rcgen::PublicKeyData;
use x509_parser::pem::Pem;
use zeroize::Zeroizing;

use super::{Authority, Bundle, Keys, PrivateKey};
use crate::{encoding::unbase64, secret::Secret};

/// Field and what is wrong with it.
pub(super) type Problem = (&'static str, &'static str);

/// The problem of a seed, token or key of zeros.
pub const ZERO: &str = "is all zero: nobody drew it, and everybody knows it (FL1101)";

pub(super) fn ensure(holds: bool, field: &'static str, problem: &'static str) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err((field, problem)) }
}

impl Bundle {
    /// Whether the parts belong together.
    pub(super) fn check(&self) -> Result<(), Problem> {
        authority("authorities.kubernetes", &self.kubernetes)?;
        authority("authorities.etcd", &self.etcd)?;
        authority("authorities.frontProxy", &self.front_proxy)?;
        key_pair(&self.service_account_key, &self.service_account_public)
            .map_err(|problem| ("serviceAccount", problem))?;
        ensure(self.seed.expose().len() == 32, "seed", "is not 32 bytes")?;
        token("bootstrapToken", self.bootstrap_token.expose())?;
        ensure(
            is_hex(self.certificate_key.expose(), 64),
            "certificateKey",
            "is not 64 lower-case hex digits",
        )?;
        encryption_key("encryptionKey", self.encryption_key.expose())?;
        ensure(!is_zero(self.seed.expose()), "seed", ZERO)?;
        ensure(!is_zero_text(self.certificate_key.expose()), "certificateKey", ZERO)?;
        self.rotating().map_or(Ok(()), Keys::check)
    }
}

/// Whether a CA can sign.
pub(super) fn authority(field: &'static str, authority: &Authority) -> Result<(), Problem> {
    authority.open().map(drop).map_err(|problem| (field, problem))
}

/// Whether a text is a bootstrap token that was drawn.
pub(super) fn token(field: &'static str, text: &str) -> Result<(), Problem> {
    ensure(is_token(text), field, "is not of the form [a-z0-9]{6}.[a-z0-9]{16}")?;
    ensure(!is_zero_text(text), field, ZERO)
}

/// Whether a text is a key of encryption at rest that was drawn.
pub(super) fn encryption_key(field: &'static str, text: &str) -> Result<(), Problem> {
    let key = Zeroizing::new(unbase64(text).unwrap_or_default());
    ensure(key.len() == 32, field, "is not base64 of 32 bytes")?;
    ensure(!is_zero(&key), field, ZERO)
}

/// kubeadm uses the first public key of `sa.pub`, and up to 1.36 panics if its type is not that of `sa.key`.
pub(super) fn key_pair(key: &Secret<String>, public: &str) -> Result<(), &'static str> {
    let key = PrivateKey::from_pem(key.expose())
        .ok_or("key is not a PEM private key of kind ECDSA P-256, ECDSA P-384 or RSA")?;
    let public = Pem::iter_from_buffer(public.as_bytes())
        .find_map(|block| block.ok().filter(|block| block.label == "PUBLIC KEY"))
        .ok_or("publicKey is not a PEM PUBLIC KEY")?;
    if public.contents == key.subject_public_key_info() {
        Ok(())
    } else {
        Err("publicKey is not the one of key")
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn is_zero_text(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

fn is_token(text: &str) -> bool {
    let part = |part: &str, length| {
        part.len() == length
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    text.split_once('.')
        .is_some_and(|(id, secret)| part(id, 6) && part(secret, 16))
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyUsagePurpose};

    use super::*;
    use crate::{
        encoding::base64,
        secrets::{bundle::tests::bundle, to_pem},
    };

    /// Why a changed bundle is refused.
    fn refusal(change: impl FnOnce(&mut Bundle)) -> String {
        let mut bundle = bundle();
        change(&mut bundle);
        let (field, problem) = bundle.check().unwrap_err();
        format!("{field}: {problem}")
    }

    #[test]
    fn each_field_is_checked_and_named() {
        let text = |text: &str| Secret::new(text.to_owned());
        let no_key = "key is not a PEM private key of kind ECDSA P-256, ECDSA P-384 or RSA";
        let zero = |field: &str| format!("{field}: {ZERO}");
        assert_eq!(refusal(|b| b.seed = Secret::new(vec![0; 32])), zero("seed"));
        assert_eq!(
            refusal(|b| b.bootstrap_token = text("000000.0000000000000000")),
            zero("bootstrapToken")
        );
        assert_eq!(
            refusal(|b| b.certificate_key = text(&"0".repeat(64))),
            zero("certificateKey")
        );
        let zeros = base64([0; 32]);
        assert_eq!(refusal(|b| b.encryption_key = text(&zeros)), zero("encryptionKey"));
        for (found, expected) in [
            (refusal(|b| b.seed = Secret::new(vec![1; 31])), "seed: is not 32 bytes"),
            (
                refusal(|b| b.bootstrap_token = text("hunter2.hunter2hunter2xx")),
                "bootstrapToken: is not of the form [a-z0-9]{6}.[a-z0-9]{16}",
            ),
            (
                refusal(|b| b.certificate_key = text("hunter2")),
                "certificateKey: is not 64 lower-case hex digits",
            ),
            (
                refusal(|b| b.encryption_key = text("hunter2=")),
                "encryptionKey: is not base64 of 32 bytes",
            ),
            (
                refusal(|b| b.etcd.key = b.kubernetes.key.clone()),
                "authorities.etcd: key is not the one of the certificate",
            ),
            (
                refusal(|b| b.kubernetes.certificate = b.service_account_public.clone()),
                "authorities.kubernetes: certificate is not an X.509 certificate",
            ),
            (
                refusal(|b| b.front_proxy.key = text("hunter2")),
                &format!("authorities.frontProxy: {no_key}"),
            ),
            (
                refusal(|b| b.service_account_key = text("")),
                &format!("serviceAccount: {no_key}"),
            ),
            (
                refusal(|b| b.service_account_key = b.etcd.key.clone()),
                "serviceAccount: publicKey is not the one of key",
            ),
        ] {
            assert_eq!(found, expected);
        }
    }

    /// Why an etcd CA with these usages is refused.
    fn refusal_of(is_ca: IsCa, usage: KeyUsagePurpose) -> String {
        let mut params = CertificateParams::default();
        (params.is_ca, params.key_usages) = (is_ca, vec![usage]);
        refusal(|bundle| {
            let key = PrivateKey::from_pem(bundle.etcd.key.expose()).unwrap();
            bundle.etcd.certificate = to_pem("CERTIFICATE", params.self_signed(&key).unwrap().der());
        })
    }

    #[test]
    fn a_certificate_that_may_not_sign_is_refused() {
        assert_eq!(
            refusal_of(IsCa::ExplicitNoCa, KeyUsagePurpose::KeyCertSign),
            "authorities.etcd: certificate is not that of a CA (basicConstraints)"
        );
        assert_eq!(
            refusal_of(IsCa::Ca(BasicConstraints::Unconstrained), KeyUsagePurpose::CrlSign),
            "authorities.etcd: certificate may not sign others (keyUsage lacks keyCertSign)"
        );
    }
}
