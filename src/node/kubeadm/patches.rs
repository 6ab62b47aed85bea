//! Files of kubeadm's patches directory (`cmd/kubeadm/app/util/patches/patches.go`).

use serde::Serialize;

use crate::{
    node::{Error, kubelet},
    plan::{NodePlan, PatchPlan, Plan},
    spec::{PatchTarget, PatchType},
};

/// The directory of the patches.
pub const PATCHES_DIRECTORY: &str = "/etc/firelay/kubeadm/patches";

/// `patches` of an init or join configuration.
#[derive(Serialize)]
pub(super) struct Patches {
    directory: &'static str,
}

impl Patches {
    /// `None` when the node has no patches and so no directory: kubeadm refuses one that is absent.
    pub(super) fn of(plan: &Plan, node: &NodePlan) -> Option<Self> {
        let any = user_patches(plan, node).next().is_some() || !kubelet::patch(node).is_empty();
        any.then_some(Self {
            directory: PATCHES_DIRECTORY,
        })
    }
}

/// `(file name, content)` below [`PATCHES_DIRECTORY`]. kubeadm applies them sorted by name.
///
/// The user's patches are for control planes. A node's own kubelet fields come last, as a JSON merge patch (RFC 7396):
/// a join ignores KubeletConfiguration documents and uses the cluster's.
pub fn patches(plan: &Plan, node: &NodePlan) -> Result<Vec<(String, String)>, Error> {
    let mut files: Vec<_> = user_patches(plan, node)
        .enumerate()
        .map(|(index, patch)| (file_name(patch.target, index, patch.kind), patch.content.clone()))
        .collect();
    let own = kubelet::patch(node);
    if !own.is_empty() {
        let name = file_name(PatchTarget::KubeletConfiguration, 90, PatchType::Merge);
        let content = firelay_yaml::emit(&own).map_err(|source| Error::Yaml {
            node: node.name.clone(),
            file: name.clone(),
            source,
        })?;
        files.push((name, content));
    }
    Ok(files)
}

fn user_patches<'a>(plan: &'a Plan, node: &NodePlan) -> impl Iterator<Item = &'a PatchPlan> {
    let patches = if node.roles.control_plane {
        plan.kubernetes.patches.as_slice()
    } else {
        &[]
    };
    patches.iter()
}

fn file_name(target: PatchTarget, index: usize, kind: PatchType) -> String {
    let kind = match kind {
        PatchType::Strategic => "strategic",
        PatchType::Merge => "merge",
        PatchType::Json => "json",
    };
    format!("{}{index:02}+{kind}.yaml", target.name())
}
