//! The stages composed for one cluster: from a resolved spec and a bundle to each node's files and artifact.

use std::{
    borrow::{Borrow, Cow},
    collections::BTreeMap,
    sync::{OnceLock, atomic::Ordering},
};

use rayon::prelude::*;
use time::OffsetDateTime;

use super::{
    failure::{Failure, chain},
    preview::containerd,
    progress,
    project::Project,
};
use crate::{
    addons,
    delivery::{self, Artifact, ArtifactFile, PayloadKeys, pxe},
    node::{self, NodeFiles, Shared, kubeadm::JoinCredentials},
    patch::{self, Outcome},
    pki::{self, Authorities, NodePki},
    plan::NodePlan,
    secrets::Bundle,
    tree::Generation,
};

/// Values that all nodes of a cluster share, computed once.
pub struct Assembly<'a> {
    bundle: &'a Bundle,
    authorities: Authorities,
    keys: PayloadKeys,
    shared: Shared<'a>,
    /// Date of the administrator's certificate.
    administrator: Option<OffsetDateTime>,
    /// Machines whose certificates have a date of their own, or whose document has changed.
    generations: BTreeMap<String, Generation>,
}

impl<'a> Assembly<'a> {
    /// Opens the authorities and renders the manifests.
    pub fn new(project: &'a Project, bundle: &'a Bundle, founded: bool) -> Result<Self, Failure> {
        let plan = &project.plan;
        let authorities = Authorities::open(bundle).map_err(|error| secrets(&error))?;
        let certificates = pki::of_addons(plan, &authorities, bundle).map_err(|error| secrets(&error))?;
        let shared = Shared {
            plan,
            credentials: JoinCredentials {
                token: bundle.bootstrap_token.clone(),
                ca_cert_hashes: pki::ca_cert_hashes(bundle).map_err(|error| secrets(&error))?,
                signing_file: bundle.has_rotated_authorities(),
            },
            encryption_keys: bundle.encryption_keys(),
            phases: addons::phases(plan, &certificates)?,
            containerd: containerd(plan, &project.profiles)?,
            founded,
        };
        Ok(Self {
            bundle,
            authorities,
            keys: PayloadKeys::of(bundle),
            shared,
            administrator: None,
            generations: BTreeMap::new(),
        })
    }

    /// The same with the dates of machines, and of the administrator's certificate where it is not the bundle's.
    #[must_use]
    pub fn dated(mut self, generations: BTreeMap<String, Generation>, administrator: Option<OffsetDateTime>) -> Self {
        self.administrator = administrator;
        self.generations = generations;
        self
    }

    /// Machines whose certificates have a date of their own, or whose document has changed.
    pub fn generations(&self) -> &BTreeMap<String, Generation> {
        &self.generations
    }

    /// Date of the administrator's certificate, where it is not the bundle's.
    pub fn administrator(&self) -> Option<OffsetDateTime> {
        self.administrator
    }

    /// The date of a machine's certificates.
    pub fn issued_at(&self, node: &NodePlan) -> OffsetDateTime {
        let own = self.generations.get(&node.name);
        own.map_or(self.bundle.issued_at, |own| own.issued_at)
    }

    /// The bundle with all secrets.
    pub fn bundle(&self) -> &Bundle {
        self.bundle
    }

    /// Whether the cluster exists already.
    pub fn is_founded(&self) -> bool {
        self.shared.founded
    }

    /// Certificates, keys and kubeconfigs of a node.
    pub fn pki(&self, node: &NodePlan) -> Result<NodePki, Failure> {
        let (plan, issued_at) = (self.shared.plan, self.issued_at(node));
        let issued = pki::issue(plan, &self.authorities, self.bundle, &self.as_is(node), issued_at);
        issued.map_err(|error| secrets(&error))
    }

    /// All files of a node, patched.
    pub fn files(&self, node: &NodePlan, pki: &NodePki) -> Result<NodeFiles, Failure> {
        let node = self.as_is(node);
        let files = node::assemble(&self.shared, &node, pki)?;
        let patched = patch::apply(self.shared.plan, &node, files)?;
        refuse_unlaid(&node, &patched.outcomes)?;
        Ok(patched.files)
    }

