//! `etcd`: stacked on the control planes, or on machines of its own.

use firelay_yaml::{
    Minor, OptionalKey, Spanned,
    diagnostic::{Diagnostic, Span},
};
use semver::Version;

use super::{
    EtcdPlan, artifacts, component, control_plane, etcd_backup, facts::FACTS, images::Images, names, release::Release,
    report::Report, reserved::RESERVED,
};
use crate::{
    profile::Profiles,
    spec::{Etcd, Spec, Tls},
};

/// kubeadm's own directory for stacked members.
pub(super) const DATA_DIR: &str = "/var/lib/etcd";

/// etcd's own figures in milliseconds (`server/embed/config.go`).
const HEARTBEAT: u32 = 100;
const ELECTION: u32 = 1000;
const LONGEST_ELECTION: u32 = 50_000;

/// Directories at the top that a reboot empties, or that hold no files at all.
const VOLATILE: &[&str] = &["dev", "proc", "run", "sys", "tmp"];
/// Directories at the top of which nothing is free.
const SYSTEM: &[&str] = &["bin", "boot", "etc", "lib", "lib32", "lib64", "sbin", "usr"];

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
    check_idle(etcd, external, report);
    report.each(&etcd.data_dir, check_data_dir);
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
        data_dir: etcd.data_dir.value().unwrap_or_else(|| DATA_DIR.to_owned()),
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
        backup: etcd
            .backup
            .as_ref()
            .map(|backup| etcd_backup::resolve(etcd, backup, report)),
    }
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

/// A directory of its own: it gets etcd's owner and mode, and a failed try empties it.
fn check_data_dir(dir: &Spanned<String>, report: &mut Report) {
    artifacts::check_path(dir, report);
    if !names::is_absolute_path(dir) {
        return;
    }
    let (parts, path) = names::shortest(dir);
    let finding = Diagnostic::error("FL0313", "not a directory for etcd's data").at(dir.span);
    if let Some(why) = unfit(&path, &parts) {
        let help = "give it a directory of its own that outlives a reboot, such as /var/lib/etcd";
        report.push(finding.label(why).help(help));
    } else if path != dir.as_str() {
        let finding = finding.label("the same path in more characters");
        report.push(finding.help(format!("write {path}")));
    }
}

/// Why a directory cannot be etcd's.
pub(super) fn unfit(path: &str, parts: &[&str]) -> Option<String> {
    match parts.first() {
        Some(top) if VOLATILE.contains(top) => Some(format!("/{top} is empty after a reboot")),
        Some(top) if SYSTEM.contains(top) => Some(format!("/{top} belongs to the system")),
        None => Some("this is the whole file system".to_owned()),
        _ if FACTS.not_for_etcd.contains(path) => Some("others keep their files here".to_owned()),
        _ if parts.len() < 2 => Some("a directory at the top may hold what others left there".to_owned()),
        _ => None,
    }
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
fn check_idle(etcd: &Etcd, external: bool, report: &mut Report) {
    let text = |value: &Option<Spanned<String>>| value.span();
    let idle: &[(&str, Option<Span>)] = if external {
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
    for (key, span) in idle.iter().filter_map(|(key, span)| Some((key, (*span)?))) {
        let finding = Diagnostic::warning("FL0511", format!("`etcd.{key}` has no effect")).at(span);
        report.push(finding.label(format!("etcd runs {how}; this is for etcd {other}")));
    }
}
