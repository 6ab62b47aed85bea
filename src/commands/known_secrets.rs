//! The secrets of a bundle, and all keys that are derived from its seed, for `audit` to search for.

use rayon::prelude::*;
use x509_parser::pem::parse_x509_pem;
use zeroize::Zeroizing;

use crate::{
    audit::{
        ENCRYPTION_KEY, ETCD_MEMBER, Exposure, Holder, KUBELET, KUBELET_SERVING, KnownSecret, SERVICE_ACCOUNT,
        bootstrap_token,
    },
    declaration,
    delivery::PayloadKeys,
    encoding::{unbase64, unhex},
    pki::LeafKeys,
    plan::NodePlan,
    secret::Secret,
    secrets::{Bundle, Keys, PrivateKey},
};

/// Keys of machines by their paths below `/etc/firelay`, with their titles.
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

/// Bytes at the end of an RSA key, of its CRT coefficient: PKCS#1 and PKCS#8 end alike.
const RSA_END: usize = 64;

/// A machine for whose keys a tree is searched.
#[derive(Clone, Copy, Debug)]
pub struct KeyHolder<'n> {
    /// Its name.
    pub name: &'n str,
    /// It is a control plane or an etcd member, or may have been one.
    pub serves: bool,
}

impl<'n> KeyHolder<'n> {
    /// A machine that is rendered.
    pub fn of(node: &'n NodePlan) -> Self {
        Self {
            name: &node.name,
            serves: node.roles.control_plane || node.roles.etcd,
        }
    }

    /// Its keys in [`LEAVES`]. A bundle gives a worker those of its kubelet alone.
    fn leaves(self) -> impl Iterator<Item = (&'static str, &'static str, Exposure)> {
        LEAVES.into_iter().filter(move |(path, ..)| self.has(path))
    }

    /// Whether it may have the key at this path.
    pub fn has(self, path: &str) -> bool {
        self.serves || path.starts_with("kubelet/")
    }

    fn secrets(self, leaves: &LeafKeys, payloads: &PayloadKeys) -> Vec<KnownSecret> {
        let holder = || Holder::Machine(self.name.to_owned());
        let known =
            |(path, title, exposure)| KnownSecret::new(exposure, title, holder(), leaves.of_node(self.name, path));
        let identity = Secret::new(payloads.identity(self.name).to_vec());
        let identity = KnownSecret::new(Exposure::Identity, "what opens its payload", holder(), identity);
        self.leaves().map(known).chain([identity]).collect()
    }
}

/// All secrets of a bundle, and the keys that it gives to these machines. With external etcd only machines that renew its certificates
/// have the key of etcd's CA.
pub fn of_bundle<'n>(
    bundle: &Bundle,
    machines: impl IntoIterator<Item = KeyHolder<'n>>,
    external_etcd: bool,
) -> Vec<KnownSecret> {
    let leaves = LeafKeys::of(bundle);
    let payloads = PayloadKeys::of(bundle);
    let machines: Vec<_> = machines.into_iter().collect();
    let mut known = roots(bundle, external_etcd);
    known.extend(derived(&leaves));
    let own = machines.par_iter();
    known.par_extend(own.flat_map_iter(|machine| machine.secrets(&leaves, &payloads)));
    known
}

fn roots(bundle: &Bundle, external_etcd: bool) -> Vec<KnownSecret> {
    let etcd = if external_etcd {
        Holder::EtcdSigner
    } else {
        Holder::ControlPlanes
    };
    let cas = [
        (&bundle.kubernetes, Holder::ControlPlanes),
        (&bundle.etcd, etcd),
        (&bundle.front_proxy, Holder::ControlPlanes),
    ];
    let cas = cas.into_iter().filter_map(|(root, holder)| {
        let value = secret_part(root.key.expose())?;
        KnownSecret::of_authority(&root.certificate, holder, value)
    });
    let account = secret_part(bundle.service_account_key.expose());
    let account = account.map(|value| KnownSecret::new(Exposure::Signs, SERVICE_ACCOUNT, Holder::ControlPlanes, value));
    cas.chain(account)
        .chain(texts(bundle))
        .chain(generations(bundle))
        .collect()
}

