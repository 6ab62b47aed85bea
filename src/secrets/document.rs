//! The YAML form of a bundle.

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::PublicKeyData;
use serde::{Deserialize, Serialize, Serializer};
use time::{OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};
use x509_parser::pem::Pem;

use super::{Authority, Bundle, Error, PrivateKey};
use crate::secret::Secret;

const API_VERSION: &str = "firelay.dev/v1alpha1";
const KIND: &str = "Secrets";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    api_version: String,
    kind: String,
    cluster: String,
    issued_at: String,
    epoch: u32,
    #[serde(serialize_with = "clear")]
    seed: Secret<String>,
    authorities: Authorities,
    service_account: ServiceAccount,
    #[serde(serialize_with = "clear")]
    bootstrap_token: Secret<String>,
    #[serde(serialize_with = "clear")]
    certificate_key: Secret<String>,
    #[serde(serialize_with = "clear")]
    encryption_key: Secret<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Authorities {
    kubernetes: AuthorityDocument,
    etcd: AuthorityDocument,
    front_proxy: AuthorityDocument,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AuthorityDocument {
    certificate: String,
    #[serde(serialize_with = "clear")]
    key: Secret<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ServiceAccount {
    #[serde(serialize_with = "clear")]
    key: Secret<String>,
    public_key: String,
}

/// The bundle's file is the one place where a secret is serialised.
fn clear<S: Serializer>(secret: &Secret<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

impl Bundle {
    /// Reads a bundle and checks that its parts belong together. Errors give `name`, place and field, never a value.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let document = decode(text).map_err(|(place, problem)| Error::Syntax {
            name: name.into(),
            place,
            problem,
        })?;
        let field = |(field, problem)| Error::Field {
            name: name.into(),
            field,
            problem,
        };
        let bundle = document.take().map_err(field)?;
        bundle.check().map_err(field)?;
        Ok(bundle)
    }

    /// The bundle as YAML, keys and certificates as literal blocks.
    pub fn to_yaml(&self) -> Result<Secret<String>, Error> {
        let issued_at = self
            .issued_at
            .to_offset(UtcOffset::UTC)
            .format(&Rfc3339)
            .map_err(|_| Error::Emit)?;
        let document = Document {
            api_version: API_VERSION.into(),
            kind: KIND.into(),
            cluster: self.cluster.clone(),
            issued_at,
            epoch: self.epoch,
            seed: Secret::new(STANDARD.encode(self.seed.expose())),
            authorities: Authorities {
                kubernetes: (&self.kubernetes).into(),
                etcd: (&self.etcd).into(),
                front_proxy: (&self.front_proxy).into(),
            },
            service_account: ServiceAccount {
                key: self.service_account_key.clone(),
                public_key: self.service_account_public.clone(),
            },
            bootstrap_token: self.bootstrap_token.clone(),
            certificate_key: self.certificate_key.clone(),
            encryption_key: self.encryption_key.clone(),
        };
        encode(&document).map(Secret::new)
    }

    fn check(&self) -> Result<(), Problem> {
        self.kubernetes
            .open()
            .map_err(|problem| ("authorities.kubernetes", problem))?;
        self.etcd.open().map_err(|problem| ("authorities.etcd", problem))?;
        self.front_proxy
            .open()
            .map_err(|problem| ("authorities.frontProxy", problem))?;
        self.check_service_account()
            .map_err(|problem| ("serviceAccount", problem))?;
        ensure(self.seed.expose().len() == 32, "seed", "is not 32 bytes")?;
        ensure(
            is_token(self.bootstrap_token.expose()),
            "bootstrapToken",
            "is not of the form [a-z0-9]{6}.[a-z0-9]{16}",
        )?;
        ensure(
            is_hex(self.certificate_key.expose(), 64),
            "certificateKey",
            "is not 64 lower-case hex digits",
        )?;
        let encryption_key = STANDARD.decode(self.encryption_key.expose()).unwrap_or_default();
        ensure(encryption_key.len() == 32, "encryptionKey", "is not base64 of 32 bytes")
    }

    /// kubeadm takes the first public key of `sa.pub`, and up to 1.36 panics if its type is not that of `sa.key`.
    fn check_service_account(&self) -> Result<(), &'static str> {
        let key = PrivateKey::from_pem(self.service_account_key.expose())
            .ok_or("key is not a PEM private key of kind ECDSA P-256, ECDSA P-384 or RSA")?;
        let public = Pem::iter_from_buffer(self.service_account_public.as_bytes())
            .find_map(|block| block.ok().filter(|block| block.label == "PUBLIC KEY"))
            .ok_or("publicKey is not a PEM PUBLIC KEY")?;
        if public.contents == key.subject_public_key_info() {
            Ok(())
        } else {
            Err("publicKey is not the one of key")
        }
    }
}

