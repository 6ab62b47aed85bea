//! The secrets of a bundle, and all that follows from its seed.

use std::collections::HashMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use x509_parser::pem::parse_x509_pem;

use super::{
    contents::Certificate,
    needles::Needles,
    recognise,
    secret::{Holder, Secret},
};
use crate::{
    declaration,
    delivery::PayloadKeys,
    pki::LeafKeys,
    secret,
    secrets::{Bundle, PrivateKey},
    spec::Exposure,
};

/// A secret and the bytes by which it is known wherever it stands.
#[derive(Clone, Debug)]
pub struct Known {
    /// What may be told.
    pub secret: Secret,
    /// Bytes that are in every form of it: the scalar of a key, the secret half of a token.
    value: secret::Secret<Vec<u8>>,
    /// The CA whose key it is, if it is one's that machines trust.
    authority: Option<Authority>,
}

/// A CA of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Authority {
    pub(super) public: Vec<u8>,
    common_name: String,
    key_id: Option<Vec<u8>>,
}

impl Authority {
    pub(super) fn new(public: &[u8], certificate: &Certificate) -> Self {
        Self {
            public: public.to_vec(),
            common_name: certificate.common_name.clone(),
            key_id: certificate.key_id.clone(),
        }
    }

    /// By the identifier of its key; one without any is known by its name alone.
    pub(super) fn signed(&self, certificate: &Certificate) -> bool {
        let same = self.key_id.is_none() || self.key_id == certificate.issuer_key_id;
        same && self.common_name == certificate.issuer
    }
}

/// Keys of machines by their paths below `/etc/firelay`, with the common name in the certificate.
pub const LEAVES: [(&str, &str, Exposure); 16] = [
    (
        "etcd/healthcheck-client",
        "kube-etcd-healthcheck-client",
        Exposure::Administers,
    ),
    ("etcd/peer", ETCD_MEMBER, Exposure::Administers),
    ("etcd/server", ETCD_MEMBER, Exposure::Administers),
    ("kubeconfig/admin", "kubernetes-admin", Exposure::Administers),
    (
        "kubeconfig/controller-manager",
        "system:kube-controller-manager",
        Exposure::Administers,
    ),
    ("kubeconfig/scheduler", "system:kube-scheduler", Exposure::Administers),
    (
        "kubeconfig/super-admin",
        "kubernetes-super-admin",
        Exposure::Administers,
    ),
    ("kubelet/client", KUBELET, Exposure::Identity),
    ("kubelet/kubelet", KUBELET_SERVING, Exposure::Identity),
    ("pki/apiserver", "kube-apiserver", Exposure::Identity),
    (
        "pki/apiserver-etcd-client",
        "kube-apiserver-etcd-client",
        Exposure::Administers,
    ),
    (
        "pki/apiserver-kubelet-client",
        "kube-apiserver-kubelet-client",
        Exposure::Administers,
    ),
    (
        "pki/etcd/healthcheck-client",
        "kube-etcd-healthcheck-client",
        Exposure::Administers,
    ),
    ("pki/etcd/peer", ETCD_MEMBER, Exposure::Administers),
    ("pki/etcd/server", ETCD_MEMBER, Exposure::Administers),
    ("pki/front-proxy-client", "front-proxy-client", Exposure::Administers),
];

/// What a kubelet is towards the API server.
pub(super) const KUBELET: &str = "kubelet";
/// What a kubelet serves with.
pub(super) const KUBELET_SERVING: &str = "kubelet, serving";
/// Certificates of a member of etcd; with each one reads and writes everything.
pub(super) const ETCD_MEMBER: &str = "etcd member";
/// The key that signs tokens of service accounts.
pub(super) const SERVICE_ACCOUNT: &str = "service-account key";

/// Title of a CA.
pub(super) fn ca(common_name: &str) -> String {
    format!("CA {common_name}")
}

/// Bytes at the end of an RSA key, of its CRT coefficient: PKCS#1 and PKCS#8 end alike.
const RSA_END: usize = 64;

impl Known {
    fn new(exposure: Exposure, title: impl Into<String>, holder: Holder, value: secret::Secret<Vec<u8>>) -> Self {
        Self {
            secret: Secret::new(exposure, title, holder),
            value,
            authority: None,
        }
    }

    /// Everything that a bundle holds, and the keys that it gives to these machines. With an etcd of its own no machine holds
    /// the key of etcd's CA.
    pub fn of_bundle<'n>(
        bundle: &Bundle,
        machines: impl IntoIterator<Item = &'n str>,
        external_etcd: bool,
    ) -> Vec<Self> {
        let leaves = LeafKeys::of(bundle);
        let mut all = roots(bundle, external_etcd);
        all.extend(derived(&leaves));
        let payloads = PayloadKeys::of(bundle);
        for machine in machines {
            let holder = || Holder::Machine(machine.to_owned());
            let leaf = |(path, title, exposure): (&str, &str, Exposure)| {
                Self::new(exposure, title, holder(), leaves.of_node(machine, path))
            };
            all.extend(LEAVES.map(leaf));
            let identity = secret::Secret::new(payloads.identity(machine).to_vec());
            all.push(Self::new(
                Exposure::Identity,
                "what opens its payload",
                holder(),
                identity,
            ));
        }
        all
    }
}

