//! The files of machines without a bundle: all but certificates and keys, with stand-ins for what a bundle gives.

use firelay_yaml::diagnostic::Diagnostic;
use rayon::prelude::*;
use time::{Duration, OffsetDateTime};

use super::failure::Failure;
use crate::{
    addons,
    node::{self, NodeFiles, Shared, kubeadm::JoinCredentials},
    patch::{self, Patched},
    pki::{AddonCertificates, NodePki},
    plan::{NodePlan, Plan},
    profile::Profiles,
    secret::Secret,
};

/// What stands for a bundle. Two that differ in everything tell what of a file comes from it.
#[derive(Clone, Copy, Debug)]
pub struct StandIns {
    token: &'static str,
    hash: &'static str,
    encryption_key: &'static str,
    day: i64,
}

/// One bundle's place, and another's.
pub const STAND_INS: [StandIns; 2] = [
    StandIns {
        token: "aaaaaa.aaaaaaaaaaaaaaaa",
        hash: "sha256:aaaa",
        encryption_key: "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=",
        day: 1,
    },
    StandIns {
        token: "bbbbbb.bbbbbbbbbbbbbbbb",
        hash: "sha256:bbbb",
        encryption_key: "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI=",
        day: 2,
    },
];

/// A plan's machines with a stand-in for the bundle.
pub struct Draft<'a> {
    shared: Shared<'a>,
    pki: NodePki,
}

impl<'a> Draft<'a> {
    /// Renders what machines share.
    pub fn new(plan: &'a Plan, profiles: &Profiles, bundle: StandIns) -> Result<Self, Failure> {
        let issued = OffsetDateTime::UNIX_EPOCH + Duration::days(bundle.day);
        let shared = Shared {
            plan,
            credentials: JoinCredentials {
                token: Secret::new(bundle.token.to_owned()),
                ca_cert_hash: bundle.hash.to_owned(),
            },
            encryption_key: Secret::new(bundle.encryption_key.to_owned()),
            phases: addons::phases(plan, &AddonCertificates::new()).map_err(|error| Failure::io(&error))?,
            containerd: super::assembly::containerd(plan, profiles)?,
            not_before: issued - plan.pki.backdate,
            founded: false,
        };
        let pki = NodePki {
            files: Vec::new(),
            expires: issued + plan.pki.leaf_validity,
        };
        Ok(Self { shared, pki })
    }

    /// A machine's files with its patches laid.
    pub fn patched(&self, node: &NodePlan) -> Result<Patched, Failure> {
        let files: NodeFiles = node::assemble(&self.shared, node, &self.pki).map_err(|error| Failure::io(&error))?;
        patch::apply(self.shared.plan, node, files).map_err(|error| Failure::io(&error))
    }
}

/// The findings about a plan's patches: each is laid on every machine that it is for.
pub fn patch_findings(plan: &Plan, profiles: &Profiles) -> Result<Vec<Diagnostic>, Failure> {
    if plan.patches.is_empty() {
        return Ok(Vec::new());
    }
    let draft = Draft::new(plan, profiles, STAND_INS[0])?;
    let concerned = |node: &&NodePlan| plan.patches.iter().any(|patch| patch.scope.holds(node));
    let nodes: Vec<_> = plan.nodes.iter().filter(concerned).collect();
    let outcomes = nodes
        .par_iter()
        .map(|node| Ok(draft.patched(node)?.outcomes))
        .collect::<Result<Vec<_>, Failure>>()?;
    Ok(patch::judge(&plan.patches, &outcomes))
}
