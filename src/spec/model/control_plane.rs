//! `kubernetes.apiServer`, `.controllerManager` and `.scheduler`: the static pods, and the files that they read.

use std::collections::BTreeMap;

use firelay_yaml::{Spanned, diagnostic::Diagnostic};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Argument, EnvVar, Kms, Volume};
use crate::{
    declaration::{self, Choice},
    secret::Secret,
};

/// Declares a struct whose last fields are what every static pod has.
macro_rules! static_pod {
    ($(#[$attr:meta])* pub struct $name:ident { $($(#[$fattr:meta])* pub $field:ident : $ty:ty,)* }) => {
        $(#[$attr])*
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$fattr])* pub $field: $ty,)*
            /// Arguments without the leading dashes, in order; a name may repeat.
            pub extra_args: Vec<Argument>,
            /// Host paths mounted into the pod.
            pub extra_volumes: Vec<Volume>,
            /// Environment of the container.
            pub extra_envs: Vec<EnvVar>,
        }

        impl $name {
            /// The settings of a static pod, borrowed.
            pub fn pod(&self) -> StaticPod<'_> {
                StaticPod {
                    extra_args: &self.extra_args,
                    extra_volumes: &self.extra_volumes,
                    extra_envs: &self.extra_envs,
                }
            }
        }
    };
}

/// The settings of every static pod of the control plane.
#[derive(Clone, Copy, Debug)]
pub struct StaticPod<'a> {
    pub extra_args: &'a [Argument],
    pub extra_volumes: &'a [Volume],
    pub extra_envs: &'a [EnvVar],
}

static_pod! {
    /// kube-apiserver.
    pub struct ApiServer {
        /// The audit log of requests; none if absent.
        pub audit: Option<Spanned<Audit>>,
        /// Which objects are encrypted in etcd, with the bundle's key or by a key service; none if absent.
        pub encryption: Option<Encryption>,
        /// Admission plugins and their configuration.
        pub admission: Admission,
        /// Fields of AuthenticationConfiguration as upstream names them: `jwt` for OIDC issuers, `anonymous`.
        pub authentication: BTreeMap<Spanned<String>, Value>,
        /// Fields of AuthorizationConfiguration as upstream names them: `authorizers`, among them Node and RBAC.
        pub authorization: BTreeMap<Spanned<String>, Value>,
    }
}

static_pod! {
    /// kube-controller-manager.
    pub struct ControllerManager {}
}

static_pod! {
    /// kube-scheduler.
    pub struct Scheduler {
        /// Fields of KubeSchedulerConfiguration as upstream names them: `profiles`, `percentageOfNodesToScore`, …
        pub config: BTreeMap<Spanned<String>, Value>,
    }
}

/// `kubernetes.apiServer.audit`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Audit {
    /// Fields of the audit Policy as upstream names them: `rules`, `omitStages`, …; there must be rules, if not by a security
    /// profile.
    pub policy: BTreeMap<Spanned<String>, Value>,
    /// A file on every control plane; there is one if neither `log` nor `webhook` is given.
    pub log: Option<AuditLog>,
    /// A server that receives the events.
    pub webhook: Option<AuditWebhook>,
}

/// A file of audit events.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditLog {
    /// The file, in a directory of its own; `/var/log/kubernetes/audit/audit.log` if absent.
    pub path: Option<Spanned<String>>,
    /// Old files go after so many days; 30 if absent.
    pub max_age_days: Option<u32>,
    /// So many old files are kept; 10 if absent.
    pub max_backups: Option<u32>,
    /// A new file begins after so many megabytes; 100 if absent.
    pub max_size_mb: Option<u32>,
}

/// A server of audit events.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditWebhook {
    /// Its URL.
    pub server: Spanned<String>,
    /// PEM of the CA that signed its certificate; those of the system if absent.
    pub ca: Option<Spanned<String>>,
    /// Bearer token; redacted in every output for people.
    pub token: Option<Secret<String>>,
}

/// `kubernetes.apiServer.encryption`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Encryption {
    /// Resources, those of a group with it: `secrets`, `configmaps`, `deployments.apps`, `*.*`; secrets if empty. What was
    /// written before is still read.
    pub resources: Vec<Spanned<String>>,
    /// Key services (KMS v2), each by a plugin on every control plane: the first one writes, and all read. The bundle's key if absent.
    pub kms: Option<Kms>,
    /// Keeps the bundle's key beside `kms` while objects change from one to the other; no control plane has it then if absent.
    /// Without `kms`, `reads` is the step before the first encryption, and before the end of it: objects are written unencrypted.
    pub bundle_key: Option<Spanned<BundleKey>>,
}

impl Encryption {
    /// The key services, with the findings in the form of their parameters.
    pub fn kms(&self) -> (Vec<Choice>, Vec<Diagnostic>) {
        declaration::kms(self.kms.as_ref().map(|Kms(fragment)| &fragment.0))
    }
}

/// The use of the bundle's key beside key services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BundleKey {
    /// It encrypts, and key services only read.
    Writes,
    /// It only reads what it has encrypted before.
    Reads,
}

/// `kubernetes.apiServer.admission`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Admission {
    /// Plugins beside those that are on by themselves.
    pub enable: Vec<Spanned<String>>,
    /// Plugins that are on by themselves and shall not be.
    pub disable: Vec<Spanned<String>>,
    /// By plugin (`PodSecurity`, `EventRateLimit`, …), its configuration as upstream names the fields.
    pub config: BTreeMap<Spanned<String>, Value>,
}

/// `kubernetes.tls`: what API server, controller manager, scheduler, kubelets and etcd accept.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Tls {
    /// Lowest version; TLS1.2 if absent.
    pub min_version: Option<Spanned<TlsVersion>>,
    /// Suites of TLS 1.2 by their Go names (TLS 1.3 has no choice); Go's own if absent.
    pub cipher_suites: Vec<Spanned<String>>,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum TlsVersion {
    #[serde(rename = "TLS1.2")]
    Tls12,
    #[serde(rename = "TLS1.3")]
    Tls13,
}