/// Secrets that are no keys of certificates.
fn texts(bundle: &Bundle) -> [KnownSecret; 3] {
    let token = bundle.bootstrap_token.expose();
    let half = token.split_once('.').map_or("", |(_, half)| half);
    let certificate_key = unhex(bundle.certificate_key.expose()).unwrap_or_default();
    let joins = bootstrap_token();
    [
        (
            joins.exposure,
            joins.title.as_str(),
            joins.holder,
            half.as_bytes().to_vec(),
        ),
        (
            Exposure::Signs,
            "seed of the bundle",
            Holder::Nobody,
            bundle.seed.expose().clone(),
        ),
        (
            Exposure::Administers,
            "kubeadm's certificate key",
            Holder::Nobody,
            certificate_key,
        ),
    ]
    .map(|(exposure, title, holder, value)| KnownSecret::new(exposure, title, holder, Secret::new(value)))
}

/// Keys of encryption at rest, and the other generation of keys that rotate: a machine signs with one service-account key alone.
fn generations(bundle: &Bundle) -> Vec<KnownSecret> {
    let keys = bundle.encryption_keys().into_iter().map(|(_, key)| {
        let value = Secret::new(unbase64(key.expose()).unwrap_or_default());
        KnownSecret::new(Exposure::Administers, ENCRYPTION_KEY, Holder::ControlPlanes, value)
    });
    // Those of the other CAs are on no machine: before the switch they sign nothing, and afterwards nothing more.
    let authorities = bundle.other_authorities().into_iter();
    let authorities = authorities.flat_map(|own| [&own.kubernetes, &own.etcd, &own.front_proxy]);
    let authorities = authorities.filter_map(|root| {
        KnownSecret::of_authority(&root.certificate, Holder::Nobody, secret_part(root.key.expose())?)
    });
    let authorities: Vec<_> = authorities.collect();
    let account = match bundle.rotating() {
        Some(Keys::ServiceAccount(own)) => secret_part(own.key().key.expose()),
        _ => None,
    };
    let account = account.map(|value| KnownSecret::new(Exposure::Signs, SERVICE_ACCOUNT, Holder::Nobody, value));
    let token = bundle.previous_token().map(|token| {
        let half = token.expose().split_once('.').map_or("", |(_, half)| half);
        let value = Secret::new(half.as_bytes().to_vec());
        let joins = bootstrap_token();
        KnownSecret::new(joins.exposure, joins.title.as_str(), Holder::Nobody, value)
    });
    keys.chain(account).chain(token).chain(authorities).collect()
}

/// Keys from the seed that belong to no machine.
fn derived(leaves: &LeafKeys) -> Vec<KnownSecret> {
    let ca = |name: &str, key| KnownSecret::new(Exposure::Signs, format!("CA {name}"), Holder::Nobody, key);
    let administrator = KnownSecret::new(
        Exposure::Administers,
        "key of admin.kubeconfig",
        Holder::Nobody,
        leaves.of_administrator(),
    );
    let mut all = vec![administrator, ca("firelay-serve", leaves.of_boot_server())];
    for addon in declaration::all().filter(|addon| !addon.certificates.is_empty()) {
        let name = addon.name.as_str();
        all.push(ca(&format!("{name}-ca"), leaves.of_addon(name, "ca")));
        let names = addon.certificates.iter().flat_map(|authority| authority.leaves.keys());
        all.extend(names.map(|leaf| {
            let (title, key) = (format!("{name}: {leaf}"), leaves.of_addon(name, leaf));
            KnownSecret::new(Exposure::Identity, title, Holder::ControlPlanes, key)
        }));
    }
    all
}

/// The bytes that all forms of a private key have: the scalar, or the end of an RSA key.
fn secret_part(pem: &str) -> Option<Secret<Vec<u8>>> {
    let canonical = PrivateKey::from_pem(pem)?.to_pem();
    let (_, block) = parse_x509_pem(canonical.expose().as_bytes()).ok()?;
    let der = Zeroizing::new(block.contents);
    let part = match der.get(5..7) {
        Some([0x04, length]) => der.get(7..7 + usize::from(*length))?,
        _ => &der[der.len().checked_sub(RSA_END)?..],
    };
    Some(Secret::new(part.to_vec()))
}
