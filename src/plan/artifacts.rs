//! What each machine fetches at first boot, and where the images come from.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;

use super::{ArtifactPlan, ImageArchivePlan, ManifestSource, Plan, RoleSet, names, report::Report};
use crate::{
    diagnostic::{Diagnostic, Span, nearest},
    profile::{Artifact, ArtifactScope, ArtifactTarget, Catalog, OsProfile, Profiles, fill},
    spec::{Arch, ArtifactOverride, ArtifactSource, ImageArchive, Spec},
    yaml::Spanned,
};

/// The versions of everything that is fetched, with the places that chose them.
pub(super) struct Versions<'a> {
    /// Kubernetes' own; of every artifact that the profile's `components` do not name.
    pub(super) kubernetes: (&'a Version, Span),
    /// By catalog name.
    pub(super) components: BTreeMap<&'a str, (Version, Span)>,
}

impl Versions<'_> {
    fn of(&self, name: &str) -> (&Version, Span) {
        self.components
            .get(name)
            .map_or(self.kubernetes, |(version, span)| (version, *span))
    }
}

/// `artifacts`, with what is needed to answer for a machine.
pub(super) struct Store<'a> {
    spec: &'a Spec,
    catalog: &'a Catalog,
    versions: Versions<'a>,
    /// Machines of one kind fetch the same; asked once, and mistakes are told once.
    known: BTreeMap<(String, Arch, [bool; 3]), Vec<ArtifactPlan>>,
}

impl<'a> Store<'a> {
    /// Checks `artifacts` as a whole.
    pub(super) fn new(spec: &'a Spec, profiles: &'a Profiles, versions: Versions<'a>) -> Self {
        Self {
            spec,
            catalog: &profiles.catalog,
            versions,
            known: BTreeMap::new(),
        }
    }

    /// Binaries come with the machine image.
    pub(super) fn preinstalled(&self) -> bool {
        self.spec
            .artifacts
            .source
            .as_ref()
            .is_some_and(|source| source.value == ArtifactSource::Preinstalled)
    }

    /// Where the binaries are on an OS.
    pub(super) fn bin_dir(&self, os: &OsProfile) -> String {
        let default = if self.preinstalled() {
            &os.package_bin
        } else {
            &os.paths.bin
        };
        self.spec
            .artifacts
            .bin_dir
            .as_ref()
            .map_or(default, |dir| &dir.value)
            .clone()
    }

    /// What a machine fetches, in the order of the catalog.
    pub(super) fn of(&mut self, roles: RoleSet, os: &OsProfile, arch: Arch, report: &mut Report) -> Vec<ArtifactPlan> {
        if self.preinstalled() {
            return Vec::new();
        }
        let kind = (
            os.name.clone(),
            arch,
            [roles.kubernetes(), roles.control_plane, roles.etcd],
        );
        if let Some(known) = self.known.get(&kind) {
            return known.clone();
        }
        let bin_dir = self.bin_dir(os);
        let plans: Vec<_> = self
            .catalog
            .artifacts
            .iter()
            .filter(|(name, artifact)| self.needed(name, artifact.scope, roles))
            .filter_map(|(name, artifact)| {
                let directory = match artifact.target {
                    ArtifactTarget::Bin => &bin_dir,
                    ArtifactTarget::CniBin => &os.paths.cni_bin,
                };
                report.take(self.plan(name, artifact, arch, directory))
            })
            .collect();
        self.known.insert(kind, plans.clone());
        plans
    }

    /// What a machine fetches of a name in the catalog, wanted or not.
    pub(super) fn one(&self, name: &str, os: &OsProfile, arch: Arch, report: &mut Report) -> Option<ArtifactPlan> {
        let artifact = self.catalog.artifacts.get(name)?;
        report.take(self.plan(name, artifact, arch, &self.bin_dir(os)))
    }

