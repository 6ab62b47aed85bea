//! `kubernetes`, resolved.

use std::{collections::BTreeMap, sync::Arc};

use semver::Version;
use serde_json::{Map, Value};
use time::Duration;

use crate::{
    encoding::sha256_hex,
    plan::Accepted,
    profile::KubernetesProfile,
    secret::Secret,
    spec::{PatchTarget, PatchType, ProxyMode, PullPolicy, TlsVersion},
};

/// The bundle's key in a record.
pub const BUNDLE: &str = "bundle";
/// No key, in a record.
pub const IDENTITY: &str = "identity";
/// The API servers' own prefix (apiserver's `DefaultEtcdPathPrefix`).
const ETCD_PREFIX: &str = "/registry";
/// Digits of a digest that tell the keys of one cluster apart.
const KEY_DIGEST: usize = 12;

/// `kubernetes`, resolved.
#[derive(Clone, Debug)]
pub struct KubernetesPlan {
    pub version: Version,
    pub profile: Arc<KubernetesProfile>,
    pub accepted: Accepted,
    /// Registry of the control-plane images, rewritten already.
    pub image_repository: String,
    pub kubeadm_feature_gates: BTreeMap<String, bool>,
    pub feature_gates: BTreeMap<String, bool>,
    pub api_server: ComponentPlan,
    pub controller_manager: ComponentPlan,
    pub scheduler: ComponentPlan,
    pub control_plane: ControlPlanePlan,
    /// KubeletConfiguration fields of the whole cluster (those that reach `kube-system/kubelet-config`).
    pub kubelet_config: BTreeMap<String, Value>,
    /// kube-proxy; `None` when disabled.
    pub kube_proxy: Option<KubeProxyPlan>,
    pub dns: DnsPlan,
    pub patches: Vec<PatchPlan>,
    /// kubeadm phases to leave out.
    pub skip_phases: Vec<String>,
    /// Preflight checks that may fail, besides those that firelay expects to fail.
    pub ignored_checks: Vec<String>,
    /// When kubeadm fetches images; `None` leaves it to kubeadm.
    pub pull_policy: Option<PullPolicy>,
    /// Whether it fetches them one after the other, likewise.
    pub pull_serial: Option<bool>,
    /// How long it waits.
    pub timeouts: TimeoutsPlan,
}

impl KubernetesPlan {
    /// Values of an argument of the API servers, which may be given several times.
    fn api_server_values(&self, name: &str) -> impl Iterator<Item = &str> {
        let args = self.api_server.extra_args.iter();
        args.filter(move |(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// Issuers of service accounts' tokens: those of the spec, or kubeadm's own. The first one signs.
    pub fn token_issuers(&self) -> Vec<String> {
        let own: Vec<_> = self
            .api_server_values("service-account-issuer")
            .map(str::to_owned)
            .collect();
        match own.is_empty() {
            true => vec![format!("https://kubernetes.default.svc.{}", self.dns.domain)],
            false => own,
        }
    }

    /// Where the API servers' data is in etcd.
    pub fn etcd_prefix(&self) -> &str {
        self.api_server_values("etcd-prefix").last().unwrap_or(ETCD_PREFIX)
    }
}

/// kubeadm's timeouts, except discovery's.
#[derive(Clone, Debug)]
pub struct TimeoutsPlan {
    pub control_plane_component_health_check: Duration,
    pub etcd_api_call: Duration,
    pub kubelet_health_check: Duration,
    pub kubernetes_api_call: Duration,
    pub tls_bootstrap: Duration,
}

/// Files of the control plane, and what its components agree on.
#[derive(Clone, Debug, Default)]
pub struct ControlPlanePlan {
    /// Files that static pods read.
    pub configurations: Vec<ConfigurationPlan>,
    pub encryption: Option<EncryptionPlan>,
    /// Directory of the audit log, which is a file.
    pub audit_directory: Option<String>,
    /// A server of audit events.
    pub audit_webhook: Option<AuditWebhookPlan>,
    /// Minimum version of TLS, if set.
    pub tls_min_version: Option<TlsVersion>,
    /// Cipher suites by their Go names, if set.
    pub cipher_suites: Vec<String>,
}

/// A file that a static pod reads.
#[derive(Clone, Debug)]
pub struct ConfigurationPlan {
    pub path: String,
    pub content: Map<String, Value>,
}

/// The encryption of objects in etcd.
#[derive(Clone, Debug)]
pub struct EncryptionPlan {
    /// Path of the file.
    pub path: String,
    pub head: Map<String, Value>,
    /// `secrets`, `deployments.apps`, …
    pub resources: Vec<String>,
    /// The first one writes, and all read.
    pub providers: Vec<EncryptionProvider>,
}

/// A key that encrypts objects in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncryptionProvider {
    /// None: objects are written unencrypted. It stands first, or is left out: every API server reads unencrypted objects.
    Identity,
    /// The bundle's.
    Bundle,
    /// That of a key service.
    Kms(KmsPlan),
}

/// A key service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KmsPlan {
    /// Its name, which is stored with each object.
    pub name: String,
    /// The time for an answer, as Go writes it.
    pub timeout: Option<String>,
    /// The parameters that name its key.
    pub key: String,
}

impl KmsPlan {
    /// The socket of its plugin. The API server's own directory of files is mounted in its pod already, so no pod changes with it.
    pub fn socket(&self) -> String {
        format!("/etc/kubernetes/apiserver/kms/{}.sock", self.name)
    }
}

impl EncryptionPlan {
    /// Whether control planes have the bundle's key.
    pub fn has_bundle_key(&self) -> bool {
        self.providers.contains(&EncryptionProvider::Bundle)
    }

