//! Flags of the programs that static pods, units and kubelets start, by minor.

use std::collections::BTreeMap;

use firelay_yaml::Minor;
use serde::Deserialize;

/// `profiles/flags.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Flags {
    /// By component, `kube-apiserver`.
    components: BTreeMap<String, ComponentFlags>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ComponentFlags {
    /// The first minor whose flags all stand here.
    since: Minor,
    /// The last one.
    until: Minor,
    /// Those of all minors.
    always: Vec<String>,
    /// From which minor on there are the others.
    #[serde(default)]
    added: BTreeMap<Minor, Vec<String>>,
    /// From which minor on there are the others no longer.
    #[serde(default)]
    dropped: BTreeMap<Minor, Vec<String>>,
}

impl Flags {
    /// The names of all components.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.components.keys().map(String::as_str)
    }

    /// The flags of a component's minor, without dashes in front; `None` if they are not known.
    pub fn of(&self, component: &str, minor: Minor) -> Option<Vec<&str>> {
        let flags = self.components.get(component)?;
        if !(flags.since..=flags.until).contains(&minor) {
            return None;
        }
        let has = |name: &&String| flags.dropped.range(..=minor).all(|(_, names)| !names.contains(name));
        let came = |name: &&String| flags.added.values().any(|names| names.contains(name));
        let added = flags.added.range(..=minor).flat_map(|(_, names)| names).filter(has);
        let dropped = flags.dropped.iter().filter(|(since, _)| **since > minor);
        let dropped = dropped.flat_map(|(_, names)| names).filter(|name| !came(name));
        Some(
            flags
                .always
                .iter()
                .chain(added)
                .chain(dropped)
                .map(String::as_str)
                .collect(),
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Profiles;

    #[test]
    fn a_flag_is_there_from_one_minor_to_another() {
        let flags = Profiles::embedded().unwrap().flags;
        let has = |component: &str, minor: &str, flag: &str| {
            let minor = serde_json::from_value(minor.into()).unwrap();
            flags.of(component, minor).unwrap().contains(&flag)
        };
        assert!(has("etcd", "3.5", "enable-v2") && !has("etcd", "3.6", "enable-v2"));
        assert!(!has("etcd", "3.5", "feature-gates") && has("etcd", "3.6", "feature-gates"));
        assert!(!has("kube-apiserver", "1.34", "min-compatibility-version"));
        assert!(has("kube-apiserver", "1.36", "min-compatibility-version"));
        assert!(has("kubelet", "1.34", "pod-infra-container-image"));
        assert!(!has("kubelet", "1.35", "pod-infra-container-image"));
    }
}
