//! Changes of kubeadm's configuration of the cluster, and the running machines that apply them.
//!
//! kubeadm keeps ClusterConfiguration, KubeletConfiguration and KubeProxyConfiguration in ConfigMaps. One control plane uploads
//! them, and `kubeadm upgrade` on each machine writes static pods and the kubelet's configuration from there.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, FieldChange, FileChange, Handler, MachineChange, Member};
use crate::{encoding::sha256_hex, node::kubeadm::INIT, record::Founding};

/// The unit whose configuration kubeadm writes.
const KUBELET: &str = "kubelet.service";
/// The document of a YAML stream that is of one node.
const OF_NODE: &str = "kind: InitConfiguration\n";

/// kubeadm's configuration of a cluster that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The parts that changed.
    pub parts: BTreeSet<Founding>,
    /// ClusterConfiguration, KubeletConfiguration and KubeProxyConfiguration as a YAML stream.
    pub text: String,
}

impl Configuration {
    /// Of the founder's `init.yaml`; `None` if no part changed.
    pub fn of(parts: BTreeSet<Founding>, init: &str) -> Option<Self> {
        (!parts.is_empty()).then(|| Self {
            text: shared(init),
            parts,
        })
    }

    /// The digest by which a machine knows what it applied last.
    pub fn digest(&self) -> String {
        sha256_hex(&self.text)
    }

    /// Adds to each machine what it does for the changed parts, with the fields that differ. The first control plane that runs uploads
    /// them; without one nobody does anything.
    pub fn apply_to(&self, changes: &mut [MachineChange], fields: &BTreeMap<Founding, Vec<FieldChange>>) {
        let runs = |change: &MachineChange| matches!(change.action, Action::None | Action::Document | Action::InPlace);
        let leads = |change: &MachineChange| runs(change) && Member::of(&change.roles) == Member::ControlPlane;
        let Some(first) = changes.iter().position(leads) else {
            return;
        };
        for (at, change) in changes.iter_mut().enumerate().filter(|(_, change)| runs(change)) {
            let parts = self.parts_of(Member::of(&change.roles), at == first);
            if !parts.is_empty() {
                let files = std::mem::take(&mut change.files);
                *change = change.clone().with_files([vec![file(&parts, fields)], files].concat());
            }
        }
    }

    /// The parts that concern a machine.
    fn parts_of(&self, member: Member, leads: bool) -> Vec<Founding> {
        let concerns = |part: &&Founding| match part {
            Founding::Kubelet => member != Member::Etcd,
            Founding::Cluster | Founding::Etcd => member == Member::ControlPlane,
            Founding::KubeProxy | Founding::Manifests => leads,
        };
        self.parts.iter().filter(concerns).copied().collect()
    }
}

/// The documents of a founder's `init.yaml` that all nodes share.
pub(super) fn shared(init: &str) -> String {
    let documents = firelay_yaml::split(init).into_iter().map(|range| &init[range]);
    let shared: Vec<_> = documents.filter(|text| !text.contains(OF_NODE)).collect();
    shared.join("---\n")
}

fn file(parts: &[Founding], fields: &BTreeMap<Founding, Vec<FieldChange>>) -> FileChange {
    let own = |part: &Founding| match fields.get(part) {
        Some(fields) => fields.clone(),
        None => vec![FieldChange::hidden(part.name())],
    };
    let kubelet = parts
        .contains(&Founding::Kubelet)
        .then(|| Handler::RestartLate(KUBELET.to_owned()));
    FileChange {
        path: INIT.to_owned(),
        kind: "changed",
        handlers: [Handler::Configure].into_iter().chain(kubelet).collect(),
        fields: parts.iter().flat_map(own).collect(),
        line: None,
        spec: Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tree::Role;

    const INIT_YAML: &str = "kind: InitConfiguration\nnodeRegistration: {}\n---\nkind: ClusterConfiguration\n---\nkind: KubeletConfiguration\n";

    fn applied(parts: &[Founding], changes: &mut [MachineChange]) -> Vec<String> {
        let configuration = Configuration::of(parts.iter().copied().collect(), INIT_YAML).unwrap();
        configuration.apply_to(changes, &BTreeMap::new());
        let line = |change: &MachineChange| format!("{}: {}", change.name, change.actions.join(", "));
        changes.iter().map(line).collect()
    }

    fn cluster() -> Vec<MachineChange> {
        let none = |name: &str, role| MachineChange::none(name, &[role], false);
        vec![
            none("etcd1", Role::Etcd),
            none("cp1", Role::ControlPlane).whole(Action::Replace, None),
            none("cp2", Role::ControlPlane),
            none("cp3", Role::ControlPlane),
            none("w1", Role::Worker),
        ]
    }

    #[test]
    fn each_part_reaches_the_machines_that_read_it() {
        let configure = "apply kubeadm's configuration";
        let server = applied(&[Founding::Cluster], &mut cluster());
        assert_eq!(
            server,
            [
                "etcd1: ",
                "cp1: ",
                &format!("cp2: {configure}"),
                &format!("cp3: {configure}"),
                "w1: "
            ]
        );
        let proxy = applied(&[Founding::KubeProxy], &mut cluster());
        assert_eq!(
            proxy,
            ["etcd1: ", "cp1: ", &format!("cp2: {configure}"), "cp3: ", "w1: "]
        );
        let kubelet = applied(&[Founding::Kubelet], &mut cluster());
        assert!(
            kubelet[2..]
                .iter()
                .all(|own| own.ends_with("configuration, restart kubelet.service")),
            "{kubelet:?}"
        );
    }

    #[test]
    fn the_text_has_what_all_nodes_share() {
        let configuration = Configuration::of(BTreeSet::from([Founding::Etcd]), INIT_YAML).unwrap();
        assert_eq!(
            configuration.text,
            "kind: ClusterConfiguration\n---\nkind: KubeletConfiguration\n"
        );
        assert_eq!(Configuration::of(BTreeSet::new(), INIT_YAML), None);
    }
}
