//! Rotation of keys: a bundle goes one step forward at a time, and has both generations as long as machines have either.

use std::{collections::BTreeMap, mem};

use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};
use zeroize::Zeroizing;

use super::{
    AuthoritySet, Bundle, BundleRequest, Error, PrivateKey, Random,
    bundle::whole_seconds,
    check::{self, Problem},
    document::clear,
    random,
};
use crate::{encoding::base64, secret::Secret, spec::Algorithm};

/// Name of a bundle's first key of encryption at rest. It is stored with each object, so each later key has a name of its own.
pub const ENCRYPTION_KEY: &str = "firelay";

/// Generations of keys beside those in use.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rotation {
    /// Fingerprint of the bundle before its last step: record and tree may still be of it.
    pub from: String,
    /// Keys and certificates of all machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves: Option<Leaves>,
    /// Machines that were rotated alone since.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<String, Leaves>,
    /// Encryption keys before the one in use.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub encryption_keys: u32,
    /// CAs that were made after the cluster's first ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub authorities: u32,
    /// When the bootstrap token was drawn, if it is not the first one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "time::serde::rfc3339::option"
    )]
    pub token_issued_at: Option<OffsetDateTime>,
    /// The rotation that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Keys>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Rotation {
    /// Gives machines new keys and certificates: these, or all and the administrator.
    fn rotate_leaves(&mut self, machines: &[String], now: OffsetDateTime) {
        // Certificates of two rotations never have the same date: the younger one is told by it.
        let last = self
            .machines
            .values()
            .chain(&self.leaves)
            .map(|own| own.issued_at + Duration::SECOND);
        let issued_at = last.fold(whole_seconds(now), OffsetDateTime::max);
        let all = self.leaves.map_or(0, |own| own.generation);
        if machines.is_empty() {
            let alone = self.machines.values().map(|own| own.generation);
            let generation = alone.fold(all, u32::max).saturating_add(1);
            self.machines.clear();
            self.leaves = Some(Leaves { generation, issued_at });
        }
        for name in machines {
            let last = self.machines.get(name).map_or(all, |own| own.generation);
            let generation = last.saturating_add(1);
            self.machines.insert(name.clone(), Leaves { generation, issued_at });
        }
    }
}

/// Two PEM texts as one. A bundle of other programs may leave the last line's end out.
pub fn pem_of_two(texts: [&String; 2]) -> String {
    texts.map(|text| format!("{}\n", text.trim_end())).concat()
}

/// Keys and certificates that were drawn anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Leaves {
    /// How often.
    pub generation: u32,
    /// When: no certificate of theirs is older.
    #[serde(with = "time::serde::rfc3339")]
    pub issued_at: OffsetDateTime,
}

/// Kinds of keys that rotate in several steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The bootstrap token.
    Token,
    /// The key that signs tokens of service accounts.
    ServiceAccount,
    /// The key of encryption at rest.
    Encryption,
    /// The three CAs, and all keys and certificates of machines with them.
    Authorities,
}

/// The other generation of the keys that rotate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Keys {
    /// The bootstrap token that was in use before.
    BootstrapToken(Generation<Text>),
    /// A key pair whose tokens are accepted beside those of the one in use.
    ServiceAccount(Generation<ServiceAccount>),
    /// A key that reads objects beside the one in use.
    EncryptionKey(Generation<Text>),
    /// CAs that are trusted beside those that sign.
    Authorities(Generation<Box<AuthoritySet>>),
}

/// A generation beside the one in use.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Generation<K> {
    /// It comes after the one in use.
    Next(K),
    /// It was in use before.
    Previous(K),
}

impl<K> Generation<K> {
    /// The key.
    pub fn key(&self) -> &K {
        let (Self::Next(key) | Self::Previous(key)) = self;
        key
    }
}

/// A secret that is a text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(#[serde(serialize_with = "clear")] pub Secret<String>);

/// A service-account key and its public half, PEM.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceAccount {
    /// Key.
    #[serde(serialize_with = "clear")]
    pub key: Secret<String>,
    /// Public key (`PUBLIC KEY`).
    pub public_key: String,
}

impl Keys {
    /// The kind of the keys.
    pub fn kind(&self) -> KeyKind {
        match self {
            Self::BootstrapToken(_) => KeyKind::Token,
            Self::ServiceAccount(_) => KeyKind::ServiceAccount,
            Self::EncryptionKey(_) => KeyKind::Encryption,
            Self::Authorities(_) => KeyKind::Authorities,
        }
    }

