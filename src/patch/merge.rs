//! Strategic merge onto what firelay renders.

use firelay_yaml::{
    Node, Rules,
    diagnostic::{Diagnostic, Severity},
};

/// Lists that merge by a key: those of Kubernetes with a `patchMergeKey` in `k8s.io/api`, and kubeadm's lists of named
/// things, which kubeadm itself only replaces.
const RULES: Rules = Rules {
    lists: &[
        ("containers", "name"),
        ("initContainers", "name"),
        ("ephemeralContainers", "name"),
        ("volumes", "name"),
        ("env", "name"),
        ("imagePullSecrets", "name"),
        ("volumeMounts", "mountPath"),
        ("volumeDevices", "devicePath"),
        ("containers.ports", "containerPort"),
        ("initContainers.ports", "containerPort"),
        ("spec.ports", "port"),
        ("hostAliases", "ip"),
        ("topologySpreadConstraints", "topologyKey"),
        ("webhooks", "name"),
        ("secrets", "name"),
        ("extraArgs", "name"),
        ("kubeletExtraArgs", "name"),
        ("extraVolumes", "name"),
        ("extraEnvs", "name"),
    ],
    choices: &[],
    keeps_removals: false,
};

/// Lays a patch over a tree. Whoever removes what is not there has missed, and that is an error.
pub(super) fn merged(tree: Node<'static>, patch: &Node<'static>) -> Result<Node<'static>, Vec<Diagnostic>> {
    let (tree, findings) = firelay_yaml::merge(tree, patch, &RULES);
    if findings.is_empty() {
        return Ok(tree);
    }
    let errors = findings.into_iter().map(|finding| Diagnostic {
        severity: Severity::Error,
        ..finding
    });
    Err(errors.collect())
}
