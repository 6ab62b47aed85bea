//! `runtime`: containerd or CRI-O, its registries and further OCI runtimes.

use schemars::JsonSchema;
use serde::Deserialize;

use firelay_yaml::Spanned;

/// `runtime`: containerd, or CRI-O in its place.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Runtime {
    /// CRI-O in the place of containerd.
    pub crio: Option<Spanned<Crio>>,
    /// containerd's version; the Kubernetes profile's if absent.
    pub version: Option<Spanned<String>>,
    /// runc's version; the Kubernetes profile's if absent.
    pub runc_version: Option<Spanned<String>>,
    /// Sandbox (pause) image; the profile's under the image repository if absent.
    pub sandbox_image: Option<Spanned<String>>,
    /// Snapshotter; `overlayfs` if absent.
    pub snapshotter: Option<Spanned<String>>,
    /// Registries, their mirrors and credentials.
    pub registries: Vec<Registry>,
    /// Further OCI runtimes besides runc.
    pub runtimes: Vec<OciRuntime>,
    /// nerdctl on every node.
    pub nerdctl: Spanned<bool>,
}

/// CRI-O. Its bundle brings crun and runc.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Crio {
    /// Its version, of Kubernetes' minor; the Kubernetes profile's if absent.
    pub version: Option<Spanned<String>>,
}

/// One registry, as containerd's `certs.d/HOST/hosts.toml` or CRI-O's `registries.conf.d` has it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Registry {
    /// `docker.io`, `registry.example.com:5000`, or `_default`.
    pub host: Spanned<String>,
    /// Upstream URL; `https://HOST` if absent.
    pub server: Option<Spanned<String>>,
    /// Tried in order before the server.
    #[serde(default)]
    pub mirrors: Vec<Mirror>,
}

/// A mirror of a registry.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mirror {
    /// Base URL.
    pub url: Spanned<String>,
    /// `pull`, `resolve`, `push`; pull and resolve if absent.
    #[serde(default)]
    pub capabilities: Vec<Spanned<MirrorCapability>>,
    /// PEM of the CA that signed the mirror's certificate.
    pub ca: Option<Spanned<String>>,
    /// The certificate by which the container runtime is known to the mirror.
    pub client: Option<RegistryClient>,
    /// No verification of the mirror's certificate.
    #[serde(default)]
    pub skip_verify: bool,
    /// The URL is used as it stands, without `/v2`.
    #[serde(default)]
    pub override_path: bool,
    /// Basic authentication.
    pub auth: Option<RegistryAuth>,
}

/// Requests that a mirror answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MirrorCapability {
    Pull,
    Resolve,
    Push,
}

/// Basic authentication against a registry.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryAuth {
    /// User.
    pub username: Spanned<String>,
    /// Password; redacted in every output for people.
    pub password: crate::secret::Secret<String>,
}

/// A client certificate for a mirror.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryClient {
    /// PEM of the certificate, with its chain.
    pub certificate: Spanned<String>,
    /// PEM of its key; redacted in every output for people.
    pub key: crate::secret::Secret<String>,
}

/// A further OCI runtime handler.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OciRuntime {
    /// Handler name for a RuntimeClass.
    pub name: Spanned<String>,
    /// `io.containerd.runsc.v1` and so on.
    #[serde(rename = "type")]
    pub kind: Spanned<String>,
    /// `BinaryName` option.
    pub binary: Option<Spanned<String>>,
    /// Whether the handler uses systemd's cgroups. If absent, handlers of runc's shim do, and others decide themselves.
    pub systemd_cgroup: Option<bool>,
}