    /// The number of the step that led here.
    pub fn step(&self) -> usize {
        match self {
            Self::BootstrapToken(_)
            | Self::ServiceAccount(Generation::Next(_))
            | Self::EncryptionKey(Generation::Next(_))
            | Self::Authorities(Generation::Next(_)) => 1,
            Self::ServiceAccount(Generation::Previous(_))
            | Self::EncryptionKey(Generation::Previous(_))
            | Self::Authorities(Generation::Previous(_)) => 2,
        }
    }

    /// The step that led here, as text for people.
    pub fn last_step(&self) -> String {
        let kind = self.kind();
        format!("{}, step {} of {}", kind.name(), self.step(), kind.steps())
    }

    /// Whether the other generation is complete.
    pub(super) fn check(&self) -> Result<(), Problem> {
        match self {
            Self::BootstrapToken(own) => check::token("rotation.keys.bootstrapToken", own.key().0.expose()),
            Self::EncryptionKey(own) => check::encryption_key("rotation.keys.encryptionKey", own.key().0.expose()),
            Self::ServiceAccount(own) => check::key_pair(&own.key().key, &own.key().public_key)
                .map_err(|problem| ("rotation.keys.serviceAccount", problem)),
            Self::Authorities(own) => {
                check::authority("rotation.keys.authorities.kubernetes", &own.key().kubernetes)?;
                check::authority("rotation.keys.authorities.etcd", &own.key().etcd)?;
                check::authority("rotation.keys.authorities.frontProxy", &own.key().front_proxy)
            }
        }
    }
}

impl KeyKind {
    /// The argument of `secrets rotate` for this kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::ServiceAccount => "service-account",
            Self::Encryption => "encryption",
            Self::Authorities => "ca",
        }
    }

    /// The steps of a rotation.
    pub fn steps(self) -> usize {
        match self {
            Self::Token => 2,
            Self::ServiceAccount | Self::Encryption | Self::Authorities => 3,
        }
    }
}

impl Bundle {
    /// The rotation that is under way.
    pub fn rotating(&self) -> Option<&Keys> {
        self.rotation.as_ref().and_then(|rotation| rotation.keys.as_ref())
    }

    /// The generation of a machine's keys and certificates, if they were rotated.
    pub fn leaves_of(&self, machine: &str) -> Option<&Leaves> {
        let rotation = self.rotation.as_ref()?;
        rotation.machines.get(machine).or(rotation.leaves.as_ref())
    }

    /// The beginning of the bootstrap token's life: the founding makes the first one known, and a rotation names a command for later ones.
    pub fn token_since(&self, founded_at: OffsetDateTime) -> OffsetDateTime {
        let rotated = self.rotation.as_ref().and_then(|own| own.token_issued_at);
        rotated.map_or(founded_at, |rotated| rotated.max(founded_at))
    }

    /// The generation of the administrator's key, if all were rotated.
    pub fn leaves(&self) -> Option<&Leaves> {
        self.rotation.as_ref()?.leaves.as_ref()
    }

    /// The bootstrap token before the one in use, while it rotates.
    pub fn previous_token(&self) -> Option<&Secret<String>> {
        match self.rotating() {
            Some(Keys::BootstrapToken(own)) => Some(&own.key().0),
            _ => None,
        }
    }

    /// CAs that machines trust beside those in use, while they rotate.
    pub fn other_authorities(&self) -> Option<&AuthoritySet> {
        match self.rotating() {
            Some(Keys::Authorities(own)) => Some(own.key()),
            _ => None,
        }
    }

    /// Whether the CAs were in rotation once: `ca.crt` may have two certificates, so the signer has a file of its own from then on.
    pub fn has_rotated_authorities(&self) -> bool {
        self.rotation.as_ref().is_some_and(|rotation| rotation.authorities > 0)
    }

    /// Public keys by which API servers accept tokens: that of the signing key first, as kubeadm wants it.
    pub fn service_account_publics(&self) -> String {
        match self.rotating() {
            Some(Keys::ServiceAccount(own)) => pem_of_two([&self.service_account_public, &own.key().public_key]),
            _ => self.service_account_public.clone(),
        }
    }

