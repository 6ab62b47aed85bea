//! What a profile of the user must have beside fields of the right types: documents, scripts and commands are made with it.

use regex_lite::Regex;
use semver::Version;

use super::{
    ArtifactFormat, Catalog, ContainerdReleases, DocumentFormat, EndpointProfile, KubernetesProfile, OsProfile,
    PackageSources, PlatformProfile, ProviderId, Resolved, SecurityProfile, Store, UserData,
};
use crate::{
    diagnostic::{Diagnostic, Span},
    yaml::{Content, Node},
};

/// Fewer bytes than a document ever has.
const LEAST: u64 = 4096;

/// Keys of a spec that a profile cannot say for others.
const OF_ONE_CLUSTER: [&str; 8] = [
    "apiVersion",
    "kind",
    "include",
    "name",
    "endpoint",
    "nodes",
    "pools",
    "patches",
];

/// Kinds of units that can be masked.
const UNITS: [&str; 6] = [".service", ".socket", ".timer", ".target", ".path", ".mount"];

/// A profile that is looked at, and what is wrong with it.
pub(super) struct Check<'p> {
    root: &'p Node<'p>,
    findings: Vec<Diagnostic>,
}

impl<'p> Check<'p> {
    pub(super) fn of(profile: &'p Resolved<'_>) -> Self {
        Self {
            root: &profile.root,
            findings: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Result<(), Vec<Diagnostic>> {
        if self.findings.is_empty() {
            Ok(())
        } else {
            Err(self.findings)
        }
    }

    /// Where a value stands; where what is above it does if it is not there.
    fn place(&self, path: &str) -> Span {
        let mut node = self.root;
        for key in path.split('/') {
            let below = match &node.content {
                Content::Sequence(items) => key.parse::<usize>().ok().and_then(|at| items.get(at)),
                _ => node.get(key),
            };
            match below {
                Some(below) => node = below,
                None => break,
            }
        }
        node.span
    }

    fn wrong(&mut self, path: &str, what: &str, label: &str, help: &str) {
        let finding = Diagnostic::error("FL0024", what).at(self.place(path)).label(label);
        let help = Some(help.to_owned()).filter(|help| !help.is_empty());
        self.findings.push(Diagnostic { help, ..finding });
    }

    fn path(&mut self, key: &str, path: &str) {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
        if !path.starts_with('/') || !path.bytes().all(inner) {
            self.wrong(
                key,
                "not an absolute path",
                "letters, digits and . _ - between slashes",
                "",
            );
        }
    }

    /// Words of a command line or of a list that a script reads.
    fn words(&mut self, key: &str, words: &[String], signs: &str) {
        for (at, word) in words.iter().enumerate() {
            self.word(&format!("{key}/{at}"), word, signs);
        }
    }

    fn word(&mut self, key: &str, word: &str, signs: &str) {
        let first = word.starts_with(|first: char| first.is_ascii_alphanumeric());
        if !first
            || !word
                .chars()
                .all(|sign| sign.is_ascii_alphanumeric() || signs.contains(sign))
        {
            let inner = if signs.is_empty() { "" } else { ", inside also " };
            let shown = signs.chars().map(|sign| format!("`{sign}`")).collect::<Vec<_>>();
            let label = format!("letters and digits{inner}{}", shown.join(" "));
            self.wrong(key, "not a word that a script can take", &label, "");
        }
    }

    fn command(&mut self, key: &str, command: &str) {
        if command.trim().is_empty() || command.contains(['\n', '\0']) {
            self.wrong(key, "not a line of shell", "one line, with something in it", "");
        }
    }

    pub(super) fn os(&mut self, os: &OsProfile) {
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

    pub(super) fn platform(&mut self, platform: &PlatformProfile) {
        let documents = [("cloudInit", &platform.cloud_init), ("ignition", &platform.ignition)];
        if documents.iter().all(|(_, document)| document.is_none()) {
            self.wrong(
                "name",
                "a platform that takes no document",
                "",
                "write cloudInit: {…}, ignition: {…} or both",
            );
        }
        for (key, document) in documents {
            if let Some(document) = document {
                self.user_data(key, document);
            }
        }
        if let Some(command) = platform.hostname.as_ref().and_then(|name| name.command.as_ref()) {
            self.command("hostname/command", command);
        }
        self.words("metadata/names", &platform.metadata.names, "-.");
        self.identity(&platform.identity);
        if let Some(id) = &platform.provider_id {
            self.provider_id(id);
        }
    }

    fn identity(&mut self, schemes: &[String]) {
        let asking = Store::all().filter(|store| !store.auth).filter_map(Store::scheme);
        let known: Vec<_> = asking.collect();
        for (at, scheme) in schemes.iter().enumerate() {
            if !known.contains(&scheme.as_str()) {
                let help = format!("identity: {}", known.join(", "));
                self.wrong(
                    &format!("identity/{at}"),
                    "no store that asks for an identity",
                    "",
                    &help,
                );
            }
        }
    }

    fn provider_id(&mut self, id: &ProviderId) {
        if !id.form.contains("://") {
            let help = "write it as spec.providerID of a node is: name://what-differs";
            self.wrong("providerId/form", "not the form of a provider ID", "", help);
        }
        if let Some(pattern) = id.node_names.as_ref().filter(|pattern| Regex::new(pattern).is_err()) {
            let label = format!("{pattern} is no regular expression");
            self.wrong("providerId/nodeNames", "names that nobody can match", &label, "");
        }
    }

    fn user_data(&mut self, key: &str, document: &UserData) {
        self.word(&format!("{key}/attribute"), &document.attribute, "-_./");
        if document.encodings.is_empty() {
            let help = "encodings: plain, base64, gzip, gzip-base64";
            self.wrong(&format!("{key}/encodings"), "a document in no encoding", "", help);
        }
        if let Some(limit) = document.limit.filter(|limit| *limit < LEAST) {
            let help = format!(
                "a limit counts bytes: {limit} KiB are {}; leave it out if there is none",
                limit * 1024
            );
            self.wrong(&format!("{key}/limit"), "a limit that no document keeps", "", &help);
        }
    }

    pub(super) fn kubernetes(&mut self, kubernetes: &KubernetesProfile) {
        if kubernetes.versions.is_empty() {
            self.wrong("versions", "a minor without versions", "", "");
        }
        for (at, version) in kubernetes.versions.iter().enumerate() {
            if format!("{}.{}", version.major, version.minor) != kubernetes.minor {
                let label = format!("this is no {}", kubernetes.minor);
                self.wrong(&format!("versions/{at}"), "a version of another minor", &label, "");
            }
        }
        if !kubernetes.kubeadm_api.starts_with("kubeadm.k8s.io/v") {
            self.wrong(
                "kubeadmApi",
                "not a version of kubeadm's configuration",
                "",
                "write it as kubeadm.k8s.io/v1beta4",
            );
        }
        self.word("pause", &kubernetes.pause, "-_.");
        self.word("coredns", &kubernetes.coredns, "-_.");
        self.word("etcdImage", &kubernetes.etcd_image, "-_.");
    }

    pub(super) fn catalog(&mut self, catalog: &Catalog) {
        for (name, artifact) in &catalog.artifacts {
            let key = format!("artifacts/{name}");
            let url = &artifact.url;
            if !(url.starts_with("https://") || url.starts_with("http://")) || url.contains([' ', '"', '\'']) {
                let label = "http:// or https://, a host, no blanks and quotes";
                self.wrong(&format!("{key}/url"), "not a URL that can be fetched", label, "");
            }
            if artifact.format == ArtifactFormat::Binary && artifact.members.len() > 1 {
                self.wrong(
                    &format!("{key}/members"),
                    "a binary with several names",
                    "it is one file",
                    "",
                );
            }
            for (version, digests) in &artifact.releases {
                for (arch, digest) in digests {
                    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                    if digest.len() != 64 || !digest.bytes().all(hex) {
                        let arch = serde_json::to_value(arch).unwrap_or_default();
                        let arch = arch.as_str().unwrap_or_default();
                        let place = format!("{key}/releases/{version}/{arch}");
                        self.wrong(&place, "not a SHA-256", "64 digits, a-f in lower case", "");
                    }
                }
            }
        }
    }

    /// It is laid below every spec, so it can say nothing of one cluster's own.
    pub(super) fn security(&mut self, security: &SecurityProfile) {
        let Some(spec) = security.spec.as_object() else {
            return self.wrong("spec", "not a part of a spec", "a mapping is needed", "");
        };
        for key in OF_ONE_CLUSTER.iter().filter(|key| spec.contains_key(**key)) {
            let place = format!("spec/{key}");
            self.wrong(
                &place,
                "what only one cluster can have",
                "a profile is for many",
                "remove it",
            );
        }
        if security.spec.pointer("/security/profile").is_some() {
            let help = "begin the file with extends: NAME";
            self.wrong(
                "spec/security/profile",
                "a profile that asks for another",
                "it is not read",
                help,
            );
        }
        for (at, guard) in security.guards.iter().enumerate() {
            let empty = guard.path.split('.').any(str::is_empty);
            if empty {
                self.wrong(
                    &format!("guards/{at}/path"),
                    "not a path",
                    "keys with dots between them",
                    "",
                );
            }
        }
    }

    pub(super) fn endpoint(&mut self, endpoint: &EndpointProfile) {
        let images = &endpoint.images;
        self.word("images/kubeVip", &images.kube_vip, "-_./:@");
        self.word("images/haproxy", &images.haproxy, "-_./:@");
    }

    pub(super) fn containerd(&mut self, containerd: &ContainerdReleases) {
        for (at, release) in containerd.releases.iter().enumerate() {
            if !(2..=3).contains(&release.config_version) {
                let place = format!("releases/{at}/configVersion");
                self.wrong(
                    &place,
                    "a version of containerd's configuration that firelay does not write",
                    "",
                    "versions: 2, 3",
                );
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::Profiles, *};

    #[test]
    fn nothing_is_asked_that_firelays_own_profiles_lack() {
        let profiles = Profiles::embedded().unwrap();
        let root = Node {
            span: Span::default(),
            content: Content::Mapping(Vec::new()),
        };
        let mut check = Check {
            root: &root,
            findings: Vec::new(),
        };
        profiles.os.values().for_each(|os| check.os(os));
        profiles.platform.values().for_each(|platform| check.platform(platform));
        profiles.kubernetes.values().for_each(|minor| check.kubernetes(minor));
        check.catalog(&profiles.catalog);
        check.endpoint(&profiles.endpoint);
        check.containerd(&profiles.containerd);
        profiles.security.values().for_each(|security| check.security(security));
        assert_eq!(check.findings, []);
    }
}
