//! Kubernetes minors: their fields, flags and matching versions.
//!
//! Other modules call these methods instead of comparing versions.

use std::collections::BTreeMap;

use semver::Version;
use serde::Deserialize;
use time::Date;

time::serde::format_description!(day, Date, "[year]-[month]-[day]");

/// `profiles/kubernetes/1.NN.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubernetesProfile {
    /// `1.36`.
    pub minor: String,
    /// The day after which upstream makes no more patch releases, if it is known.
    #[serde(default, with = "day::option")]
    pub end_of_life: Option<Date>,
    /// Patch releases with digests in the catalog, newest first.
    pub versions: Vec<Version>,
    /// `kubeadm.k8s.io/v1beta4`.
    pub kubeadm_api: String,
    /// Organisation of the apiserver-kubelet-client certificate; absent when kubeadm sets none.
    pub apiserver_kubelet_client_organization: Option<String>,
    /// Versions that go with this minor, by catalog component (`containerd`, `runc`, `etcd`, …).
    pub components: BTreeMap<String, Version>,
    /// Releases of plugins and add-ons that go with this minor, by their folders under `templates/`; the newest that does
    /// where none is named.
    #[serde(default)]
    pub addons: BTreeMap<String, Version>,
    /// Tag of the sandbox image, `3.10.2`.
    pub pause: String,
    /// Tag of the etcd image that kubeadm deploys where the spec names none.
    pub etcd_image: String,
    /// Tag of the CoreDNS image that kubeadm deploys.
    pub coredns: String,
    /// containerd versions that its kubelet works with, as a semver requirement.
    pub containerd: semver::VersionReq,
    /// etcd versions that its kubeadm and API server work with, likewise.
    pub etcd: semver::VersionReq,
    /// Flags that older guides give and with which this minor's components do not start, by component; `all` for each.
    pub removed_flags: BTreeMap<String, Vec<String>>,
    /// Files that the control plane reads, by what for (`audit`, `authentication`, or the admission plugin).
    pub configuration_files: BTreeMap<String, ConfigurationFile>,
    /// Admission plugins of kube-apiserver.
    pub admission_plugins: AdmissionPlugins,
    /// Cipher suites of TLS 1.2 that its components take.
    pub cipher_suites: Vec<String>,
    /// kubeadm's preflight checks; those that end in `-` go on with a path or port.
    pub preflight_checks: Vec<String>,
    /// kubeadm v1beta4 key algorithms.
    pub encryption_algorithms: Vec<String>,
    pub kubeadm_feature_gates: Vec<String>,
    /// Targets of kubeadm patches.
    pub patch_targets: Vec<String>,
    /// Phases of `kubeadm init` in order, those of `addon` with it.
    pub init_phases: Vec<String>,
}

/// A kind of file, and the versions of it that are read.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigurationFile {
    /// `Policy`.
    pub kind: String,
    /// `audit.k8s.io/v1`, the one to write first.
    pub api_versions: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdmissionPlugins {
    /// On by themselves.
    pub on: Vec<String>,
    /// Off unless enabled.
    pub off: Vec<String>,
}

impl KubernetesProfile {
    /// Whether the catalog has digests for this patch release.
    pub fn knows(&self, version: &Version) -> bool {
        self.versions.contains(version)
    }

    /// Whether upstream makes no more patch releases.
    pub fn is_past(&self, today: Date) -> bool {
        self.end_of_life.is_some_and(|last| last < today)
    }

    /// The version of a catalog component (`runc`) that goes with this minor.
    pub fn component(&self, name: &str) -> Option<&Version> {
        self.components.get(name)
    }

    /// Whether a component (`kubelet`) starts with this flag (without dashes), as far as is known.
    pub fn accepts_flag(&self, component: &str, name: &str) -> bool {
        let lists = ["all", component].map(|of| self.removed_flags.get(of));
        !lists.into_iter().flatten().flatten().any(|flag| flag == name)
    }

    /// Whether kubeadm knows this feature gate of its own; it refuses others.
    pub fn accepts_kubeadm_feature_gate(&self, name: &str) -> bool {
        self.kubeadm_feature_gates.iter().any(|gate| gate == name)
    }

    /// Whether `kubeadm init` has this phase; it refuses to skip others.
    pub fn accepts_init_phase(&self, name: &str) -> bool {
        self.init_phases.iter().any(|phase| phase == name)
    }

    /// Whether kubeadm takes this `encryptionAlgorithm`, `ECDSA-P256`.
    pub fn accepts_encryption_algorithm(&self, name: &str) -> bool {
        self.encryption_algorithms.iter().any(|algorithm| algorithm == name)
    }

    /// Whether the kubelet works with this containerd.
    pub fn accepts_containerd(&self, version: &Version) -> bool {
        self.containerd.matches(version)
    }

    /// Whether the kubelet works with this CRI-O, whose minors are Kubernetes' own (README.md of cri-o/cri-o).
    pub fn accepts_crio(&self, version: &Version) -> bool {
        format!("{}.{}", version.major, version.minor) == self.minor
    }

    /// Whether kubeadm and the API server work with this etcd.
    pub fn accepts_etcd(&self, version: &Version) -> bool {
        self.etcd.matches(version)
    }
}
