//! All credentials of a cluster, from its plan, its bundle and the dates of its machines.
//!
//! Documents are deterministic: certificates that are issued here again are those in the documents, to the byte.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use firelay_verify::Tree;
use rayon::prelude::*;
use serde::Deserialize;
use time::OffsetDateTime;
use x509_parser::{certificate::X509Certificate, pem::Pem, prelude::FromDer};

use super::{
    super::failure::{Failure, chain},
    credential::{Credential, Kind, Renewal},
};
use crate::{
    encoding::unbase64,
    pki::{self, AddonCertificates, Authorities},
    plan::{NodePlan, Plan},
    record::Record,
    secrets::{self, Bundle, Generation, Keys},
    spec::JoinIdentity,
    tree::Manifest,
};

/// Name of the add-on that renews certificates on control planes.
const RENEWAL: &str = "certificateRenewal";
/// The unit of that add-on.
const TIMER: &str = "/etc/systemd/system/firelay-certificate-renewal.timer";
/// Title of the serving certificate of a kubelet.
const SERVING: &str = "kubelet server";
/// Where documents have their certificates and keys.
const FOLDER: &str = "/etc/firelay/";
/// The file for people in the tree.
const ADMINISTRATOR: &str = "admin.kubeconfig";

/// Places of certificates on machines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Places {
    leaves: Vec<Leaf>,
    authorities: Vec<Authority>,
}

/// A leaf certificate of a machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Leaf {
    /// Below `/etc/firelay`.
    file: String,
    /// Where programs read it.
    path: String,
    title: String,
    signer: Signer,
    stops: String,
}

/// The certificate of a CA on a machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Authority {
    file: String,
    path: String,
    signer: Signer,
}

static PLACES: LazyLock<Places> = LazyLock::new(|| {
    firelay_yaml::parse("places.yaml", include_str!("places.yaml"))
        .expect("a file that is built in, and that tests read")
});

/// A CA of the bundle.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Signer {
    Kubernetes,
    FrontProxy,
    Etcd,
}

impl Signer {
    /// Its common name.
    fn title(self) -> &'static str {
        match self {
            Self::Kubernetes => "CA kubernetes",
            Self::FrontProxy => "CA front-proxy-ca",
            Self::Etcd => "CA etcd-ca",
        }
    }

    /// Its key on the machines that hold it.
    fn key(self) -> &'static str {
        match self {
            Self::Kubernetes => "/etc/firelay/pki/ca.key",
            Self::FrontProxy => "/etc/firelay/pki/front-proxy-ca.key",
            Self::Etcd => "/etc/firelay/pki/etcd/ca.key",
        }
    }

    /// The loss when it ends.
    fn stops(self) -> &'static str {
        match self {
            Self::Kubernetes => {
                "the cluster stops: nobody trusts a kubelet, an API server or an administrator any more"
            }
            Self::FrontProxy => "aggregated APIs, such as that of metrics, fail",
            Self::Etcd => "etcd stops, and with it the cluster",
        }
    }

    /// Control planes hold its key.
    fn is_held(self, plan: &Plan) -> bool {
        match self {
            Self::Kubernetes => plan.pki.holds_kubernetes_key(),
            Self::FrontProxy => plan.pki.holds_front_proxy_key(),
            Self::Etcd => plan.pki.holds_etcd_key(&plan.etcd),
        }
    }
}

/// The dates of certificates: those that the record has, else those of the tree, else the bundle's.
pub struct Dates {
    /// When the life of the bootstrap token began.
    token_since: Option<OffsetDateTime>,
    administrator: OffsetDateTime,
    machines: BTreeMap<String, OffsetDateTime>,
    /// When an upgrade renewed those of control planes.
    renewed: BTreeMap<String, OffsetDateTime>,
    /// Machines that were rendered; absent if nothing was.
    rendered: Option<BTreeSet<String>>,
    /// Of all others.
    issued_at: OffsetDateTime,
}