    /// Keys of encryption at rest with their names: the first one writes, and all read.
    pub fn encryption_keys(&self) -> Vec<(String, Secret<String>)> {
        let number = self.rotation.as_ref().map_or(0, |rotation| rotation.encryption_keys);
        let name = |number: u32| match number {
            0 => ENCRYPTION_KEY.to_owned(),
            number => format!("{ENCRYPTION_KEY}-{}", number.saturating_add(1)),
        };
        let own = (name(number), self.encryption_key.clone());
        let other = match self.rotating() {
            Some(Keys::EncryptionKey(Generation::Next(key))) => Some((name(number.saturating_add(1)), key.0.clone())),
            Some(Keys::EncryptionKey(Generation::Previous(key))) => {
                Some((name(number.saturating_sub(1)), key.0.clone()))
            }
            _ => None,
        };
        [own].into_iter().chain(other).collect()
    }

    /// Gives machines new keys and certificates: these, or all and the administrator.
    pub fn rotate_leaves(&mut self, machines: &[String], now: OffsetDateTime) {
        let mut rotation = self.next_rotation();
        rotation.rotate_leaves(machines, now);
        self.rotation = Some(rotation);
    }

    /// Goes one step forward with keys of a kind, and returns its number. The caller makes sure that no other kind rotates.
    pub fn rotate(
        &mut self,
        kind: KeyKind,
        request: &BundleRequest,
        now: OffsetDateTime,
        random: &mut Random<'_>,
    ) -> Result<usize, Error> {
        let mut rotation = self.next_rotation();
        let step = rotation.keys.as_ref().map_or(1, |keys| keys.step() + 1);
        rotation.keys = match rotation.keys.take() {
            None => Some(self.begin(kind, &mut rotation, (request, now), random)?),
            Some(Keys::ServiceAccount(Generation::Next(mut key))) => {
                mem::swap(&mut self.service_account_key, &mut key.key);
                mem::swap(&mut self.service_account_public, &mut key.public_key);
                Some(Keys::ServiceAccount(Generation::Previous(key)))
            }
            Some(Keys::EncryptionKey(Generation::Next(mut key))) => {
                mem::swap(&mut self.encryption_key, &mut key.0);
                rotation.encryption_keys = rotation.encryption_keys.saturating_add(1);
                Some(Keys::EncryptionKey(Generation::Previous(key)))
            }
            Some(Keys::Authorities(Generation::Next(mut set))) => {
                mem::swap(&mut self.kubernetes, &mut set.kubernetes);
                mem::swap(&mut self.etcd, &mut set.etcd);
                mem::swap(&mut self.front_proxy, &mut set.front_proxy);
                // Running machines take only younger certificates in the place of their own.
                rotation.rotate_leaves(&[], now);
                Some(Keys::Authorities(Generation::Previous(set)))
            }
            Some(_) => None,
        };
        self.rotation = Some(rotation);
        Ok(step)
    }

    fn begin(
        &mut self,
        kind: KeyKind,
        rotation: &mut Rotation,
        (request, now): (&BundleRequest, OffsetDateTime),
        random: &mut Random<'_>,
    ) -> Result<Keys, Error> {
        Ok(match kind {
            KeyKind::Token => {
                let last = mem::replace(&mut self.bootstrap_token, random::bootstrap_token(random)?);
                rotation.token_issued_at = Some(whole_seconds(now));
                Keys::BootstrapToken(Generation::Previous(Text(last)))
            }
            KeyKind::ServiceAccount => Keys::ServiceAccount(Generation::Next(self.new_service_account(random)?)),
            KeyKind::Encryption => {
                let key = Secret::new(base64(*random::bytes::<32>(random)?));
                Keys::EncryptionKey(Generation::Next(Text(key)))
            }
            KeyKind::Authorities => {
                rotation.authorities = rotation.authorities.saturating_add(1);
                let next = AuthoritySet::create(rotation.authorities, request, whole_seconds(now), random)?;
                Keys::Authorities(Generation::Next(Box::new(next)))
            }
        })
    }

    /// Of the algorithm of the last one; only an imported RSA key has a size without a name.
    fn new_service_account(&self, random: &mut Random<'_>) -> Result<ServiceAccount, Error> {
        let last = PrivateKey::from_pem(self.service_account_key.expose()).and_then(|key| key.kind());
        let key = PrivateKey::generate(last.unwrap_or(Algorithm::Rsa4096), random)?;
        Ok(ServiceAccount {
            public_key: key.public_pem(),
            key: key.to_pem(),
        })
    }

    fn next_rotation(&self) -> Rotation {
        Rotation {
            from: self.fingerprint(),
            ..self.rotation.clone().unwrap_or_default()
        }
    }