    fn needed(&self, name: &str, scope: ArtifactScope, roles: RoleSet) -> bool {
        match scope {
            ArtifactScope::Kubernetes => roles.kubernetes(),
            ArtifactScope::ControlPlane => roles.control_plane,
            ArtifactScope::Etcd => roles.etcd,
            ArtifactScope::OnRequest => roles.kubernetes() && self.requested().contains(name),
        }
    }

    /// Artifacts that the spec asks for by a setting.
    fn requested(&self) -> BTreeSet<&'static str> {
        [("nerdctl", self.spec.runtime.nerdctl)]
            .into_iter()
            .filter(|(_, asked)| *asked)
            .map(|(name, _)| name)
            .collect()
    }

    fn plan(&self, name: &str, artifact: &Artifact, arch: Arch, directory: &str) -> Result<ArtifactPlan, Diagnostic> {
        let (version, span) = self.versions.of(name);
        let own = self
            .spec
            .artifacts
            .overrides
            .iter()
            .find(|(key, _)| key.as_str() == name)
            .map(|(_, own)| own);
        let own_sha256 = own
            .and_then(|own| own.sha256.get(&arch))
            .map(|sha256| sha256.to_lowercase());
        let sha256 = own_sha256.or_else(|| artifact.sha256(version, arch).map(str::to_owned));
        let (url, upstream) = self.place(artifact, own, version, arch);
        Ok(ArtifactPlan {
            name: name.to_owned(),
            version: version.clone(),
            url,
            upstream,
            sha256: sha256.ok_or_else(|| no_digest(name, artifact, version, arch, span))?,
            format: artifact.format,
            members: artifact.members_of(version, arch),
            directory: directory.to_owned(),
        })
    }

    /// Where an artifact is fetched, and where upstream publishes it unless the location is the user's own.
    fn place(
        &self,
        artifact: &Artifact,
        own: Option<&ArtifactOverride>,
        version: &Version,
        arch: Arch,
    ) -> (String, Option<String>) {
        if let Some(url) = own.and_then(|own| own.url.as_ref()) {
            return (fill(url, version, arch), None);
        }
        let upstream = artifact.url_of(version, arch);
        (mirrored(self.spec, &upstream), Some(upstream))
    }
}

/// Where something of upstream's is fetched: `artifacts.mirror` stands before its host and path.
pub(super) fn mirrored(spec: &Spec, upstream: &str) -> String {
    match prefix(spec) {
        Some(mirror) => format!("{mirror}/{}", path_of(upstream)),
        None => upstream.to_owned(),
    }
}

/// `artifacts.mirror` without `/` at the end.
pub(super) fn prefix(spec: &Spec) -> Option<&str> {
    let mirror = spec.artifacts.mirror.as_ref()?;
    Some(mirror.trim_end_matches('/'))
}

/// Host and path of a URL: what a mirror is asked for.
fn path_of(url: &str) -> &str {
    without_query(url.split_once("://").map_or(url, |(_, rest)| rest))
}

/// A query names no file.
fn without_query(text: &str) -> &str {
    text.split(['?', '#']).next().unwrap_or_default()
}

/// What machines ask of a mirror, behind its URL: what upstream publishes by host and path, and what the user has put there.
/// `None` for what they fetch elsewhere.
pub fn below_mirror<'a>(mirror: Option<&str>, url: &'a str, upstream: Option<&'a str>) -> Option<&'a str> {
    let own = || url.strip_prefix(mirror?)?.strip_prefix('/');
    upstream.map(path_of).or_else(own)
}

/// The file that a web server hands out when it is asked for that: without query, percent-decoded.
pub fn file_of(asked: &str) -> String {
    let path = without_query(asked);
    decoded(path).unwrap_or_else(|| path.to_owned())
}

/// Percent-decoding, once (RFC 3986 §2.1).
pub fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Two sources of different files that would have to be the same file of a mirror.
pub fn crossed(plan: &Plan) -> Option<[&str; 2]> {
    let mut held = BTreeMap::new();
    for (url, upstream, sha256) in fetched(plan) {
        let source = upstream.unwrap_or(url);
        let Some(asked) = below_mirror(plan.mirror.as_deref(), url, upstream) else {
            continue;
        };
        let (other, digest) = *held.entry(file_of(asked)).or_insert((source, sha256));
        if other != source && digest != sha256 {
            return Some([other, source]);
        }
    }
    None
}