impl Dates {
    /// The dates that record and tree know.
    pub fn of(record: Option<&Record>, tree: Option<&Manifest>, bundle: &Bundle) -> Self {
        let issued_at = bundle.issued_at;
        let nothing = Self {
            token_since: None,
            administrator: issued_at,
            machines: BTreeMap::new(),
            renewed: BTreeMap::new(),
            rendered: None,
            issued_at,
        };
        match (record, tree) {
            (Some(record), _) => Self {
                token_since: record.founded_at.map(|founded_at| bundle.token_since(founded_at)),
                administrator: record.administrator.unwrap_or(issued_at),
                machines: record
                    .machines
                    .iter()
                    .map(|(name, own)| (name.clone(), own.issued_at))
                    .collect(),
                renewed: { record.machines.keys() }
                    .filter_map(|name| Some((name.clone(), record.renewed_at(name)?)))
                    .collect(),
                rendered: Some(created(record)),
                issued_at,
            },
            (None, Some(tree)) => Self {
                administrator: tree.administrator_issued_at.unwrap_or(issued_at),
                machines: tree
                    .generations
                    .iter()
                    .map(|(name, own)| (name.clone(), own.issued_at))
                    .collect(),
                rendered: Some(tree.files.iter().filter_map(|file| file.node.clone()).collect()),
                ..nothing
            },
            (None, None) => nothing,
        }
    }

    fn issued_at(&self, node: &NodePlan) -> OffsetDateTime {
        self.machines.get(&node.name).copied().unwrap_or(self.issued_at)
    }

    /// The credential with the end that it has since an upgrade: kubeadm gives certificates the validity of its configuration.
    fn renewed(&self, plan: &Plan, own: Credential) -> Credential {
        let at = own.machine.as_ref().and_then(|name| self.renewed.get(name));
        let at = at.filter(|_| own.renewal == Renewal::Kubeadm);
        let renewed = at.map(|at| *at + plan.pki.leaf_validity);
        Credential {
            expires: own.expires.max(renewed),
            ..own
        }
    }

    fn is_rendered(&self, node: &NodePlan) -> bool {
        self.rendered.as_ref().is_none_or(|names| names.contains(&node.name))
    }
}

/// Machines that have certificates of their documents: adopted ones have others, whose dates nothing here knows.
fn created(record: &Record) -> BTreeSet<String> {
    let machines = record.machines.iter().filter(|(_, own)| !own.is_adopted());
    machines.map(|(name, _)| name.clone()).collect()
}

/// All credentials, sorted by their ends.
pub struct Inventory {
    /// The next end first; those without an end last.
    pub credentials: Vec<Credential>,
    /// When the first certificate in a machine's document ends.
    ends: BTreeMap<String, OffsetDateTime>,
}

impl Inventory {
    /// The credentials of a cluster.
    pub fn of(plan: &Plan, bundle: &Bundle, dates: &Dates) -> Result<Self, Failure> {
        let authorities = Authorities::open(bundle).map_err(|error| refused(&error))?;
        let nodes: Vec<_> = plan.nodes.iter().filter(|node| dates.is_rendered(node)).collect();
        let issue = |node: &&NodePlan| pki::issue(plan, &authorities, bundle, node, dates.issued_at(node));
        let issued: Result<Vec<_>, _> = nodes.par_iter().map(issue).collect();
        let issued = issued.map_err(|error| refused(&error))?;
        let mut credentials = of_bundle(plan, bundle, dates)?;
        for (node, pki) in nodes.iter().zip(&issued) {
            for file in &pki.files {
                let requests = plan.requests_serving(node);
                let renewal = |leaf: &Leaf| match requests && leaf.title == SERVING {
                    true => Renewal::Kubelet,
                    false => renewal(leaf.signer.is_held(plan), has_timer(plan), leaf),
                };
                let own = of_file(&node.name, (&file.path, file.content.expose()), &renewal)?;
                credentials.extend(own.map(|own| dates.renewed(plan, own)));
            }
        }
        let addons = pki::of_addons(plan, &authorities, bundle).map_err(|error| refused(&error))?;
        credentials.extend(of_addons(&addons)?);
        let kubeconfig = pki::admin_kubeconfig(plan, &authorities, bundle, dates.administrator);
        credentials.push(of_administrator(kubeconfig.map_err(|error| refused(&error))?.expose())?);
        credentials.sort_by(|one, other| order(one).cmp(&order(other)));
        let ends = nodes.iter().zip(issued);
        Ok(Self {
            credentials,
            ends: ends.map(|(node, pki)| (node.name.clone(), pki.expires)).collect(),
        })
    }