    /// In an existing cluster the founder becomes an ordinary control plane: it has no list of peers, and no kubeconfig
    /// that bypasses RBAC.
    fn as_is<'n>(&self, node: &'n NodePlan) -> Cow<'n, NodePlan> {
        if self.shared.founded && node.founder {
            let mut node = node.clone();
            node.founder = false;
            Cow::Owned(node)
        } else {
            Cow::Borrowed(node)
        }
    }

    /// The artifact for the node's platform.
    pub fn artifact(&self, node: &NodePlan, files: &NodeFiles) -> Result<Artifact, Failure> {
        let plan = self.shared.plan;
        let mut artifact = self.package(node, files).map_err(|error| match error {
            delivery::Error::TooLarge(overrun) => Failure::TooLarge(overrun.to_string()),
            error => error.into(),
        })?;
        artifact
            .files
            .extend(delivery::extra_outputs(&plan.extra_outputs, node, files)?);
        Ok(artifact)
    }

    /// The document in the form that the node's platform accepts.
    pub fn package(&self, node: &NodePlan, files: &NodeFiles) -> Result<Artifact, delivery::Error> {
        delivery::package(&self.shared.plan.name, node, files, &self.keys)
    }

    /// The files with which a node boots from the network, by path within the tree.
    pub fn pxe_files(&self, node: &NodePlan, artifact: &Artifact) -> Result<Vec<ArtifactFile>, Failure> {
        let plan = self.shared.plan;
        let files = plan.pxe.as_ref().map(|pxe| pxe::files(pxe, node, artifact));
        Ok(files.transpose()?.unwrap_or_default())
    }

    /// The script with which all machines begin that boot from the network.
    pub fn first_script(&self) -> Result<Option<String>, Failure> {
        let boots = self.shared.plan.nodes.iter().any(|node| node.boot.is_some());
        let pxe = self.shared.plan.pxe.as_ref().filter(|_| boots);
        Ok(pxe.map(pxe::first).transpose()?)
    }

    /// The administrator's kubeconfig.
    pub fn admin_kubeconfig(&self) -> Result<crate::secret::Secret<String>, Failure> {
        let issued_at = self.administrator.unwrap_or(self.bundle.issued_at);
        let kubeconfig = pki::admin_kubeconfig(self.shared.plan, &self.authorities, self.bundle, issued_at);
        kubeconfig.map_err(|error| secrets(&error))
    }
}

fn secrets(error: &pki::Error) -> Failure {
    Failure::Secrets(chain(error))
}

/// Patches were applied before, without the bundle; only a test of a secret can fail now.
fn refuse_unlaid(node: &NodePlan, outcomes: &[(usize, Outcome)]) -> Result<(), Failure> {
    let refused = outcomes.iter().find_map(|(_, outcome)| match outcome {
        Outcome::Refused(findings) => findings.first(),
        _ => None,
    });
    match refused {
        Some(finding) => Err(Failure::Refused(format!("{} on {}", finding.message, node.name))),
        None => Ok(()),
    }
}

/// Nodes that a processor takes at a time: of many, some would be left to one processor at the end.
const SHARE: usize = 16;

/// Runs a function for each node, on all processors. The returned error is that of the first failing node in the order
/// of the spec, whichever thread fails first.
pub fn for_each_node<T: Send + Sync>(
    nodes: &[impl Borrow<NodePlan> + Sync],
    work: impl Fn(&NodePlan) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let done: Vec<OnceLock<T>> = nodes.iter().map(|_| OnceLock::new()).collect();
    let failure = progress::counted(nodes.len(), |finished| {
        nodes
            .par_iter()
            .zip(&done)
            .with_max_len(SHARE)
            .find_map_first(|(node, slot)| match work(node.borrow()) {
                Ok(value) => {
                    slot.get_or_init(|| value);
                    finished.fetch_add(1, Ordering::Relaxed);
                    None
                }
                Err(failure) => Some(failure),
            })
    });
    match failure {
        Some(failure) => Err(failure),
        None => Ok(done.into_iter().filter_map(OnceLock::into_inner).collect()),
    }
}