/// URL, upstream's URL and digest of everything that machines fetch.
fn fetched(plan: &Plan) -> impl Iterator<Item = (&str, Option<&str>, &str)> {
    let of_node = plan.nodes.iter().flat_map(|node| {
        let archives = node.image_archives.iter();
        let archives = archives.map(|archive| (archive.url.as_str(), None, archive.sha256.as_str()));
        let artifacts = node
            .artifacts
            .iter()
            .map(|file| (file.url.as_str(), file.upstream.as_deref(), file.sha256.as_str()));
        artifacts.chain(archives)
    });
    let manifests = plan.manifests.iter().filter_map(|manifest| match &manifest.source {
        ManifestSource::Url { url, upstream, sha256 } => Some((url.as_str(), upstream.as_deref(), sha256.as_str())),
        ManifestSource::Content(_) => None,
    });
    of_node.chain(manifests)
}

/// Refuses a mirror that cannot hold what is asked of it.
pub(super) fn check_apart(spec: &Spec, plan: &Plan, report: &mut Report) {
    if let (Some(mirror), Some([one, other])) = (&spec.artifacts.mirror, crossed(plan)) {
        let finding = Diagnostic::error("FL0307", "two files would be the same one of the mirror").at(mirror.span);
        let finding = finding.label(format!("{one} and {other} have the same host and path"));
        report.push(finding.help("give one of them another URL with artifacts.overrides, or leave the mirror out"));
    }
}

fn no_digest(name: &str, artifact: &Artifact, version: &Version, arch: Arch, span: Span) -> Diagnostic {
    let known = artifact
        .releases
        .iter()
        .rev()
        .filter(|(_, digests)| digests.contains_key(&arch));
    let known: Vec<_> = known.map(|(version, _)| version.to_string()).collect();
    Diagnostic::error("FL0303", format!("no digest of {name} {version} for {arch}"))
        .at(span)
        .label("what is fetched is checked by its SHA-256")
        .help(format!(
            "known: {}; or set artifacts.overrides.{name}.sha256.{arch}",
            known.join(", ")
        ))
}

/// Checks `artifacts` itself.
pub(super) fn check(spec: &Spec, profiles: &Profiles, report: &mut Report) {
    let artifacts = &spec.artifacts;
    artifacts.mirror.iter().for_each(|url| check_url(url, report));
    artifacts.bin_dir.iter().for_each(|dir| check_path(dir, report));
    for (name, own) in &artifacts.overrides {
        check_override(name, own, &profiles.catalog, report);
    }
    let below = spec.below().flat_map(|settings| settings.image_archives);
    for archive in artifacts.image_archives.iter().chain(below) {
        check_url(&archive.url, report);
        check_sha256(&archive.sha256, report);
    }
    for prefix in artifacts.image_rewrites.iter().flat_map(|(from, to)| [from, to]) {
        check_image(prefix, report);
    }
}

fn check_override(name: &Spanned<String>, own: &ArtifactOverride, catalog: &Catalog, report: &mut Report) {
    if !catalog.artifacts.contains_key(name.as_str()) {
        let names = catalog.artifacts.keys().map(String::as_str);
        let finding = Diagnostic::error("FL0305", "no such artifact").at(name.span);
        let help = format!("artifacts: {}", names.clone().collect::<Vec<_>>().join(", "));
        report.push(match nearest(name, names) {
            Some(near) => finding.label(format!("did you mean `{near}`?")).help(help),
            None => finding.help(help),
        });
    }
    own.url.iter().for_each(|url| check_template(url, report));
    own.sha256.values().for_each(|sha256| check_sha256(sha256, report));
}

/// What an override's URL may hold, see [`fill`].
const PLACEHOLDERS: [&str; 2] = ["version", "arch"];

