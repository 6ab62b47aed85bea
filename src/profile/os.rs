//! Operating systems.

use serde::Deserialize;

use super::{PlatformProfile, Resolved, UserData};
use crate::{diagnostic::Diagnostic, spec::Arch};

/// The document that an OS reads at first boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentFormat {
    /// `#cloud-config`.
    CloudInit,
    /// Ignition JSON.
    Ignition,
}

/// Who manages the network interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum NetworkStack {
    SystemdNetworkd,
    NetworkManager,
    Wicked,
    Ifupdown,
}

/// What firelay does about SELinux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selinux {
    /// The OS has none.
    Absent,
    /// Left as it is.
    Keep,
    /// Set to permissive, now and for later boots.
    Permissive,
}

/// How certificates come to be trusted by every program of this OS.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Trust {
    /// Takes one file for each certificate.
    pub directory: String,
    /// What the name of such a file must end with, without the dot.
    pub extension: String,
    /// Shell that puts the files into effect.
    pub command: String,
}

/// Where things are laid on this OS.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OsPaths {
    /// Binaries that firelay fetches.
    pub bin: String,
    /// firelay's own scripts.
    pub lib: String,
    /// CNI plugins.
    pub cni_bin: String,
    /// Kubelet's volume plugins; must be writable.
    pub volume_plugins: String,
}

/// `profiles/os/NAME.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OsProfile {
    /// The profile's name, equal to the file's.
    pub name: String,
    /// For people.
    pub title: String,
    /// Other names by which people know it. Not accepted; the refusal says which profile was meant.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What it reads at first boot.
    pub document: DocumentFormat,
    /// Version of cloud-init in the stock image, `22.4`; absent if it is not known, or grows with updates.
    pub cloud_init: Option<String>,
    /// Ignition specification to emit; only with `document: ignition`.
    pub ignition_version: Option<String>,
    /// Architectures with images.
    pub architectures: Vec<Arch>,
    /// Where things go.
    pub paths: OsPaths,
    /// Where preinstalled binaries of distribution packages are.
    pub package_bin: String,
    /// Who manages the interfaces.
    pub network: NetworkStack,
    /// systemd-resolved is the resolver.
    pub resolved: bool,
    /// What to do about SELinux.
    pub selinux: Selinux,
    /// How further certificates are trusted; absent when they cannot be.
    pub trust: Option<Trust>,
    /// Shell that installs the packages named behind it, or fails; absent without a package manager.
    pub package_command: Option<String>,
    /// Packages that the stock image lacks and a node needs.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Packages with modules of the running kernel that the stock image lacks. They must be installed as
    /// `NAME-$(uname -r)`: without a version they bring a newer kernel, whose modules the running one cannot load.
    #[serde(default)]
    pub kernel_packages: Vec<String>,
    /// Kernel modules beyond those every node loads.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Directories that nothing can be written to.
    #[serde(default)]
    pub read_only: Vec<String>,
    /// Units that would get in the way and are masked (reboot managers, a second runtime).
    #[serde(default)]
    pub mask_units: Vec<String>,
}

impl OsProfile {
    /// What a profile of the user must have beside the right fields: documents and scripts are written with it.
    pub(super) fn check(&self, profile: &Resolved<'_>) -> Result<(), Vec<Diagnostic>> {
        let place = |key: &str| profile.root.get(key).map_or(profile.root.span, |node| node.span);
        let mut findings = Vec::new();
        if self.document == DocumentFormat::Ignition && self.ignition_version.is_none() {
            let finding =
                Diagnostic::error("FL0024", "an Ignition system without `ignitionVersion`").at(place("document"));
            findings.push(finding.help("write the specification that the image reads: ignitionVersion: 3.3.0"));
        }
        let paths = [
            ("bin", &self.paths.bin),
            ("lib", &self.paths.lib),
            ("cniBin", &self.paths.cni_bin),
            ("volumePlugins", &self.paths.volume_plugins),
        ];
        let of_paths = |key| profile.root.get("paths").and_then(|paths| paths.get(key));
        let paths = paths.map(|(key, path)| (of_paths(key).map_or(place("paths"), |node| node.span), path));
        for (place, path) in paths.into_iter().chain([(place("packageBin"), &self.package_bin)]) {
            let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
            if !path.starts_with('/') || !path.bytes().all(inner) {
                let finding = Diagnostic::error("FL0024", "not an absolute path").at(place);
                findings.push(finding.label("letters, digits and . _ - between slashes"));
            }
        }
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    /// What a platform takes of this OS's kind of document; `None` when it cannot carry it.
    pub fn user_data<'a>(&self, platform: &'a PlatformProfile) -> Option<&'a UserData> {
        match self.document {
            DocumentFormat::CloudInit => platform.cloud_init.as_ref(),
            DocumentFormat::Ignition => platform.ignition.as_ref(),
        }
    }
}
