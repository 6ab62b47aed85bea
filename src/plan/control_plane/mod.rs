//! What keys of the spec make of the control plane: arguments, mounted directories, and the files in them.

mod admission;
mod arguments;
mod audit;
mod authorization;
mod document;
mod encryption;
mod tls;

use firelay_yaml::Spanned;

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
    /// `None` when it must only not be given beside the key.
    pub(super) value: Option<String>,
    /// The key.
    pub(super) key: &'static str,
}

impl Claim {
    fn set(name: &'static str, value: impl Into<String>, key: &'static str) -> Self {
        Self {
            name,
            value: Some(value.into()),
            key,
        }
    }

    fn bar(name: &'static str, key: &'static str) -> Self {
        Self { name, value: None, key }
    }
}

/// What the keys make of one static pod.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) claims: Vec<Claim>,
    pub(super) volumes: Vec<VolumePlan>,
}

/// What the keys make of the control plane.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) api_server: Settled,
    pub(super) controller_manager: Settled,
    pub(super) scheduler: Settled,
    pub(super) plan: ControlPlanePlan,
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
    let gates = !kubernetes.feature_gates.is_empty();
    for settled in [
        &mut settings.api_server,
        &mut settings.controller_manager,
        &mut settings.scheduler,
    ] {
        settled
            .claims
            .extend(gates.then(|| Claim::bar("feature-gates", "kubernetes.featureGates")));
    }
    let read = |directory: &str| {
        settings
            .plan
            .configurations
            .iter()
            .any(|it| it.path.starts_with(directory))
    };
    let further = settings.plan.audit_webhook.is_some() || settings.plan.encryption.is_some();
    let (api_files, scheduler_files) = (further || read(API_SERVER), read(SCHEDULER));
    settings
        .api_server
        .volumes
        .extend(api_files.then(|| mounted("firelay-config", API_SERVER, true)));
    settings
        .scheduler
        .volumes
        .extend(scheduler_files.then(|| mounted("firelay-config", SCHEDULER, true)));
    settings
}

/// kube-scheduler heeds no `--kubeconfig` beside a configuration.
fn scheduler(kubernetes: &Kubernetes, profile: &KubernetesProfile, settings: &mut Settings, report: &mut Report) {
    let config = &kubernetes.scheduler.config;
    let key = "kubernetes.scheduler.config";
    let Some(mut document) = document::read("scheduler", key, config, profile, report) else {
        return;
    };
    let connection = document
        .entry("clientConnection")
        .or_insert_with(|| serde_json::json!({}));
    if let Some(connection) = connection.as_object_mut() {
        connection
            .entry("kubeconfig")
            .or_insert("/etc/kubernetes/scheduler.conf".into());
    }
    let path = format!("{SCHEDULER}/config.yaml");
    settings.scheduler.claims.push(Claim::set("config", path.clone(), key));
    settings.plan.configurations.push(ConfigurationPlan {
        path,
        content: document,
    });
}

/// A directory of the node at the same place in the pod.
fn mounted(name: &str, directory: &str, read_only: bool) -> VolumePlan {
    VolumePlan {
        name: name.to_owned(),
        host_path: directory.to_owned(),
        mount_path: directory.to_owned(),
        read_only,
        path_type: Some("DirectoryOrCreate".to_owned()),
    }
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
    settings.api_server.claims.push(Claim::set(argument, path.clone(), key));
    settings.plan.configurations.push(ConfigurationPlan { path, content });
}

/// The place of a mapping's first key.
fn first<T>(mapping: &std::collections::BTreeMap<Spanned<String>, T>) -> Option<firelay_yaml::diagnostic::Span> {
    mapping.keys().map(|key| key.span).min()
}
