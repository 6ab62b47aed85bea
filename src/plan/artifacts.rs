//! The files that each machine fetches at first boot, and the image archives.

mod check;
mod mirror;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use firelay_yaml::{
    OptionalKey,
    diagnostic::{Diagnostic, Span},
};
use semver::Version;

pub use self::mirror::{below_mirror, crossed, file_of};
pub(super) use self::{
    check::{check, check_image, check_path, check_sha256, check_url},
    mirror::{check_apart, mirrored, prefix},
};
use super::{ArtifactPlan, ImageArchivePlan, RoleSet, report::Report};
use crate::{
    profile::{Artifact, ArtifactScope, ArtifactTarget, Catalog, OsProfile, Profiles, fill},
    spec::{Arch, ArtifactOverride, ArtifactSource, ImageArchive, Role, Spec},
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
    /// The container runtime's name in the catalog.
    runtime: &'a str,
    versions: Versions<'a>,
    /// Machines of one kind fetch the same, and its mistakes are reported once.
    known: BTreeMap<(String, Arch, [bool; 4]), Arc<Vec<ArtifactPlan>>>,
}

impl<'a> Store<'a> {
    /// Checks `artifacts` as a whole.
    pub(super) fn new(spec: &'a Spec, profiles: &'a Profiles, versions: Versions<'a>, runtime: &'a str) -> Self {
        Self {
            spec,
            catalog: &profiles.catalog,
            runtime,
            versions,
            known: BTreeMap::new(),
        }
    }

    /// Whether the machine image contains the binaries.
    pub(super) fn preinstalled(&self) -> bool {
        self.spec.artifacts.source.value() == Some(ArtifactSource::Preinstalled)
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

    /// The artifacts of a machine, in the order of the catalog. `archives` is whether it imports archives of images.
    pub(super) fn of(
        &mut self,
        roles: RoleSet,
        os: &OsProfile,
        arch: Arch,
        archives: bool,
        report: &mut Report,
    ) -> Arc<Vec<ArtifactPlan>> {
        if self.preinstalled() {
            return Arc::default();
        }
        let kind = (
            os.name.clone(),
            arch,
            [roles.kubernetes(), roles.control_plane, roles.etcd, archives],
        );
        if let Some(known) = self.known.get(&kind) {
            return known.clone();
        }
        let plans: Vec<_> = self
            .catalog
            .artifacts
            .iter()
            .filter(|(_, artifact)| artifact.runtime.as_deref().is_none_or(|own| own == self.runtime))
            .filter(|(name, artifact)| self.needed(name, artifact.scope, roles, archives))
            .filter_map(|(name, artifact)| report.take(self.plan(name, artifact, arch, os)))
            .collect();
        let plans = Arc::new(plans);
        self.known.insert(kind, plans.clone());
        plans
    }

    /// An artifact of the catalog, whether the machine's roles need it or not.
    pub(super) fn one(&self, name: &str, os: &OsProfile, arch: Arch, report: &mut Report) -> Option<ArtifactPlan> {
        let artifact = self.catalog.artifacts.get(name)?;
        report.take(self.plan(name, artifact, arch, os))
    }

    fn needed(&self, name: &str, scope: ArtifactScope, roles: RoleSet, archives: bool) -> bool {
        match scope {
            ArtifactScope::Kubernetes => roles.kubernetes(),
            ArtifactScope::ControlPlane => roles.control_plane,
            ArtifactScope::Etcd => roles.etcd || (roles.control_plane && self.needs_etcdctl()),
            ArtifactScope::ImageArchives => archives,
            ArtifactScope::OnRequest => roles.kubernetes() && self.requested().contains(name),
        }
    }

    /// Stacked members run from an image, whose etcdctl needs a member that runs: `firelay-recover` has none.
    fn needs_etcdctl(&self) -> bool {
        let mut roles = self.spec.nodes.iter().flat_map(|node| node.roles.iter());
        self.spec.etcd.backup.is_some() && roles.all(|role| role.value != Role::Etcd)
    }

    /// Artifacts that the spec asks for by a setting.
    fn requested(&self) -> BTreeSet<&'static str> {
        [("nerdctl", *self.spec.runtime.nerdctl)]
            .into_iter()
            .filter(|(_, asked)| *asked)
            .map(|(name, _)| name)
            .collect()
    }

    fn plan(&self, name: &str, artifact: &Artifact, arch: Arch, os: &OsProfile) -> Result<ArtifactPlan, Diagnostic> {
        let (version, span) = self.versions.of(name);
        let own = self.spec.artifacts.overrides.get(name);
        let own_sha256 = own
            .and_then(|own| own.sha256.get(&arch))
            .map(|sha256| sha256.to_lowercase());
        let digest = own_sha256.or_else(|| artifact.digest(version, arch).map(str::to_owned));
        let (url, upstream) = self.place(artifact, own, version, arch);
        let members = artifact.members_of(version, arch);
        let directory = match artifact.target {
            ArtifactTarget::Bin => self.bin_dir(os),
            ArtifactTarget::CniBin => os.paths.cni_bin.clone(),
            ArtifactTarget::Tree => artifact
                .directory
                .clone()
                .unwrap_or_else(|| format!("/{}", members.concat())),
        };
        Ok(ArtifactPlan {
            name: name.to_owned(),
            version: version.clone(),
            url,
            upstream,
            digest: digest.ok_or_else(|| no_digest(name, artifact, version, arch, span))?,
            format: artifact.format,
            members,
            directory,
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

fn no_digest(name: &str, artifact: &Artifact, version: &Version, arch: Arch, span: Span) -> Diagnostic {
    let known = artifact
        .releases
        .iter()
        .rev()
        .filter(|(_, digests)| digests.contains_key(&arch));
    let known: Vec<_> = known.map(|(version, _)| version.to_string()).collect();
    let read = match artifact.checksums {
        Some(_) => format!("run `firelay catalog update {name}={version}`, or "),
        None => String::new(),
    };
    Diagnostic::error("FL0303", format!("no digest of {name} {version} for {arch}"))
        .at(span)
        .label("what is fetched is checked by its digest")
        .help(format!(
            "known: {}; {read}set artifacts.overrides.{name}.sha256.{arch}",
            known.join(", ")
        ))
}

/// The image archives of a machine with a kubelet, in order, for its architecture.
pub(super) fn image_archives(given: &[&ImageArchive], roles: RoleSet, arch: Arch) -> Vec<ImageArchivePlan> {
    let fitting =
        |archive: &&&ImageArchive| roles.kubernetes() && archive.arch.as_ref().is_none_or(|own| own.value == arch);
    let plan = |archive: &&ImageArchive| ImageArchivePlan {
        url: archive.url.value.clone(),
        sha256: archive.sha256.to_lowercase(),
    };
    given.iter().filter(fitting).map(plan).collect()
}