    /// Its part of the fingerprint; nothing before the first rotation.
    pub(super) fn rotation_text(&self) -> Option<Zeroizing<Vec<u8>>> {
        let text = self.rotation.as_ref().map(serde_json::to_vec);
        text.map(|text| Zeroizing::new(text.unwrap_or_default()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use sha2::{Digest, Sha256};
    use time::macros::datetime;

    use super::*;
    use crate::secrets::bundle::tests::bundle;

    const NOW: OffsetDateTime = datetime!(2027-03-01 8:00:00.7 UTC);
    const KINDS: [KeyKind; 4] = [
        KeyKind::Token,
        KeyKind::ServiceAccount,
        KeyKind::Encryption,
        KeyKind::Authorities,
    ];

    fn request() -> BundleRequest {
        BundleRequest {
            cluster: "lab".into(),
            algorithm: Algorithm::EcdsaP256,
            ca_validity: Duration::hours(87_600),
            backdate: Duration::hours(24),
        }
    }

    /// Bundles from the first to the last step of a rotation, each written and read again.
    fn steps(kind: KeyKind) -> Vec<Bundle> {
        let mut counter = 1_000_u64;
        let mut random = |bytes: &mut [u8]| {
            for chunk in bytes.chunks_mut(32) {
                counter += 1;
                chunk.copy_from_slice(&Sha256::digest(counter.to_be_bytes())[..chunk.len()]);
            }
            Ok(())
        };
        let mut bundles = vec![bundle()];
        for step in 1..=kind.steps() {
            let mut next = bundles.last().unwrap().clone();
            assert_eq!(next.rotate(kind, &request(), NOW, &mut random).unwrap(), step);
            let text = next.to_yaml().unwrap();
            let read = Bundle::parse("s.yaml", text.expose()).unwrap();
            assert_eq!(read.to_yaml().unwrap().expose(), text.expose());
            bundles.push(read);
        }
        assert!(bundles.last().unwrap().rotating().is_none());
        bundles
    }

    #[test]
    fn a_step_is_known_by_the_one_before_and_by_no_other() {
        for kind in KINDS {
            let bundles = steps(kind);
            let names: BTreeSet<_> = bundles.iter().map(Bundle::fingerprint).collect();
            assert_eq!(names.len(), bundles.len());
            for (at, bundle) in bundles.iter().enumerate() {
                for (before, other) in bundles.iter().enumerate() {
                    let continues = before == at || before + 1 == at;
                    assert_eq!(
                        bundle.continues(&other.fingerprint()),
                        continues,
                        "{kind:?}: {before}, {at}"
                    );
                }
            }
        }
    }

    /// A service-account key is accepted before it signs, and as long as its tokens may be in use.
    #[test]
    fn service_account_keys_overlap() {
        let bundles = steps(KeyKind::ServiceAccount);
        let signs: Vec<_> = bundles.iter().map(|own| own.service_account_public.clone()).collect();
        let (old, new) = (&signs[0], &signs[3]);
        assert_eq!([&signs[1], &signs[2]], [old, new]);
        let accepts: Vec<_> = bundles.iter().map(Bundle::service_account_publics).collect();
        assert_eq!(
            accepts,
            [old.clone(), format!("{old}{new}"), format!("{new}{old}"), new.clone()]
        );
    }

    #[test]
    fn public_keys_without_a_last_line_end_are_two_blocks() {
        let mut own = bundle();
        own.service_account_public = own.service_account_public.trim_end().to_owned();
        let mut counter = 0_u8;
        let mut random = |bytes: &mut [u8]| {
            counter += 1;
            bytes.fill(counter);
            Ok(())
        };
        own.rotate(KeyKind::ServiceAccount, &request(), NOW, &mut random)
            .unwrap();
        let publics = own.service_account_publics();
        assert_eq!(
            publics
                .lines()
                .filter(|line| *line == "-----BEGIN PUBLIC KEY-----")
                .count(),
            2
        );
    }

    /// Every key that encrypts at a step can be read at the steps beside it, under the same name.
    #[test]
    fn encryption_keys_overlap_under_names_that_stay() {
        let bundles = steps(KeyKind::Encryption);
        let keys = |bundle: &Bundle| -> Vec<_> {
            let keys = bundle.encryption_keys().into_iter();
            keys.map(|(name, key)| (name, key.expose().clone())).collect()
        };
        let names: Vec<Vec<_>> = bundles
            .iter()
            .map(|own| keys(own).into_iter().map(|(name, _)| name).collect())
            .collect();
        let expected = [
            &["firelay"][..],
            &["firelay", "firelay-2"],
            &["firelay-2", "firelay"],
            &["firelay-2"],
        ];
        assert_eq!(names, expected);
        for pair in bundles.windows(2) {
            for (writer, reader) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
                assert!(keys(reader).contains(&keys(writer)[0]));
            }
        }
        let mut third = bundles[3].clone();
        let mut random = |bytes: &mut [u8]| {
            bytes.fill(9);
            Ok(())
        };
        third.rotate(KeyKind::Encryption, &request(), NOW, &mut random).unwrap();
        assert_eq!(keys(&third)[1].0, "firelay-3");
    }

    /// Leaves are of the CA that signs, so all of them rotate with it.
    #[test]
    fn certificates_are_made_anew_with_the_ca_that_signs_them() {
        let bundles = steps(KeyKind::Authorities);
        let signs: Vec<_> = bundles.iter().map(|own| &own.kubernetes.certificate).collect();
        assert!(signs[0] == signs[1] && signs[1] != signs[2] && signs[2] == signs[3]);
        let leaves = bundles.iter().map(|own| own.leaves().map_or(0, |own| own.generation));
        assert_eq!(leaves.collect::<Vec<_>>(), [0, 0, 1, 1]);
        let others = bundles.iter().map(|own| own.other_authorities().is_some());
        assert_eq!(others.collect::<Vec<_>>(), [false, true, true, false]);
        let marked = bundles.iter().map(Bundle::has_rotated_authorities);
        assert_eq!(marked.collect::<Vec<_>>(), [false, true, true, true]);
    }

    #[test]
    fn the_old_token_is_known_until_the_end() {
        let bundles = steps(KeyKind::Token);
        let first = bundle().bootstrap_token;
        assert_ne!(bundles[1].bootstrap_token.expose(), first.expose());
        assert_eq!(bundles[1].previous_token().unwrap().expose(), first.expose());
        assert_eq!(bundles[2].bootstrap_token.expose(), bundles[1].bootstrap_token.expose());
        assert!(bundles[2].previous_token().is_none());
    }

    #[test]
    fn leaves_of_one_machine_count_on_from_those_of_all() {
        let mut bundle = bundle();
        let generation = |bundle: &Bundle, name: &str| bundle.leaves_of(name).map_or(0, |own| own.generation);
        bundle.rotate_leaves(&["cp1".to_owned()], NOW);
        bundle.rotate_leaves(&["cp1".to_owned()], NOW);
        assert_eq!((generation(&bundle, "cp1"), generation(&bundle, "cp2")), (2, 0));
        assert!(bundle.leaves().is_none(), "the administrator's key stays");
        bundle.rotate_leaves(&[], NOW);
        assert_eq!((generation(&bundle, "cp1"), generation(&bundle, "cp2")), (3, 3));
        assert_eq!(bundle.leaves().unwrap().issued_at, datetime!(2027-03-01 8:00:02 UTC));
        let text = bundle.to_yaml().unwrap();
        let read = Bundle::parse("s.yaml", text.expose()).unwrap();
        assert_eq!(read.leaves(), bundle.leaves());
        assert_eq!(read.fingerprint(), bundle.fingerprint());
    }

    #[test]
    fn a_broken_generation_is_placed_and_not_repeated() {
        let text = |kind| steps(kind)[1].to_yaml().unwrap().expose().clone();
        let refusal = |text: String| Bundle::parse("s.yaml", &text).unwrap_err().to_string();
        let token = steps(KeyKind::Token)[1].previous_token().unwrap().expose().clone();
        assert_eq!(
            refusal(text(KeyKind::Token).replace(&token, "hunter2")),
            "s.yaml: rotation.keys.bootstrapToken: is not of the form [a-z0-9]{6}.[a-z0-9]{16}"
        );
        let (name, key) = steps(KeyKind::Encryption)[1].encryption_keys().remove(1);
        assert_eq!(name, "firelay-2");
        assert_eq!(
            refusal(text(KeyKind::Encryption).replace(key.expose(), "hunter2=")),
            "s.yaml: rotation.keys.encryptionKey: is not base64 of 32 bytes"
        );
        let mut other = steps(KeyKind::Authorities)[1].clone();
        if let Some(Keys::Authorities(Generation::Next(set))) = &mut other.rotation.as_mut().unwrap().keys {
            set.etcd.key = set.kubernetes.key.clone();
        }
        assert_eq!(
            refusal(other.to_yaml().unwrap().expose().clone()),
            "s.yaml: rotation.keys.authorities.etcd: key is not the one of the certificate"
        );
        let both = text(KeyKind::ServiceAccount).replacen("      next:", "      later:", 1);
        let found = refusal(both);
        assert!(found.starts_with("s.yaml:") && !found.contains("PRIVATE"), "{found}");
    }
}
