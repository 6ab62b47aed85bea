//! Settings of the control plane: arguments, mounted directories, and the files in them.

mod admission;
mod arguments;
mod audit;
mod authorization;
mod document;
mod encryption;
mod tls;

use firelay_yaml::Spanned;
use serde_json::json;

use super::{ConfigurationPlan, ControlPlanePlan, VolumePlan, report::Report};
use crate::{
    profile::KubernetesProfile,
    spec::{Algorithm, Kubernetes},
};

pub(super) use arguments::check as check_arguments;
pub(super) use tls::{check_kubelet, etcd as etcd_tls, taken};

/// Where kube-apiserver finds its files, on the node and in the pod.
const API_SERVER: &str = "/etc/kubernetes/apiserver";
/// Where kube-scheduler finds its file, likewise.
const SCHEDULER: &str = "/etc/kubernetes/scheduler";

/// An argument that a key of the spec sets, so that the user cannot.
pub(super) struct Claim {
    pub(super) name: &'static str,
    /// `None` if the argument is only forbidden together with the key.
    pub(super) value: Option<String>,
    pub(super) key: &'static str,
}

/// The arguments and volumes of one static pod.
#[derive(Default)]
pub(super) struct PodSettings {
    pub(super) claims: Vec<Claim>,
    pub(super) volumes: Vec<VolumePlan>,
}

impl PodSettings {
    fn set(&mut self, name: &'static str, value: impl Into<String>, key: &'static str) {
        let value = Some(value.into());
        self.claims.push(Claim { name, value, key });
    }

    /// Refuses an argument of the user's.
    fn bar(&mut self, name: &'static str, key: &'static str) {
        let value = None;
        self.claims.push(Claim { name, value, key });
    }

    /// Mounts a directory of the node at the same place in the pod.
    fn mount(&mut self, name: &str, directory: &str, read_only: bool) {
        self.volumes.push(VolumePlan {
            name: name.to_owned(),
            host_path: directory.to_owned(),
            mount_path: directory.to_owned(),
            read_only,
            path_type: Some("DirectoryOrCreate".to_owned()),
        });
    }
}

/// The control plane's settings.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) api_server: PodSettings,
    pub(super) controller_manager: PodSettings,
    pub(super) scheduler: PodSettings,
    pub(super) plan: ControlPlanePlan,
}

impl Settings {
    fn pods(&mut self) -> [&mut PodSettings; 3] {
        [&mut self.api_server, &mut self.controller_manager, &mut self.scheduler]
    }

    /// Whether a file is in a directory.
    fn has_files(&self, directory: &str) -> bool {
        let mut files = self.plan.configurations.iter();
        files.any(|file| file.path.starts_with(directory))
    }
}

/// Reads all keys.
pub(super) fn resolve(
    kubernetes: &Kubernetes,
    algorithm: Algorithm,
    profile: &KubernetesProfile,
    report: &mut Report,
) -> Settings {
    let mut settings = Settings::default();
    let api_server = &kubernetes.api_server;
    if let Some(audit) = &api_server.audit {
        audit::resolve(audit, profile, &mut settings, report);
    }
    if let Some(encryption) = &api_server.encryption {
        encryption::resolve(encryption, profile, &mut settings, report);
    }
    admission::resolve(&api_server.admission, profile, &mut settings, report);
    authorization::authenticate(&api_server.authentication, profile, &mut settings, report);
    authorization::authorize(&api_server.authorization, profile, &mut settings, report);
    scheduler(kubernetes, profile, &mut settings, report);
    tls::resolve(&kubernetes.tls, algorithm, profile, &mut settings, report);
    if !kubernetes.feature_gates.is_empty() {
        for pod in settings.pods() {
            pod.bar("feature-gates", "kubernetes.featureGates");
        }
    }
    let further = settings.plan.audit_webhook.is_some() || settings.plan.encryption.is_some();
    if further || settings.has_files(API_SERVER) {
        settings.api_server.mount("firelay-config", API_SERVER, true);
    }
    if settings.has_files(SCHEDULER) {
        settings.scheduler.mount("firelay-config", SCHEDULER, true);
    }
    settings
}

/// kube-scheduler ignores `--kubeconfig` if it has a configuration.
fn scheduler(kubernetes: &Kubernetes, profile: &KubernetesProfile, settings: &mut Settings, report: &mut Report) {
    let config = &kubernetes.scheduler.config;
    let key = "kubernetes.scheduler.config";
    let Some(mut document) = document::read("scheduler", key, config, profile, report) else {
        return;
    };
    let connection = document.entry("clientConnection").or_insert_with(|| json!({}));
    if let Some(connection) = connection.as_object_mut() {
        let kubeconfig = connection.entry("kubeconfig");
        kubeconfig.or_insert("/etc/kubernetes/scheduler.conf".into());
    }
    let (path, content) = (format!("{SCHEDULER}/config.yaml"), document);
    settings.scheduler.set("config", path.clone(), key);
    settings.plan.configurations.push(ConfigurationPlan { path, content });
}

/// Adds a file of kube-apiserver's and the argument that names it.
fn add_file(
    settings: &mut Settings,
    name: &str,
    argument: &'static str,
    key: &'static str,
    content: document::Document,
) {
    let path = format!("{API_SERVER}/{name}.yaml");
    settings.api_server.set(argument, path.clone(), key);
    settings.plan.configurations.push(ConfigurationPlan { path, content });
}

/// The place of a mapping's first key.
fn first<T>(mapping: &std::collections::BTreeMap<Spanned<String>, T>) -> Option<firelay_yaml::diagnostic::Span> {
    mapping.keys().map(|key| key.span).min()
}
