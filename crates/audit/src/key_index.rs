//! The identity of each key of a tree: by the bundle if that has it, else by the key's certificates.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    catalogue::{Authority, Catalogue, ETCD_MEMBER, KUBELET, KUBELET_SERVING, SERVICE_ACCOUNT, ca},
    certificate::Certificate,
    contents::Contents,
    finding::Finding,
    machine_files::{Document, MachineFiles, Role},
    patterns::Mark,
    secret::{Exposure, Holder, Secret},
};

/// Common name of etcd's CA, as kubeadm and every bundle of firelay have it.
const ETCD_CA: &str = "etcd-ca";
/// The CAs whose certificates give access to a cluster.
const CAS: [&str; 3] = ["kubernetes", ETCD_CA, "front-proxy-ca"];
/// A client of etcd that members have, too.
const HEALTH_CHECK: &str = "kube-etcd-healthcheck-client";
/// Prefix of the names of kubelets.
const NODE: &str = "system:node:";

/// Secrets of a file, and what each is wrapped in.
pub(crate) type Found = BTreeMap<Secret, String>;

/// The certificates of keys that the catalogue does not know. A key may be in one document and its certificate in another.
pub(crate) struct KeyIndex {
    certificates: BTreeMap<Vec<u8>, BTreeSet<Certificate>>,
    /// Separate public keys on control planes.
    publics: BTreeSet<Vec<u8>>,
    /// The cluster's CAs. Their names do not identify them: every cluster of kubeadm has a CA `kubernetes`.
    authorities: BTreeSet<Authority>,
}

impl KeyIndex {
    /// Indexes the keys of machines and of `shared` files.
    pub(crate) fn of(catalogue: &Catalogue, machines: &[MachineFiles], shared: &[Document]) -> Self {
        let files = machines.iter().flat_map(|machine| &machine.files).chain(shared);
        let keys = files.flat_map(|file| &file.contents.keys);
        let unknown: BTreeSet<_> = keys
            .filter(|(_, key)| key.known.is_none())
            .map(|(public, _)| public)
            .collect();
        let (mut certificates, mut publics) = (BTreeMap::new(), BTreeSet::new());
        for machine in machines {
            for file in &machine.files {
                let of_keys = file.contents.certificates.iter();
                for (public, of_key) in of_keys.filter(|(public, _)| unknown.contains(public)) {
                    let all: &mut BTreeSet<_> = certificates.entry(public.clone()).or_default();
                    all.extend(of_key.iter().cloned());
                }
                if machine.roles.contains(&Role::ControlPlane) {
                    publics.extend(file.contents.publics.iter().cloned());
                }
            }
        }
        let authorities = match &catalogue.authorities[..] {
            [] => presented_authorities(machines),
            known => known.iter().cloned().collect(),
        };
        Self {
            certificates,
            publics,
            authorities,
        }
    }

    pub(crate) fn secrets(&self, catalogue: &Catalogue, contents: &Contents) -> Found {
        let known = contents.known.iter();
        let known = known.map(|(number, wrapped)| (catalogue.secrets[*number].clone(), wrapped.clone()));
        let keys = contents.keys.iter().map(|(public, key)| {
            let secret = match key.known {
                Some(number) => catalogue.secrets[number].clone(),
                None => self.key(public),
            };
            (secret, key.wrapped.clone())
        });
        let mut found: Found = keys.chain(known).collect();
        let searched = catalogue.is_of_a_bundle();
        let tokens = found.keys().any(|secret| secret.holder == Holder::Joiners);
        for (mark, wrapped) in &contents.marks {
            // A known secret needs no recognition.
            let same = |secret: &Secret| {
                *mark == Mark::Token && tokens || found.keys().any(|found| found.title == secret.title)
            };
            if let Some(secret) = mark.secret(searched).filter(|secret| !same(secret)) {
                found.insert(secret, wrapped.clone());
            }
        }
        found
    }