    /// Machines of a tree whose documents end at another time.
    pub fn differences(&self, tree: &Manifest) -> Vec<String> {
        let other = |name: &&String, end: OffsetDateTime| self.ends.get(*name).is_some_and(|own| *own != end);
        let differ = tree.files.iter().filter_map(|file| {
            let (name, end) = (file.node.as_ref()?, file.expires?);
            other(&name, end).then(|| name.clone())
        });
        differ.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// The credentials in the documents of a tree, sorted by their ends. Roots of the bundle and credentials outside of the documents
/// are not in it, and what cannot be read is left to `verify`.
pub fn of_tree(tree: &Tree) -> Vec<Credential> {
    let has = |path: &str| tree.machines.iter().any(|machine| machine.root.has(path));
    let timer = has(TIMER);
    let mut credentials = Vec::new();
    for machine in &tree.machines {
        let renewal = |leaf: &Leaf| renewal(has(leaf.signer.key()), timer, leaf);
        for (path, _) in machine.root.below(FOLDER) {
            let file = path.strip_prefix(FOLDER).unwrap_or(path);
            let text = machine.text(path).unwrap_or_default();
            credentials.extend(of_file(&machine.name, (file, text), &renewal).ok().flatten());
        }
    }
    credentials.sort_by(|one, other| order(one).cmp(&order(other)));
    credentials
}

/// Those without an end last.
fn order(credential: &Credential) -> (bool, Option<OffsetDateTime>, &str) {
    (credential.expires.is_none(), credential.expires, &credential.title)
}

fn refused(error: &pki::Error) -> Failure {
    Failure::Secrets(chain(error))
}

/// Subject and end of the first certificate of a PEM text.
fn certificate(place: &str, text: &str) -> Result<(String, OffsetDateTime), Failure> {
    let broken = || Failure::Secrets(format!("{place} holds no certificate"));
    let blocks = Pem::iter_from_buffer(text.as_bytes()).flatten();
    let block = { blocks }
        .find(|block| block.label == "CERTIFICATE")
        .ok_or_else(broken)?;
    let (_, read) = X509Certificate::from_der(&block.contents).map_err(|_| broken())?;
    Ok((read.subject().to_string(), read.validity().not_after.to_datetime()))
}

/// The roots in the bundle.
fn of_bundle<'a>(plan: &Plan, bundle: &'a Bundle, dates: &Dates) -> Result<Vec<Credential>, Failure> {
    let named = |set: [&'a secrets::Authority; 3], suffix: &str| {
        let signers = [Signer::Kubernetes, Signer::Etcd, Signer::FrontProxy];
        let titles = signers.map(|signer| (signer, format!("{}{suffix}", signer.title())));
        titles.into_iter().zip(set).collect::<Vec<_>>()
    };
    let mut authorities = named([&bundle.kubernetes, &bundle.etcd, &bundle.front_proxy], "");
    if let Some(Keys::Authorities(other)) = bundle.rotating() {
        let suffix = match other {
            Generation::Next(_) => ", the next one",
            Generation::Previous(_) => ", the former one",
        };
        let other = other.key();
        authorities.extend(named([&other.kubernetes, &other.etcd, &other.front_proxy], suffix));
    }
    let root = |((signer, title), authority): ((Signer, String), &secrets::Authority)| {
        let (subject, end) = certificate(secrets::FILE, &authority.certificate)?;
        Ok(Credential {
            kind: Kind::Authority,
            subject: Some(subject),
            expires: Some(end),
            ..key(&title, Renewal::RotateCa, signer.stops())
        })
    };
    let mut all = authorities.into_iter().map(root).collect::<Result<Vec<_>, Failure>>()?;
    all.extend(token(plan, dates));
    all.push(key(
        "service-account key",
        Renewal::RotateServiceAccount,
        "the tokens of all service accounts are signed with it",
    ));
    let encryption = plan.kubernetes.control_plane.encryption.as_ref();
    let encryption = encryption.filter(|own| own.has_bundle_key());
    let stops = "objects in etcd are encrypted with it";
    all.extend(encryption.map(|_| key("encryption key", Renewal::RotateEncryption, stops)));
    Ok(all)
}

/// A key that does not end.
fn key(title: &str, renewal: Renewal, stops: &str) -> Credential {
    Credential {
        title: title.to_owned(),
        kind: Kind::Key,
        subject: None,
        machine: None,
        path: "bundle".to_owned(),
        expires: None,
        renewal,
        stops: stops.to_owned(),
    }
}

/// The bootstrap token, where a machine joins with it.
fn token(plan: &Plan, dates: &Dates) -> Option<Credential> {
    let joins = |node: &&NodePlan| node.roles.kubernetes() && (node.pool || node.identity == JoinIdentity::Token);
    plan.nodes.iter().find(joins)?;
    let ttl = plan.join.token_ttl;
    let end = dates.token_since.and_then(|since| since.checked_add(ttl));
    let title = match (ttl.is_zero(), end) {
        (false, None) => format!("bootstrap token (lasts {}h from the founding)", ttl.whole_hours()),
        _ => "bootstrap token".to_owned(),
    };
    Some(Credential {
        kind: Kind::Token,
        expires: end.filter(|_| !ttl.is_zero()),
        ..key(
            &title,
            Renewal::RotateToken,
            "machines of pools, and machines with join.identity: token, cannot join any more",
        )
    })
}

/// The certificate in a file of a machine, by its path below `/etc/firelay`.
fn of_file(
    machine: &str,
    (file, text): (&str, &str),
    renewal: &dyn Fn(&Leaf) -> Renewal,
) -> Result<Option<Credential>, Failure> {
    let leaf = PLACES.leaves.iter().find(|leaf| leaf.file == file);
    let authority = PLACES.authorities.iter().find(|authority| authority.file == file);
    let credential = match (leaf, authority) {
        (Some(leaf), _) => Credential {
            kind: Kind::Certificate,
            path: leaf.path.clone(),
            ..key(&leaf.title, renewal(leaf), &leaf.stops)
        },
        (_, Some(authority)) => Credential {
            kind: Kind::Authority,
            path: authority.path.clone(),
            ..key(authority.signer.title(), Renewal::RotateCa, authority.signer.stops())
        },
        _ => return Ok(None),
    };
    let (subject, end) = certificate(file, text)?;
    Ok(Some(Credential {
        subject: Some(subject),
        machine: Some(machine.to_owned()),
        expires: Some(end),
        ..credential
    }))
}

/// The kubelet renews what it may request, kubeadm what CAs sign whose keys control planes hold.
fn renewal(held: bool, timer: bool, leaf: &Leaf) -> Renewal {
    match (held, leaf.title.as_str()) {
        (false, _) | (_, SERVING) => Renewal::RotateLeaves,
        (true, "kubelet client") => Renewal::Kubelet,
        (true, _) if timer => Renewal::Timer,
        (true, _) => Renewal::Kubeadm,
    }
}

/// The add-on renews certificates on control planes.
fn has_timer(plan: &Plan) -> bool {
    plan.addons.iter().any(|addon| addon.key() == RENEWAL)
}

/// Certificates of plugins and add-ons, and their CAs.
fn of_addons(addons: &AddonCertificates) -> Result<Vec<Credential>, Failure> {
    let mut all = Vec::new();
    for (addon, certificates) in addons {
        let one = |title: String, kind, text: &str| {
            let (subject, end) = certificate(&title, text)?;
            Ok::<_, Failure>(Credential {
                kind,
                subject: Some(subject),
                path: "cluster".to_owned(),
                expires: Some(end),
                ..key(
                    &title,
                    Renewal::Nobody,
                    &format!("the parts of {addon} refuse each other"),
                )
            })
        };
        if let Some(first) = certificates.values().next() {
            all.push(one(format!("CA of {addon}"), Kind::Authority, &first.ca)?);
        }
        for (leaf, pair) in certificates {
            all.push(one(format!("{addon}: {leaf}"), Kind::Certificate, &pair.certificate)?);
        }
    }
    Ok(all)
}

/// The certificate in the kubeconfig for people.
fn of_administrator(kubeconfig: &str) -> Result<Credential, Failure> {
    let data = kubeconfig
        .lines()
        .find_map(|line| line.trim().strip_prefix("client-certificate-data: "));
    let text = data.and_then(|data| unbase64(data.trim()).ok()).unwrap_or_default();
    let (subject, end) = certificate(ADMINISTRATOR, &String::from_utf8_lossy(&text))?;
    Ok(Credential {
        kind: Kind::Certificate,
        subject: Some(subject),
        path: ADMINISTRATOR.to_owned(),
        expires: Some(end),
        ..key(ADMINISTRATOR, Renewal::Render, "kubectl with this file is refused")
    })
}
