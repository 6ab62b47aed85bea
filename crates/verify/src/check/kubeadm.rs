//! Documents for kubeadm: those of a machine, and those for the whole cluster.

use serde_json::Value;

use crate::{Config, Machine, Tree};

/// Where the chain keeps what kubeadm reads.
pub(super) const DIRECTORY: &str = "/etc/firelay/kubeadm/";

/// How kubeadm calls its patches of the kubelet's configuration; they have no `kind`.
const KUBELET_PATCH: &str = "/patches/kubeletconfiguration";

/// All documents of a machine for kubeadm.
pub(super) fn configs(machine: &Machine) -> impl Iterator<Item = &Config> {
    let configs = machine.configs.iter();
    configs.filter(|config| config.path.starts_with(DIRECTORY))
}

/// The documents of a kind on a machine. Files of the user's own elsewhere may be of the same kind.
pub(super) fn documents<'a>(machine: &'a Machine, kind: &'a str) -> impl Iterator<Item = &'a Config> {
    configs(machine).filter(move |config| config.is(kind))
}

/// The document that the founder uploads for all machines, and the machine that has it.
pub(super) fn of_cluster<'a>(tree: &'a Tree, kind: &'a str) -> Option<(&'a Machine, &'a Config)> {
    let mut machines = tree.machines.iter();
    machines.find_map(|machine| Some((machine, documents(machine, kind).next()?)))
}

/// The kubelet's settings that a machine's own documents have: the cluster's on its founder, and kubeadm's patches. A patch by
/// JSON operations has no fields to read.
pub(super) fn kubelet(machine: &Machine) -> impl Iterator<Item = &Config> {
    let is_patch = |config: &&Config| config.path.contains(KUBELET_PATCH) && !config.path.contains("+json");
    let patches = configs(machine).filter(is_patch);
    documents(machine, "KubeletConfiguration").chain(patches)
}

/// A field of the kubelet's settings as a machine gets it: its own patch's, or the cluster's.
pub(super) fn kubelet_field<'a>(machine: &'a Machine, tree: &'a Tree, key: &str) -> Option<&'a Value> {
    let own = kubelet(machine).filter_map(|config| config.value.get(key)).last();
    own.or_else(|| of_cluster(tree, "KubeletConfiguration")?.1.value.get(key))
}

/// Values of a component's or the kubelet's arguments of a name.
pub(super) fn arguments<'a>(list: Option<&'a Value>, name: &'a str) -> impl Iterator<Item = &'a str> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter(move |argument| argument.get("name").and_then(Value::as_str) == Some(name))
        .filter_map(|argument| argument.get("value")?.as_str())
}