/// Refuses an override's URL that cannot be fetched when it is filled in.
fn check_template(url: &Spanned<String>, report: &mut Report) {
    let words = url
        .split('{')
        .skip(1)
        .map(|rest| rest.split('}').next().unwrap_or_default());
    let unknown = words.clone().find(|word| !PLACEHOLDERS.contains(word));
    if let Some(word) = unknown {
        let finding = Diagnostic::error("FL0307", "nothing fills this in").at(url.span);
        let label = match nearest(word, PLACEHOLDERS) {
            Some(near) => format!("did you mean `{{{near}}}`?"),
            None => "braces that hold no known word".to_owned(),
        };
        report.push(finding.label(label).help("{version} and {arch} are filled in"));
        return;
    }
    let filled = PLACEHOLDERS
        .iter()
        .fold(url.value.clone(), |url, word| url.replace(&format!("{{{word}}}"), "x"));
    check_url(
        &Spanned {
            value: filled,
            span: url.span,
        },
        report,
    );
}

/// Refuses what cannot be fetched over HTTP, and a password, which many could read.
pub(super) fn check_url(url: &Spanned<String>, report: &mut Report) {
    if !names::is_url(url) {
        let finding = Diagnostic::error("FL0307", "not a URL that can be fetched").at(url.span);
        report.push(finding.label("http:// or https://, a host, no blanks, quotes or braces"));
    } else if names::has_user(url) {
        let finding = Diagnostic::error("FL0314", "a URL with a user name or password").at(url.span);
        report.push(
            finding
                .label("it would stand in logs and process lists")
                .help("a mirror of a registry has `auth`; what firelay fetches itself is checked by its digest"),
        );
    } else if file_of(url).split('/').any(is_no_name) {
        let finding = Diagnostic::error("FL0307", "not a URL that can be fetched").at(url.span);
        report.push(finding.label("a path without . and .. parts and control characters, also percent-encoded ones"));
    }
}

/// Whoever fetches takes `..` out of a URL before it is asked for, and no mirror could hold the file.
fn is_no_name(part: &str) -> bool {
    matches!(part, "." | "..") || part.contains(char::is_control)
}

/// Refuses what is not an absolute path.
pub(super) fn check_path(path: &Spanned<String>, report: &mut Report) {
    if !names::is_absolute_path(path) {
        let finding = Diagnostic::error("FL0311", "not an absolute path").at(path.span);
        report.push(finding.label("begins with /, without blanks, quotes, colons and `..` parts"));
    }
}

pub(super) fn check_sha256(sha256: &Spanned<String>, report: &mut Report) {
    if !names::is_sha256(sha256) {
        let finding = Diagnostic::error("FL0306", "not a SHA-256")
            .at(sha256.span)
            .label("64 hex digits, nothing before them");
        report.push(finding.help("`sha256sum FILE` prints it"));
    }
}

/// Refuses what cannot be an image name or the beginning of one.
pub(super) fn check_image(name: &Spanned<String>, report: &mut Report) {
    let odd = |c: char| !(c.is_ascii_alphanumeric() || ".-_/:@[]".contains(c));
    if name.is_empty()
        || name.contains(odd)
        || name.contains("://")
        || name.starts_with('/')
        || name.ends_with(['/', ':'])
    {
        let finding = Diagnostic::error("FL0312", "not an image name or registry").at(name.span);
        report.push(finding.label("a host and path, without https:// and without / at the end"));
    }
}

/// The image archives of a machine, in order; it takes those of its architecture if it runs a kubelet.
pub(super) fn image_archives(given: &[&ImageArchive], roles: RoleSet, arch: Arch) -> Vec<ImageArchivePlan> {
    let fitting =
        |archive: &&&ImageArchive| roles.kubernetes() && archive.arch.as_ref().is_none_or(|own| own.value == arch);
    let plan = |archive: &&ImageArchive| ImageArchivePlan {
        url: archive.url.value.clone(),
        sha256: archive.sha256.to_lowercase(),
    };
    given.iter().filter(fitting).map(plan).collect()
}
