//! Booting from the network, resolved.

use serde::Serialize;

/// Where machines that boot from the network find things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PxePlan {
    /// `firelay serve`, without a slash at the end.
    pub url: String,
    /// Matchbox, likewise.
    pub matchbox: Option<String>,
}

/// The files and arguments of a network boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootPlan {
    /// URL of the kernel.
    pub kernel: String,
    /// URLs of its initial RAM disks, in order.
    pub initrd: Vec<String>,
    /// Arguments, in which `{seed}`, `{document}`, `{installer}` and `{instance}` are still to be filled: URLs that name the machine, and an
    /// ID that follows its document.
    pub arguments: Vec<String>,
    /// The machine runs from memory: it reads its document at each start.
    pub memory: bool,
    /// A program of the live system installs the machine.
    pub installation: Option<InstallationPlan>,
}

/// An installation by a program of the live system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstallationPlan {
    /// The program.
    pub program: String,
    /// The disk.
    pub disk: String,
    /// URL below which the program finds its images; its own default if absent.
    pub image: Option<String>,
}
