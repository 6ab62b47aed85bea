//! `runtime` and `artifacts`, resolved.

use semver::Version;

use crate::{
    profile::{ArtifactFormat, RuntimeService},
    spec::{OciRuntime, Registry},
};

/// The program that runs containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    Containerd,
    Crio,
}

/// The container runtime, resolved.
#[derive(Clone, Debug)]
pub struct RuntimePlan {
    pub kind: RuntimeKind,
    pub service: RuntimeService,
    pub version: Version,
    /// Sandbox image, rewritten already.
    pub sandbox_image: String,
    pub snapshotter: String,
    /// Registries as the user gave them.
    pub registries: Vec<Registry>,
    pub runtimes: Vec<OciRuntime>,
    pub nerdctl: bool,
}

impl RuntimePlan {
    /// The socket as kubeadm and crictl name it.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.service.socket)
    }

    /// `containerd.service`.
    pub fn unit(&self) -> String {
        format!("{}.service", self.service.name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageArchivePlan {
    pub url: String,
    pub sha256: String,
}

/// One file to fetch on a node, resolved for its architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactPlan {
    /// Catalog name, `kubelet`.
    pub name: String,
    pub version: Version,
    /// URL, mirror and overrides applied.
    pub url: String,
    /// Where upstream publishes it, without the mirror; nowhere if its location is the user's own.
    pub upstream: Option<String>,
    /// Lower-case hex SHA-256 or SHA-512.
    pub digest: String,
    pub format: ArtifactFormat,
    /// Archive members (see [`crate::profile::Artifact::members`]).
    pub members: Vec<String>,
    /// Directory that receives them.
    pub directory: String,
}
