//! `etcd`: stacked on the control planes, or on machines of its own.

pub(super) mod backup;
pub(super) mod directory;

use firelay_yaml::{
    Minor, OptionalKey, Spanned,
    diagnostic::{Diagnostic, Span},
};
use semver::Version;

use super::{
    EtcdPlan, artifacts, component, control_plane, images::Images, names, release::Release, report::Report,
    reserved::RESERVED,
};
use crate::{
    profile::{Catalog, Profiles},
    spec::{Etcd, Spec, Tls},
};

/// etcd's own figures in milliseconds (`server/embed/config.go`).
const HEARTBEAT: u32 = 100;
const ELECTION: u32 = 1000;
const LONGEST_ELECTION: u32 = 50_000;

/// `etcd`, checked and resolved, for the version of external members.
pub(super) fn resolve(
    spec: &Spec,
    external: bool,
    version: &Version,
    profiles: &Profiles,
    release: &Release,
    images: &Images,
    report: &mut Report,
) -> EtcdPlan {
    let etcd = &spec.etcd;
    check_timing(etcd, report);
    check_unused(etcd, external, report);
    report.each(&etcd.data_dir, directory::check);
    report.each(&etcd.image_repository, artifacts::check_image);
    let minor = if external {
        Some(Minor::of(version))
    } else {
        image_minor(etcd, release)
    };
    let extra_args = arguments(etcd, &spec.kubernetes.tls, minor, release, report);
    EtcdPlan {
        external,
        version: version.clone(),
        data_dir: etcd.data_dir.value().unwrap_or_else(|| directory::DATA.to_owned()),
        own_args: profiles.etcd.member_arguments(version, &extra_args),
        extra_args,
        extra_envs: component::environment(&etcd.extra_envs, report),
        image_repository: etcd
            .image_repository
            .as_ref()
            .map(|repository| images.repository(repository)),
        image_tag: etcd.image_tag.value(),
        server_cert_sans: names::sans(&etcd.server_cert_sans, report),
        peer_cert_sans: names::sans(&etcd.peer_cert_sans, report),
        backup: etcd.backup.as_ref().map(|backup| backup::resolve(etcd, backup, report)),
    }
}

/// The version of the programs beside stacked members, which restore their snapshots: of the image's minor (etcd-io/etcd#13070). The profile's
/// version is for external members, and may be of another one.
pub(super) fn tools(etcd: &Etcd, release: &Release, catalog: &Catalog) -> Option<Version> {
    let own = release.profile.components.get("etcd");
    let Some(minor) = image_minor(etcd, release) else {
        return own.cloned();
    };
    let is_of_image = |version: &&Version| Minor::of(version) == minor;
    let newest = || catalog.artifacts.get("etcd")?.releases.keys().rfind(is_of_image);
    own.filter(is_of_image).or_else(newest).or(own).cloned()
}

/// The minor of the image that kubeadm deploys: a tag is a version and the image's own number behind it, `3.6.14-0`.
fn image_minor(etcd: &Etcd, release: &Release) -> Option<Minor> {
    let tag = etcd
        .image_tag
        .as_ref()
        .map_or(&release.profile.etcd_image, |tag| &tag.value);
    let version = tag.split('-').next().unwrap_or_default().trim_start_matches('v');
    Version::parse(version).ok().as_ref().map(Minor::of)
}

/// The tuning as flags, then the user's own, which win because etcd takes the last.
fn arguments(
    etcd: &Etcd,
    tls: &Tls,
    minor: Option<Minor>,
    release: &Release,
    report: &mut Report,
) -> Vec<(String, String)> {
    let milliseconds = |value: Option<&Spanned<u32>>| value.map(|value| value.to_string());
    let tuning = [
        ("heartbeat-interval", milliseconds(etcd.heartbeat_interval_ms.as_ref())),
        ("election-timeout", milliseconds(etcd.election_timeout_ms.as_ref())),
        (
            "quota-backend-bytes",
            etcd.quota_backend_bytes.as_ref().map(|bytes| bytes.to_string()),
        ),
    ];
    let mut arguments: Vec<_> = tuning
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    let claims = control_plane::etcd_tls(tls);
    component::check_arguments(&RESERVED.etcd, minor, &etcd.extra_args, release, report);
    component::check_claims(&RESERVED.etcd, &etcd.extra_args, &claims, report);
    arguments.extend(component::own_arguments(claims));
    arguments.extend(component::arguments(&etcd.extra_args));
    arguments
}

/// etcd does not start with an election timeout below five heartbeats or above 50 s.
fn check_timing(etcd: &Etcd, report: &mut Report) {
    let heartbeat = etcd.heartbeat_interval_ms.as_ref();
    let election = etcd.election_timeout_ms.as_ref();
    let (beat, timeout) = (
        heartbeat.map_or(HEARTBEAT, |value| value.value),
        election.map_or(ELECTION, |value| value.value),
    );
    let Some(place) = election.or(heartbeat) else { return };
    let finding = Diagnostic::error("FL0510", "etcd does not start with these times").at(place.span);
    if beat == 0 || timeout < beat.saturating_mul(5) {
        let label =
            format!("heartbeat {beat} ms, election {timeout} ms: the latter must be at least five times the former");
        report.push(finding.label(label).help("ten times is usual"));
    } else if timeout > LONGEST_ELECTION {
        report.push(finding.label(format!(
            "an election timeout of {timeout} ms is more than {LONGEST_ELECTION} ms"
        )));
    }
}

/// Settings that the chosen way of running etcd does not look at.
fn check_unused(etcd: &Etcd, external: bool, report: &mut Report) {
    let text = |value: &Option<Spanned<String>>| value.span();
    let unused: &[(&str, Option<Span>)] = if external {
        &[
            ("imageRepository", text(&etcd.image_repository)),
            ("imageTag", text(&etcd.image_tag)),
            ("extraEnvs", etcd.extra_envs.first().map(|variable| variable.name.span)),
        ]
    } else {
        &[("version", text(&etcd.version))]
    };
    let (how, other) = if external {
        ("on nodes of its own", "on the control planes")
    } else {
        ("on the control planes", "on nodes with the etcd role")
    };
    for (key, span) in unused.iter().filter_map(|(key, span)| Some((key, (*span)?))) {
        let finding = Diagnostic::warning("FL0511", format!("`etcd.{key}` has no effect")).at(span);
        report.push(finding.label(format!("etcd runs {how}; this is for etcd {other}")));
    }
}
