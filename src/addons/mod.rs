//! What the founder applies after `kubeadm init`, and what that needs of the nodes.
//!
//! A plugin or add-on is a folder under `templates/` with its manifests and an `addon.yaml` of images, modules, ports
//! and host files. Nothing outside this module knows one by name.

mod definition;
mod flannel;

use std::collections::BTreeMap;

pub use definition::{Port, Protocol};
use flannel::Flannel;

use crate::{plan::Plan, template, yaml};

/// A file's name within its phase, and its content.
pub type PhaseFile = (String, String);

/// Manifests that are applied together, with server-side apply and in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Directory name; phases are applied in the order of names, `10-cni` first.
    pub name: String,
    /// Files in order.
    pub files: Vec<PhaseFile>,
}

/// What the plan's plugins and add-ons need of every node that runs a kubelet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Implied {
    /// Kernel modules to load.
    pub modules: Vec<String>,
    /// Devices that NetworkManager must leave alone, in the syntax of its `unmanaged-devices` (joined by `;`).
    pub unmanaged_interfaces: Vec<String>,
    /// Files of the host by absolute path, mode 0644: systemd `.link` files and drop-ins.
    pub files: BTreeMap<String, String>,
    /// CNI plugins that must be in the CNI directory before the first pod starts.
    pub cni_plugins: Vec<String>,
    /// Images that are pulled, rewritten already.
    pub images: Vec<String>,
    /// Ports that nodes must reach on each other.
    pub ports: Vec<Port>,
}

/// An add-on that cannot be rendered; a mistake in firelay itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An `addon.yaml` is not what its type says.
    #[error("add-on refused: {0}")]
    Definition(#[source] yaml::Diagnostics),
    /// An `addon.yaml` is not part of this build.
    #[error("templates/{file} is missing")]
    Missing {
        /// Path below `templates/`.
        file: String,
    },
    /// A manifest could not be rendered.
    #[error(transparent)]
    Template(#[from] template::Error),
    /// A configuration has no JSON form.
    #[error("network configuration cannot be written: {0}")]
    Json(#[source] serde_json::Error),
}

/// Every manifest by phase, in the order in which they are applied; a phase without files is left out.
pub fn phases(plan: &Plan) -> Result<Vec<Phase>, Error> {
    let cni = Flannel::of(plan).map(|flannel| flannel.files(plan)).transpose()?;
    let all = [
        ("10-cni", cni.unwrap_or_default()),
        ("20-core", core()?),
        ("40-manifests", own_manifests(plan)),
    ];
    let filled = all.into_iter().filter(|(_, files)| !files.is_empty());
    Ok(filled
        .map(|(name, files)| Phase {
            name: name.to_owned(),
            files,
        })
        .collect())
}

/// What nodes must have for the plan's plugins and add-ons to work.
pub fn implied(plan: &Plan) -> Result<Implied, Error> {
    Flannel::of(plan).map_or_else(|| Ok(Implied::default()), |flannel| flannel.implied(plan))
}

/// What every cluster gets. kubeadm makes the binding only in `init` and `upgrade apply` (kubernetes#138957); without
/// it the API server may not ask kubelets for logs and exec, so it must not depend on how the cluster came to be.
fn core() -> Result<Vec<PhaseFile>, Error> {
    let binding = template::render("addons/apiserver-kubelet-client.yaml.j2", &())?;
    Ok(vec![("apiserver-kubelet-client.yaml".to_owned(), binding)])
}

/// The user's own, numbered so that the order of the spec is that of the file names.
fn own_manifests(plan: &Plan) -> Vec<PhaseFile> {
    let width = plan.manifests.len().saturating_sub(1).to_string().len().max(2);
    let numbered = plan.manifests.iter().enumerate();
    numbered
        .map(|(index, manifest)| {
            let content = manifest.content.trim_end_matches('\n');
            (
                format!("{index:0width$}-{}.yaml", manifest.name),
                format!("{content}\n"),
            )
        })
        .collect()
}
