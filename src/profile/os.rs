//! Operating systems.

pub use firelay_tree::DocumentFormat;
use serde::{Deserialize, Serialize};

use super::{PlatformProfile, UserData};
use crate::spec::Arch;

/// The manager of the network interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkStack {
    SystemdNetworkd,
    NetworkManager,
    Wicked,
    Ifupdown,
}

/// The handling of SELinux.
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
    /// The required extension of such a file, without the dot.
    pub extension: String,
    /// Shell that puts the files into effect.
    pub command: String,
}

/// The configuration of a package manager's sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceForm {
    /// apt's `.sources` (sources.list(5), "DEB822-STYLE FORMAT").
    Deb822,
    /// `.repo` of dnf and zypper (dnf.conf(5), "REPO OPTIONS").
    Repo,
}

/// Where sources of packages are, and how they are replaced.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackageSources {
    /// The format of such a file.
    pub form: SourceForm,
    /// Takes one file for each source.
    pub directory: String,
    /// The required extension of such a file, without the dot.
    pub extension: String,
    /// Takes one file for each key.
    pub keys: String,
    /// The distribution's own key in the image, as a path; absent where the package manager knows it by itself.
    pub key: Option<String>,
    /// Shell that makes the package manager know the key in the file that is named behind it; absent where naming it suffices.
    pub key_command: Option<String>,
    /// Patterns of files with the image's own sources.
    pub aside: Vec<String>,
}

/// The first lines of a Butane config.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Butane {
    /// `variant`.
    pub variant: String,
    /// `version`: the one that is translated to `ignitionVersion`.
    pub version: String,
}

/// How this OS is started over the network. Arguments that hold a word in braces which has no value are left out: `{seed}`
/// and `{document}` are URLs of the machine's own, `{instance}` is cloud-init's ID for it, `{rootfs}` and `{disk}` are what the
/// spec says of the system. `{arch}` in URLs is `amd64` or `arm64`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SystemBoot {
    /// The kernel; absent where it has no lasting URL.
    pub kernel: Option<String>,
    /// Its initial RAM disks, in order.
    #[serde(default)]
    pub initrd: Vec<String>,
    pub arguments: Vec<String>,
    /// Kernel arguments that install onto a disk instead; absent where none do.
    pub install: Option<Vec<String>>,
    /// Program of the live system that installs it, where kernel arguments alone do not: `PROGRAM -d DISK -i DOCUMENT [-b URL]`,
    /// which with `-y` only checks the disk. `{installer}` in `install` is the URL of the Ignition document that starts it.
    pub installer: Option<String>,
    /// Without those the system runs from memory, and reads its document at each start.
    #[serde(default)]
    pub memory: bool,
}

/// Directories of this OS.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OsPaths {
    /// Binaries that firelay fetches.
    pub bin: String,
    /// firelay's own scripts.
    pub lib: String,
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
    /// Its place among those that `init` offers by name, from 1; the first is taken if nobody says anything.
    pub suggest: Option<u8>,
    /// The document that it reads at first boot.
    pub document: DocumentFormat,
    /// Version of cloud-init in the stock image, `22.4`; absent if it is not known, or grows with updates.
    pub cloud_init: Option<String>,
    /// Ignition specification to emit; only with `document: ignition`.
    pub ignition_version: Option<String>,
    /// Butane's name of this system, for users who merge their own documents; only with `document: ignition`.
    pub butane: Option<Butane>,
    /// Architectures with images.
    pub architectures: Vec<Arch>,
    /// Where things go.
    pub paths: OsPaths,
    /// Where preinstalled binaries of distribution packages are.
    pub package_bin: String,
    /// The manager of the interfaces.
    pub network: NetworkStack,
    /// systemd-resolved is the resolver.
    pub resolved: bool,
    /// How it is started over the network.
    pub pxe: Option<SystemBoot>,
    /// The handling of SELinux.
    pub selinux: Selinux,
    /// Nodes run with SELinux enforcing too.
    #[serde(default)]
    pub enforcing: bool,
    /// How further certificates are trusted; absent when they cannot be.
    pub trust: Option<Trust>,
    /// Shell that installs the packages named behind it, or fails; absent without a package manager.
    pub package_command: Option<String>,
    /// Where it says where packages come from; absent without a package manager.
    pub package_sources: Option<PackageSources>,
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
    /// The platform's limits for this OS's document format; `None` when it cannot carry that format.
    pub fn user_data<'a>(&self, platform: &'a PlatformProfile) -> Option<&'a UserData> {
        match self.document {
            DocumentFormat::CloudInit => platform.cloud_init.as_ref(),
            DocumentFormat::Ignition => platform.ignition.as_ref(),
        }
    }
}