/// Field and what is wrong with it.
type Problem = (&'static str, &'static str);

fn ensure(holds: bool, field: &'static str, problem: &'static str) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err((field, problem)) }
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

impl Document {
    fn take(self) -> Result<Bundle, Problem> {
        ensure(
            self.api_version == API_VERSION,
            "apiVersion",
            "is not firelay.dev/v1alpha1",
        )?;
        ensure(self.kind == KIND, "kind", "is not Secrets")?;
        let seed = STANDARD
            .decode(self.seed.expose())
            .map_err(|_| ("seed", "is not base64"))?;
        Ok(Bundle {
            cluster: self.cluster,
            issued_at: moment(&self.issued_at)?,
            epoch: self.epoch,
            seed: Secret::new(seed),
            kubernetes: self.authorities.kubernetes.into(),
            etcd: self.authorities.etcd.into(),
            front_proxy: self.authorities.front_proxy.into(),
            service_account_key: self.service_account.key,
            service_account_public: self.service_account.public_key,
            bootstrap_token: self.bootstrap_token,
            certificate_key: self.certificate_key,
            encryption_key: self.encryption_key,
        })
    }
}

fn moment(text: &str) -> Result<OffsetDateTime, Problem> {
    let moment = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| ("issuedAt", "is not an RFC 3339 time"))?;
    ensure(moment.nanosecond() == 0, "issuedAt", "has fractions of a second")?;
    Ok(moment.to_offset(UtcOffset::UTC))
}

impl From<&Authority> for AuthorityDocument {
    fn from(authority: &Authority) -> Self {
        Self {
            certificate: authority.certificate.clone(),
            key: authority.key.clone(),
        }
    }
}

impl From<AuthorityDocument> for Authority {
    fn from(document: AuthorityDocument) -> Self {
        Self {
            certificate: document.certificate,
            key: document.key,
        }
    }
}

fn encode(document: &Document) -> Result<String, Error> {
    serde_yaml::to_string(document).map_err(|_| Error::Emit)
}

