//! A preview of the files of machines: rendered without a bundle, so without certificates and keys, and with fake secrets.

use std::sync::Arc;

use rayon::prelude::*;
use time::{Duration, OffsetDateTime};

use super::failure::Failure;
use crate::{
    addons,
    node::{self, Shared, kubeadm::JoinCredentials},
    patch::{self, Patched},
    pki::{AddonCertificates, NodePki},
    plan::{NodePlan, Plan, RuntimeKind},
    profile::{ContainerdProfile, Profiles},
    secret::Secret,
    secrets::ENCRYPTION_KEY,
};
use firelay_yaml::diagnostic::Diagnostic;

/// Secrets in place of a bundle's. Rendering with two sets that differ in everything shows what depends on the bundle.
#[derive(Clone, Copy, Debug)]
pub struct FakeSecrets {
    token: &'static str,
    hash: &'static str,
    encryption_key: &'static str,
    day: i64,
}

/// Two different sets.
pub const FAKE_SECRETS: [FakeSecrets; 2] = [
    FakeSecrets {
        token: "aaaaaa.aaaaaaaaaaaaaaaa",
        hash: "sha256:aaaa",
        encryption_key: "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=",
        day: 1,
    },
    FakeSecrets {
        token: "bbbbbb.bbbbbbbbbbbbbbbb",
        hash: "sha256:bbbb",
        encryption_key: "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI=",
        day: 2,
    },
];

/// The parts of a preview that machines share.
pub struct Preview<'a> {
    shared: Shared<'a>,
    pki: NodePki,
}

impl<'a> Preview<'a> {
    /// Renders the manifests.
    pub fn new(plan: &'a Plan, profiles: &Profiles, bundle: FakeSecrets) -> Result<Self, Failure> {
        let issued = OffsetDateTime::UNIX_EPOCH + Duration::days(bundle.day);
        let shared = Shared {
            plan,
            credentials: JoinCredentials {
                token: Secret::new(bundle.token.to_owned()),
                ca_cert_hashes: vec![bundle.hash.to_owned()],
                signing_file: false,
            },
            encryption_keys: vec![(ENCRYPTION_KEY.to_owned(), Secret::new(bundle.encryption_key.to_owned()))],
            phases: addons::phases(plan, &AddonCertificates::new())?,
            containerd: containerd(plan, profiles)?,
            founded: false,
        };
        let pki = NodePki {
            files: Vec::new(),
            not_before: issued - plan.pki.backdate,
            expires: issued + plan.pki.leaf_validity,
        };
        Ok(Self { shared, pki })
    }

    /// A machine's patched files.
    pub fn patched(&self, node: &NodePlan) -> Result<Patched, Failure> {
        let files = node::assemble(&self.shared, node, &self.pki)?;
        Ok(patch::apply(self.shared.plan, node, files)?)
    }
}

/// The configuration of the plan's containerd; `None` if CRI-O is in its place.
pub(super) fn containerd(plan: &Plan, profiles: &Profiles) -> Result<Option<Arc<ContainerdProfile>>, Failure> {
    if plan.runtime.kind == RuntimeKind::Crio {
        return Ok(None);
    }
    let version = &plan.runtime.version;
    match profiles.containerd(version) {
        Some(profile) => Ok(Some(Arc::clone(profile))),
        None => Err(Failure::Io(format!(
            "no profile says how containerd {version} is configured"
        ))),
    }
}

/// The findings about a plan's patches, each of which is applied on every machine that it is for.
pub fn check_patches(plan: &Plan, profiles: &Profiles) -> Result<Vec<Diagnostic>, Failure> {
    if plan.patches.is_empty() {
        return Ok(Vec::new());
    }
    let preview = Preview::new(plan, profiles, FAKE_SECRETS[0])?;
    let concerned = |node: &&NodePlan| plan.patches.iter().any(|patch| patch.scope.holds(node));
    let nodes: Vec<_> = plan.nodes.iter().filter(concerned).collect();
    let outcomes = nodes
        .par_iter()
        .map(|node| Ok(preview.patched(node)?.outcomes))
        .collect::<Result<Vec<_>, Failure>>()?;
    Ok(patch::findings(&plan.patches, &outcomes))
}
