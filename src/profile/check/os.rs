//! Checks of an operating system's profile.

use semver::Version;

use super::Check;
use crate::profile::{DocumentFormat, OsProfile, PackageSources};

/// Kinds of units that can be masked.
const UNITS: [&str; 6] = [".service", ".socket", ".timer", ".target", ".path", ".mount"];

impl Check<'_> {
    pub(in crate::profile) fn os(&mut self, os: &OsProfile) {
        match (os.document, &os.ignition_version) {
            (DocumentFormat::Ignition, None) => self.wrong(
                "document",
                "an Ignition system without `ignitionVersion`",
                "",
                "write the specification that the image reads: ignitionVersion: 3.3.0",
            ),
            (_, Some(version)) if Version::parse(version).map_or(true, |version| version.major != 3) => {
                self.wrong(
                    "ignitionVersion",
                    "not a version of Ignition's specification",
                    "",
                    "write it as 3.3.0",
                );
            }
            _ => {}
        }
        if os.architectures.is_empty() {
            self.wrong(
                "architectures",
                "a system for no architecture",
                "",
                "write [amd64], [arm64] or both",
            );
        }
        let paths = &os.paths;
        self.path("paths/bin", &paths.bin);
        self.path("paths/lib", &paths.lib);
        self.path("paths/cniBin", &paths.cni_bin);
        self.path("paths/volumePlugins", &paths.volume_plugins);
        self.path("packageBin", &os.package_bin);
        for (at, path) in os.read_only.iter().enumerate() {
            self.path(&format!("readOnly/{at}"), path);
        }
        if let Some(trust) = &os.trust {
            self.path("trust/directory", &trust.directory);
            self.word("trust/extension", &trust.extension, "");
            self.command("trust/command", &trust.command);
        }
        if let Some(command) = &os.package_command {
            self.command("packageCommand", command);
        }
        if let Some(sources) = &os.package_sources {
            self.package_sources(sources);
        }
        self.words("packages", &os.packages, "+-._:");
        self.words("kernelPackages", &os.kernel_packages, "+-._:");
        self.words("modules", &os.modules, "_-");
        for (at, unit) in os.mask_units.iter().enumerate() {
            let key = format!("maskUnits/{at}");
            self.word(&key, unit, "@:-_.\\");
            if !UNITS.iter().any(|kind| unit.ends_with(kind)) {
                self.wrong(
                    &key,
                    "not a unit that can be masked",
                    "",
                    &format!("units end in {}", UNITS.join(", ")),
                );
            }
        }
    }

    fn package_sources(&mut self, sources: &PackageSources) {
        self.path("packageSources/directory", &sources.directory);
        self.word("packageSources/extension", &sources.extension, "");
        self.path("packageSources/keys", &sources.keys);
        if let Some(key) = &sources.key {
            self.path("packageSources/key", key);
        }
        if let Some(command) = &sources.key_command {
            self.command("packageSources/keyCommand", command);
        }
        for (at, pattern) in sources.aside.iter().enumerate() {
            self.path(&format!("packageSources/aside/{at}"), &pattern.replace('*', "x"));
        }
    }
}