    /// Identifies a key by its certificates.
    fn key(&self, public: &[u8]) -> Secret {
        let own = |title: String| Secret::new(Exposure::Identity, title, Holder::Anybody);
        match self.certificates.get(public) {
            Some(certificates) => certificates
                .iter()
                .map(|certificate| self.of_certificate(public, certificate))
                .max()
                .unwrap_or_else(|| own("key of yours".to_owned())),
            None if self.publics.contains(public) => {
                Secret::new(Exposure::Signs, SERVICE_ACCOUNT, Holder::ControlPlanes)
            }
            None => own("key of yours".to_owned()),
        }
    }

    /// Findings for a file that belongs to no machine. Only `admin.kubeconfig` and Terraform's variables may contain
    /// secrets; the caller excludes both.
    pub(crate) fn of_no_machine(&self, catalogue: &Catalogue, file: &Document) -> Vec<Finding> {
        let secrets = self.secrets(catalogue, &file.contents);
        let finding = |(secret, wrapped): (Secret, String)| Finding {
            document: file.path.clone(),
            wrapped,
            code: "FL1085",
            message: format!("{} is in a file that is for nobody in particular", secret.title),
            help: "render the tree anew; nothing but documents and admin.kubeconfig holds secrets".to_owned(),
        };
        secrets.into_iter().map(finding).collect()
    }

    fn of_certificate(&self, public: &[u8], certificate: &Certificate) -> Secret {
        let Certificate {
            authority,
            common_name,
            client,
            issuer,
            ..
        } = certificate;
        let is_ours = self.authorities.iter().any(|own| own.public == public);
        let of = |exposure, title: &str, holder| Secret::new(exposure, title, holder);
        let ours = self.authorities.iter().any(|own| own.signed(certificate));
        let node = common_name.strip_prefix(NODE).filter(|_| ours);
        match (node, client) {
            _ if *authority && is_ours && common_name == ETCD_CA => {
                of(Exposure::Signs, &ca(common_name), Holder::EtcdSigner)
            }
            _ if *authority && is_ours => of(Exposure::Signs, &ca(common_name), Holder::ControlPlanes),
            _ if *authority && CAS.contains(&common_name.as_str()) => {
                let title = format!("{} of another cluster", ca(common_name));
                of(Exposure::Signs, &title, Holder::Anybody)
            }
            _ if *authority => of(Exposure::Signs, &ca(common_name), Holder::Anybody),
            (Some(node), true) => of(Exposure::Identity, KUBELET, Holder::Machine(node.to_owned())),
            (Some(node), false) => of(Exposure::Identity, KUBELET_SERVING, Holder::Machine(node.to_owned())),
            _ if !ours => of(Exposure::Identity, &format!("key of {common_name}"), Holder::Anybody),
            (None, false) => of(Exposure::Identity, common_name, Holder::ControlPlanes),
            _ if common_name == HEALTH_CHECK => of(Exposure::Administers, common_name, Holder::Etcd),
            // Members have the names of their machines; the names of all other clients of etcd begin with `kube-`.
            _ if issuer == ETCD_CA && !common_name.starts_with("kube-") => {
                of(Exposure::Administers, ETCD_MEMBER, Holder::Machine(common_name.clone()))
            }
            _ => of(Exposure::Administers, common_name, Holder::ControlPlanes),
        }
    }
}

/// The CAs, if there is no bundle: those on control planes and etcd members, or on all machines if there are none.
fn presented_authorities(machines: &[MachineFiles]) -> BTreeSet<Authority> {
    let trusted = |machine: &&MachineFiles| machine.roles.iter().any(|role| *role != Role::Worker);
    let any = machines.iter().any(|machine| trusted(&machine));
    let holders = machines.iter().filter(|machine| !any || trusted(machine));
    let files = holders.flat_map(|machine| &machine.files);
    let certificates = files.flat_map(|file| &file.contents.certificates);
    let all = certificates.flat_map(|(public, of_key)| of_key.iter().map(move |certificate| (public, certificate)));
    let own = all.filter(|(_, certificate)| certificate.authority && CAS.contains(&certificate.common_name.as_str()));
    own.map(|(public, certificate)| Authority::new(public, certificate))
        .collect()
}
