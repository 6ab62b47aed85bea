//! The YAML form of a bundle.

use serde::{Deserialize, Serialize, Serializer};
use time::{OffsetDateTime, UtcOffset, format_description::well_known::Rfc3339};

use super::{
    AuthoritySet, Bundle, Error, Random, Rotation, ServiceAccount,
    check::{Problem, ensure},
};
use crate::{
    age,
    encoding::{base64, unbase64},
    secret::Secret,
};

const API_VERSION: &str = "firelay.dev/v1alpha1";
const KIND: &str = "Secrets";

/// Whether a text claims to be a bundle, whatever its other content.
pub fn is_bundle(text: &str) -> bool {
    let says = |line: &str| {
        let value = line
            .strip_prefix("kind:")
            .map(|value| value.trim().trim_matches(['"', '\'']));
        value == Some(KIND)
    };
    text.contains(API_VERSION) && text.lines().any(says)
}

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
    authorities: AuthoritySet,
    service_account: ServiceAccount,
    #[serde(serialize_with = "clear")]
    bootstrap_token: Secret<String>,
    #[serde(serialize_with = "clear")]
    certificate_key: Secret<String>,
    #[serde(serialize_with = "clear")]
    encryption_key: Secret<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rotation: Option<Rotation>,
    /// In the encrypted part, so that an addition is noticed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    recipients: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    adopted: bool,
}

/// The bundle's file is the one place where a secret is serialised.
pub(super) fn clear<S: Serializer>(secret: &Secret<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

impl Bundle {
    /// Parses a bundle and checks that its parts match. Errors contain `name`, place and field, never a value.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let document: Document = firelay_yaml::parse(name, text)?;
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
            .map_err(|_| Error::Date)?;
        let document = Document {
            api_version: API_VERSION.into(),
            kind: KIND.into(),
            cluster: self.cluster.clone(),
            issued_at,
            epoch: self.epoch,
            seed: Secret::new(base64(self.seed.expose())),
            authorities: AuthoritySet {
                kubernetes: self.kubernetes.clone(),
                etcd: self.etcd.clone(),
                front_proxy: self.front_proxy.clone(),
            },
            service_account: ServiceAccount {
                key: self.service_account_key.clone(),
                public_key: self.service_account_public.clone(),
            },
            bootstrap_token: self.bootstrap_token.clone(),
            certificate_key: self.certificate_key.clone(),
            encryption_key: self.encryption_key.clone(),
            rotation: self.rotation.clone(),
            recipients: self.recipients.iter().map(ToString::to_string).collect(),
            adopted: self.adopted,
        };
        Ok(Secret::new(firelay_yaml::emit(&document)?))
    }

    /// The content of its file: YAML, sealed if there are recipients.
    pub fn to_file(&self, random: &mut Random<'_>) -> Result<Secret<String>, Error> {
        let text = self.to_yaml()?;
        if self.recipients.is_empty() {
            return Ok(text);
        }
        let sealed = age::seal(text.expose().as_bytes(), &self.recipients, random);
        sealed.map(Secret::new).map_err(Error::Seal)
    }
}

impl Document {
    fn take(self) -> Result<Bundle, Problem> {
        ensure(
            self.api_version == API_VERSION,
            "apiVersion",
            "is not firelay.dev/v1alpha1",
        )?;
        ensure(self.kind == KIND, "kind", "is not Secrets")?;
        let seed = unbase64(self.seed.expose()).map_err(|_| ("seed", "is not base64"))?;
        Ok(Bundle {
            cluster: self.cluster,
            issued_at: moment(&self.issued_at)?,
            epoch: self.epoch,
            seed: Secret::new(seed),
            kubernetes: self.authorities.kubernetes,
            etcd: self.authorities.etcd,
            front_proxy: self.authorities.front_proxy,
            service_account_key: self.service_account.key,
            service_account_public: self.service_account.public_key,
            bootstrap_token: self.bootstrap_token,
            certificate_key: self.certificate_key,
            encryption_key: self.encryption_key,
            rotation: self.rotation,
            recipients: recipients(&self.recipients)?,
            adopted: self.adopted,
        })
    }
}

/// Old bundles may list a recipient of several lines; they were sealed only to the first line.
fn recipients(texts: &[String]) -> Result<Vec<age::Recipient>, Problem> {
    let read = |text: &String| {
        let first = text.lines().next().unwrap_or_default();
        first
            .parse()
            .map_err(|_| ("recipients", "one is neither age1… nor an SSH public key"))
    };
    texts.iter().map(read).collect()
}

fn moment(text: &str) -> Result<OffsetDateTime, Problem> {
    let moment = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| ("issuedAt", "is not an RFC 3339 time"))?;
    ensure(moment.nanosecond() == 0, "issuedAt", "has fractions of a second")?;
    Ok(moment.to_offset(UtcOffset::UTC))
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
        assert!(
            bundle
                .kubernetes
                .key
                .expose()
                .lines()
                .all(|line| !message.contains(line)),
            "{message}"
        );
        assert!(!message.contains("hunter2"), "{message}");
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
            "s.yaml:5:8: expected a whole number from 0 to 4294967295, found text: \
             should be a whole number from 0 to 4294967295"
        );
        assert!(refusal(&format!("{text}extra: hunter2\n")).contains("unknown key `extra`"));
        assert!(refusal(&text.replace("epoch: 0\n", "")).contains("missing key `epoch`"));
        let dedented = text.replacen("    key: |\n      ", "    key: |\n", 1);
        assert_ne!(dedented, text);
        assert!(refusal(&dedented).starts_with("s.yaml:"));
        assert!(refusal("hunter2").starts_with("s.yaml:1:1: "));
        assert!(refusal(&text.replace("kind: Secrets", "kind: Cluster")).ends_with("kind: is not Secrets"));
    }

    #[test]
    fn of_a_recipient_of_several_lines_the_first_is_read() {
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPh4Se8Mzv34rkyVs2FEMnnx3wuU9T+eRP4qfYUeXTYM";
        let bundle = Bundle::parse("s", &format!("{}recipients:\n- |-\n  {key} a\n  {key} b\n", text())).unwrap();
        let listed: Vec<_> = bundle.recipients.iter().map(ToString::to_string).collect();
        assert_eq!(listed, [format!("{key} a")]);
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
