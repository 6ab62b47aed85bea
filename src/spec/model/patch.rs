//! `patches`: what is changed in a file after firelay has written it.

use schemars::JsonSchema;
use serde::Deserialize;

use firelay_yaml::{Operation, OwnedNode, Spanned};

/// One change of one document or unit: a target and either `merge` or `json`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    /// Which document or unit of a machine is changed.
    pub target: Spanned<Target>,
    /// Laid over the target as a strategic merge: mappings merge, `null` removes, lists replace, except that the lists that
    /// Kubernetes merges by key (containers, env, volumes, extraArgs …) merge by it; `$patch: delete` and `replace` are known.
    pub merge: Option<OwnedNode>,
    /// A JSON patch (RFC 6902), where one element of a list must go or change.
    pub json: Option<Vec<Operation>>,
}

/// Which document or unit of a machine a patch changes. All that is given must fit, and only one document may.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// The YAML file by its absolute path on the node, `/etc/firelay/kubeadm/init.yaml`; without it every YAML file is looked at.
    pub path: Option<Spanned<String>>,
    /// The document's `apiVersion`.
    pub api_version: Option<Spanned<String>>,
    /// The document's `kind`.
    pub kind: Option<Spanned<String>>,
    /// The document's `metadata.name`.
    pub name: Option<Spanned<String>>,
    /// The document's `metadata.namespace`.
    pub namespace: Option<Spanned<String>>,
    /// A systemd unit, `kubelet.service`, instead of a document: sections and keys are mappings, a key that repeats has a list.
    pub unit: Option<Spanned<String>>,
    /// A drop-in of the unit, `10-kubeadm.conf`, instead of the unit itself.
    pub dropin: Option<Spanned<String>>,
}