    /// The keys as the record has them: `bundle`, `aws@DIGEST`.
    pub fn recorded(&self) -> Vec<String> {
        let entry = |provider: &EncryptionProvider| match provider {
            EncryptionProvider::Identity => IDENTITY.to_owned(),
            EncryptionProvider::Bundle => BUNDLE.to_owned(),
            EncryptionProvider::Kms(kms) => format!("{}@{}", kms.name, &sha256_hex(&kms.key)[..KEY_DIGEST]),
        };
        self.providers.iter().map(entry).collect()
    }

    /// The key services.
    pub fn kms(&self) -> impl Iterator<Item = &KmsPlan> {
        self.providers.iter().filter_map(|provider| match provider {
            EncryptionProvider::Kms(kms) => Some(kms),
            EncryptionProvider::Identity | EncryptionProvider::Bundle => None,
        })
    }
}

/// Whether a pattern of resources to encrypt, `*.apps`, has a resource or all of another pattern.
pub fn matches_resource(pattern: &str, resource: &str) -> bool {
    let ((name, group), (names, groups)) = (parsed(resource), parsed(pattern));
    (groups == "*" || groups == group) && (names == "*" || names == name)
}

/// Resource and group, split as by `schema.ParseGroupResource`.
fn parsed(text: &str) -> (&str, &str) {
    text.split_once('.').unwrap_or((text, ""))
}

/// A server of audit events.
#[derive(Clone, Debug)]
pub struct AuditWebhookPlan {
    /// Path of its kubeconfig.
    pub path: String,
    pub server: String,
    /// PEM of its CA.
    pub ca: Option<String>,
    pub token: Option<Secret<String>>,
}

/// A static pod's settings. Pairs are `(name, value)`.
#[derive(Clone, Debug, Default)]
pub struct ComponentPlan {
    /// Set by keys of the spec; the user has none of these names.
    pub own_args: Vec<(String, String)>,
    pub extra_args: Vec<(String, String)>,
    pub extra_volumes: Vec<VolumePlan>,
    pub extra_envs: Vec<(String, String)>,
}

/// A host path in a static pod.
#[derive(Clone, Debug)]
pub struct VolumePlan {
    pub name: String,
    pub host_path: String,
    pub mount_path: String,
    pub read_only: bool,
    pub path_type: Option<String>,
}

#[derive(Clone, Debug)]
pub struct KubeProxyPlan {
    /// Mode; `None` leaves the choice to kube-proxy.
    pub mode: Option<ProxyMode>,
    pub config: BTreeMap<String, Value>,
}

/// CoreDNS, resolved.
#[derive(Clone, Debug)]
pub struct DnsPlan {
    pub domain: String,
    /// Registry, when not kubeadm's choice.
    pub image_repository: Option<String>,
    /// Tag, when not kubeadm's choice.
    pub image_tag: Option<String>,
    pub disabled: bool,
}

#[derive(Clone, Debug)]
pub struct PatchPlan {
    pub target: PatchTarget,
    pub kind: PatchType,
    pub content: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_pattern_has_what_a_narrower_one_has() {
        for (resource, pattern, has) in [
            ("secrets", "*.*", true),
            ("deployments.apps", "*.*", true),
            ("*.apps", "*.*", true),
            ("secrets", "*.", true),
            ("deployments.apps", "*.", false),
            ("deployments.apps", "*.apps", true),
            ("*.apps", "deployments.apps", false),
            ("secrets", "*.apps", false),
        ] {
            assert_eq!(matches_resource(pattern, resource), has, "{resource} {pattern}");
        }
    }
}