/// The parser's own messages quote the text, so only their place and kind are passed on.
fn decode(text: &str) -> Result<Document, (String, String)> {
    serde_yaml::from_str(text).map_err(|error| {
        let place = error
            .location()
            .map_or_else(String::new, |at| format!(":{}:{}", at.line(), at.column()));
        let problem = match error.without_snippet() {
            serde_yaml::Error::SerdeMissingField { field, .. } => format!("field {field} is missing"),
            serde_yaml::Error::SerdeUnknownField { expected, .. } => {
                format!("unknown field; expected one of {}", expected.join(", "))
            }
            _ => "this is not the YAML of a bundle (what stands there is not shown)".into(),
        };
        (place, problem)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::secrets::bundle::tests::bundle;

    fn text() -> String {
        bundle().to_yaml().unwrap().expose().clone()
    }

    fn refusal(text: &str) -> String {
        let message = Bundle::parse("s.yaml", text).unwrap_err().to_string();
        let bundle = bundle();
        for secret in [&bundle.bootstrap_token, &bundle.certificate_key, &bundle.encryption_key] {
            assert!(!message.contains(secret.expose().as_str()), "{message}");
        }
        assert!(!message.contains("MDE") && !message.contains("hunter2"), "{message}");
        message
    }

    #[test]
    fn what_is_written_reads_back_to_the_same_text() {
        let text = text();
        let again = Bundle::parse("s.yaml", &text).unwrap();
        assert_eq!(again.fingerprint(), bundle().fingerprint());
        assert_eq!(again.to_yaml().unwrap().expose(), &text);
    }

    #[test]
    fn keys_and_certificates_are_literal_blocks() {
        let text = text();
        assert!(
            text.starts_with("apiVersion: firelay.dev/v1alpha1\nkind: Secrets\ncluster: lab\nissuedAt: "),
            "{text}"
        );
        assert_eq!(text.matches("certificate: |\n").count(), 3);
        assert_eq!(text.matches("key: |\n").count(), 4);
        assert_eq!(text.matches("publicKey: |\n").count(), 1);
    }

    #[test]
    fn a_mistake_is_placed_and_its_text_is_not_repeated() {
        let text = text();
        assert_eq!(
            refusal(&text.replace("epoch: 0", "epoch: hunter2")),
            "s.yaml:5:8: this is not the YAML of a bundle (what stands there is not shown)"
        );
        assert!(refusal(&format!("{text}hunter2: 1\n")).contains(": unknown field; expected one of apiVersion, kind"));
        assert!(refusal(&text.replace("epoch: 0\n", "")).contains("field epoch is missing"));
        assert!(refusal("hunter2").starts_with("s.yaml:1:1: "));
        assert!(refusal("").starts_with("s.yaml"));
    }

    #[test]
    fn each_field_is_checked_and_named() {
        let mut cases: Vec<(Bundle, &str)> = Vec::new();
        let mut case = |change: fn(&mut Bundle), message| {
            let mut bundle = bundle();
            change(&mut bundle);
            cases.push((bundle, message));
        };
        case(|b| b.seed = Secret::new(vec![1; 31]), "seed: is not 32 bytes");
        case(
            |b| b.bootstrap_token = Secret::new("hunter2.hunter2hunter2xx".into()),
            "bootstrapToken: is not of the form [a-z0-9]{6}.[a-z0-9]{16}",
        );
        case(
            |b| b.certificate_key = Secret::new("hunter2".into()),
            "certificateKey: is not 64 lower-case hex digits",
        );
        case(
            |b| b.encryption_key = Secret::new("hunter2=".into()),
            "encryptionKey: is not base64 of 32 bytes",
        );
        case(
            |b| b.etcd.key = b.kubernetes.key.clone(),
            "authorities.etcd: key is not the one of the certificate",
        );
        case(
            |b| b.kubernetes.certificate = b.service_account_public.clone(),
            "authorities.kubernetes: certificate is not an X.509 certificate",
        );
        case(
            |b| b.front_proxy.key = Secret::new("hunter2".into()),
            "authorities.frontProxy: key is not a PEM private key of kind ECDSA P-256, ECDSA P-384 or RSA",
        );
        case(
            |b| b.service_account_key = b.etcd.key.clone(),
            "serviceAccount: publicKey is not the one of key",
        );
        for (bundle, message) in cases {
            assert_eq!(
                refusal(bundle.to_yaml().unwrap().expose()),
                format!("s.yaml: {message}")
            );
        }
    }

    #[test]
    fn a_certificate_that_is_no_ca_is_refused() {
        let mut bundle = bundle();
        let key = PrivateKey::from_pem(bundle.etcd.key.expose()).unwrap();
        let mut params = rcgen::CertificateParams::default();
        bundle.etcd.certificate = super::super::to_pem("CERTIFICATE", params.self_signed(&key).unwrap().der());
        assert!(refusal(bundle.to_yaml().unwrap().expose()).contains("is not that of a CA"));
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.key_usages = vec![rcgen::KeyUsagePurpose::CrlSign];
        bundle.etcd.certificate = super::super::to_pem("CERTIFICATE", params.self_signed(&key).unwrap().der());
        assert!(refusal(bundle.to_yaml().unwrap().expose()).contains("may not sign others"));
    }

    #[test]
    fn only_whole_seconds_are_taken_in_any_offset() {
        let text = text();
        let issued_at = bundle().issued_at;
        let with = |moment: &str| text.replace("2026-11-20T12:00:00Z", moment);
        assert_eq!(
            Bundle::parse("s", &with("2026-11-20T13:00:00+01:00"))
                .unwrap()
                .issued_at,
            issued_at
        );
        assert_eq!(
            refusal(&with("2026-11-20T12:00:00.5Z")),
            "s.yaml: issuedAt: has fractions of a second"
        );
        assert_eq!(refusal(&with("yesterday")), "s.yaml: issuedAt: is not an RFC 3339 time");
    }
}