fn roots(bundle: &Bundle, external_etcd: bool) -> Vec<Known> {
    let cas = [
        (&bundle.kubernetes, false),
        (&bundle.etcd, external_etcd),
        (&bundle.front_proxy, false),
    ];
    let holder = |nobody| if nobody { Holder::Nobody } else { Holder::ControlPlanes };
    let key = |title, holder, pem: &str| {
        let value = secret_part(pem)?;
        Some(Known::new(Exposure::Signs, title, holder, value))
    };
    let cas = cas.into_iter().filter_map(|(root, nobody)| {
        let authority = authority(&root.certificate)?;
        let known = key(ca(&authority.common_name), holder(nobody), root.key.expose())?;
        Some(Known {
            authority: Some(authority),
            ..known
        })
    });
    let account = key(
        SERVICE_ACCOUNT.to_owned(),
        Holder::ControlPlanes,
        bundle.service_account_key.expose(),
    );
    cas.chain(account).chain(texts(bundle)).collect()
}

/// What is no key of a certificate.
fn texts(bundle: &Bundle) -> Vec<Known> {
    let token = bundle.bootstrap_token.expose();
    let half = token.split_once('.').map_or("", |(_, half)| half);
    let certificate_key = hex(bundle.certificate_key.expose());
    let encryption_key = STANDARD.decode(bundle.encryption_key.expose()).unwrap_or_default();
    let known = |exposure, title: &str, holder, value| Known::new(exposure, title, holder, secret::Secret::new(value));
    vec![
        Known {
            secret: recognise::token(),
            value: secret::Secret::new(half.as_bytes().to_vec()),
            authority: None,
        },
        known(
            Exposure::Signs,
            "seed of the bundle",
            Holder::Nobody,
            bundle.seed.expose().clone(),
        ),
        known(
            Exposure::Administers,
            "kubeadm's certificate key",
            Holder::Nobody,
            certificate_key,
        ),
        known(
            Exposure::Administers,
            recognise::ENCRYPTION_KEY,
            Holder::ControlPlanes,
            encryption_key,
        ),
    ]
}

/// Keys from the seed that are no machine's.
fn derived(leaves: &LeafKeys) -> Vec<Known> {
    let mut all = vec![
        Known::new(
            Exposure::Administers,
            "key of admin.kubeconfig",
            Holder::Nobody,
            leaves.of_administrator(),
        ),
        Known::new(
            Exposure::Signs,
            ca("firelay-serve"),
            Holder::Nobody,
            leaves.of_boot_server(),
        ),
    ];
    for addon in declaration::all().iter().filter(|addon| !addon.certificates.is_empty()) {
        let name = addon.name.as_str();
        let key = leaves.of_addon(name, "ca");
        all.push(Known::new(
            Exposure::Signs,
            ca(&format!("{name}-ca")),
            Holder::Nobody,
            key,
        ));
        let names = addon.certificates.iter().flat_map(|authority| authority.leaves.keys());
        all.extend(names.map(|leaf| {
            let title = format!("{name}: {leaf}");
            Known::new(
                Exposure::Identity,
                title,
                Holder::ControlPlanes,
                leaves.of_addon(name, leaf),
            )
        }));
    }
    all
}

/// The bytes of a private key that are in every form of it: the scalar, or the end of an RSA key.
fn secret_part(pem: &str) -> Option<secret::Secret<Vec<u8>>> {
    let canonical = PrivateKey::from_pem(pem)?.to_pem();
    let (_, block) = parse_x509_pem(canonical.expose().as_bytes()).ok()?;
    let der = zeroize::Zeroizing::new(block.contents);
    let part = match der.get(5..7) {
        Some([0x04, length]) => der.get(7..7 + usize::from(*length))?,
        _ => &der[der.len().checked_sub(RSA_END)?..],
    };
    Some(secret::Secret::new(part.to_vec()))
}

fn authority(pem: &str) -> Option<Authority> {
    let (_, block) = parse_x509_pem(pem.as_bytes()).ok()?;
    let certificate = block.parse_x509().ok()?;
    let public = &certificate.public_key().subject_public_key.data;
    Some(Authority::new(public, &Certificate::new(&certificate)))
}

fn hex(text: &str) -> Vec<u8> {
    let pairs = (0..text.len()).step_by(2);
    let bytes = pairs.map(|at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    bytes.collect::<Option<_>>().unwrap_or_default()
}

/// The secrets to search for.
pub struct Catalogue {
    /// By their numbers.
    pub(super) secrets: Vec<Secret>,
    /// The CAs of the bundle.
    pub(super) authorities: Vec<Authority>,
    needles: Needles,
    /// Numbers by value.
    numbers: HashMap<Vec<u8>, usize>,
}

impl Catalogue {
    /// Of these; of none it recognises only what shows by itself.
    pub fn new(known: Vec<Known>) -> Self {
        let values = known.iter().map(|known| known.value.expose());
        Self {
            needles: Needles::new(values.clone().map(Vec::as_slice)),
            numbers: values
                .cloned()
                .enumerate()
                .map(|(number, value)| (value, number))
                .collect(),
            authorities: known.iter().filter_map(|known| known.authority.clone()).collect(),
            secrets: known.into_iter().map(|known| known.secret).collect(),
        }
    }

    /// It has the secrets of a bundle: what is none of them is of another cluster.
    pub(super) fn is_of_a_bundle(&self) -> bool {
        !self.secrets.is_empty()
    }

    pub(super) fn find(&self, text: &[u8], found: &mut impl FnMut(usize)) {
        self.needles.find(text, found);
    }

    /// The number of a key that is searched for.
    pub(super) fn number_of(&self, key: &PrivateKey) -> Option<usize> {
        let part = secret_part(key.to_pem().expose())?;
        self.numbers.get(part.expose()).copied()
    }
}
