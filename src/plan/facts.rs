//! Facts of Kubernetes, etcd and Linux with which settings are compared. `facts.yaml` describes each, with its source.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use serde::Deserialize;

/// The content of `facts.yaml`.
pub(super) static FACTS: LazyLock<Facts> = LazyLock::new(|| {
    firelay_yaml::parse("facts.yaml", include_str!("facts.yaml")).expect("facts.yaml is embedded, and tests read it")
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Facts {
    pub(super) init_phases: BTreeMap<String, String>,
    pub(super) host_ranges: BTreeMap<String, String>,
    pub(super) kept_lists: Vec<KeptList>,
    pub(super) mounted: Vec<String>,
    pub(super) anonymous_paths: Vec<String>,
    pub(super) beside_authentication: Vec<String>,
    pub(super) beside_authorization: Vec<String>,
    pub(super) not_stored: BTreeMap<String, String>,
    pub(super) path_types: Vec<String>,
    pub(super) eviction_signals: Vec<String>,
    pub(super) kubelet_labels: BTreeSet<String>,
    pub(super) found_labels: BTreeSet<String>,
    pub(super) cloud_labels: BTreeSet<String>,
    pub(super) system_directories: Vec<String>,
    pub(super) shared_directories: BTreeSet<String>,
    pub(super) not_for_etcd: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptList {
    pub(super) component: String,
    pub(super) argument: String,
    pub(super) keeps: Vec<String>,
    pub(super) why: String,
}
