//! `etcd.backup`: snapshots in a directory of each member, and in a bucket.

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};
use time::Duration;

use super::{
    super::{EtcdBackupPlan, EtcdPlan, NodePlan, S3Plan, artifacts, delivery, duration, names, report::Report},
    directory,
};
use crate::{
    profile::{Place, Store},
    spec::{Etcd, EtcdBackup, S3, Spec},
};

/// The directory of snapshots if the spec does not say.
const BACKUPS: &str = "/var/backups/etcd";
/// A snapshot reads all data, and members take theirs one after the other.
const SHORTEST: Duration = Duration::minutes(10);
/// The scheme of buckets.
const SCHEME: &str = "s3";

/// `etcd.backup`, checked and resolved.
pub(super) fn resolve(etcd: &Etcd, backup: &EtcdBackup, report: &mut Report) -> EtcdBackupPlan {
    let bucket = backup.to.as_ref().filter(|to| is_bucket(to));
    let directory = backup.to.as_ref().filter(|to| !is_bucket(to));
    let plan = EtcdBackupPlan {
        every: duration::or(backup.every.as_ref(), Duration::hours(6), report),
        keep: backup.keep.as_ref().map_or(12, |keep| keep.value),
        to: directory.map_or_else(|| BACKUPS.to_owned(), |to| to.value.clone()),
        s3: bucket.and_then(|to| report.take(resolve_bucket(to, backup.s3.as_ref()))),
    };
    if let Some(every) = backup.every.as_ref().filter(|_| plan.every < SHORTEST) {
        let finding =
            Diagnostic::error("FL0542", "snapshots of etcd that follow each other too closely").at(every.span);
        let finding = finding.label("each reads all of etcd's data, on one member after the other");
        report.push(finding.help("write at least 10m; 6h is usual"));
    }
    if let Some(keep) = backup.keep.as_ref().filter(|keep| keep.value == 0) {
        let finding = Diagnostic::error("FL0542", "snapshots of etcd that are not kept").at(keep.span);
        report.push(finding.help("write at least 1, or remove etcd.backup"));
    }
    if let Some(to) = directory {
        check_directory(to, etcd, report);
    }
    if let Some(s3) = &backup.s3 {
        check_settings(s3, bucket.is_some(), report);
    }
    plan
}

fn is_bucket(to: &str) -> bool {
    to.starts_with("s3://")
}

/// A directory that survives what etcd's data does not: a reboot, and a reset of the member.
fn check_directory(to: &Spanned<String>, etcd: &Etcd, report: &mut Report) {
    artifacts::check_path(to, report);
    if !names::is_absolute_path(to) {
        return;
    }
    let finding = Diagnostic::error("FL0542", "not a directory for etcd's backups").at(to.span);
    let (parts, path) = names::shortest(to);
    let data = etcd.data_dir.value().unwrap_or_else(|| directory::DATA.to_owned());
    let help =
        "give it a directory of its own, such as /var/backups/etcd, or one of a file system that is mounted there";
    if format!("{path}/").starts_with(&format!("{}/", data.trim_end_matches('/'))) {
        report.push(finding.label("etcd's data is here, and a reset deletes it").help(help));
    } else if let Some(why) = directory::unfit(&path, &parts) {
        report.push(finding.label(why).help(help));
    }
}

/// The bucket of `to`, with its settings.
fn resolve_bucket(to: &Spanned<String>, settings: Option<&S3>) -> Result<S3Plan, Diagnostic> {
    let wrong = |label: &str| {
        let finding = Diagnostic::error("FL0542", "not a bucket for etcd's backups").at(to.span);
        Err(finding.label(label).help("write it as s3://bucket/etcd"))
    };
    let Some(place) = Place::parse(to).filter(delivery::is_plain) else {
        return wrong("letters, digits and . _ ~ - between slashes");
    };
    let names = Store::of(SCHEME).and_then(|store| store.names.as_ref());
    if let Some(names) = names.filter(|names| !names.fit(&place)) {
        return wrong(&names.rule);
    }
    let Some(settings) = settings else {
        let finding = Diagnostic::error("FL0542", "a bucket without its region").at(to.span);
        return Err(finding.help("add s3: { region: eu-central-1 } beside it, with the region of the bucket"));
    };
    Ok(bucket(&place, settings))
}

/// Amazon's buckets are hosts, those of others paths. Amazon's certificate does not match a name with dots.
fn bucket(place: &Place, settings: &S3) -> S3Plan {
    let Place { authority, path, .. } = place;
    let amazon = format!("s3.{}.amazonaws.com", settings.region.value);
    let prefix = format!("/{path}").trim_end_matches('/').to_owned();
    let (url, folder) = match &settings.endpoint {
        Some(endpoint) => (
            endpoint.trim_end_matches('/').to_owned(),
            format!("/{authority}{prefix}"),
        ),
        None if authority.contains('.') => (format!("https://{amazon}"), format!("/{authority}{prefix}")),
        None => (format!("https://{authority}.{amazon}"), prefix.clone()),
    };
    let key = settings.access_key.as_ref();
    S3Plan {
        place: format!("{SCHEME}://{authority}{prefix}"),
        url,
        folder,
        region: settings.region.value.clone(),
        access_key: key.map(|key| (key.id.value.clone(), key.secret.clone())),
    }
}

fn check_settings(s3: &S3, used: bool, report: &mut Report) {
    if !used {
        let finding = Diagnostic::error("FL0542", "settings of a bucket that is not used").at(s3.region.span);
        report.push(finding.help("write to: s3://bucket/etcd, or remove s3"));
    }
    if !names::is_label(&s3.region) {
        let finding = Diagnostic::error("FL0542", "not the name of a region").at(s3.region.span);
        report.push(finding.help("write it as eu-central-1; many services other than Amazon's take us-east-1"));
    }
    report.each(&s3.endpoint, check_endpoint);
}

/// The signature has the host as curl sends it: without a port that is the scheme's own.
fn check_endpoint(endpoint: &Spanned<String>, report: &mut Report) {
    artifacts::check_url(endpoint, report);
    let host = endpoint
        .split_once("://")
        .map_or("", |(_, host)| host.trim_end_matches('/'));
    let default = endpoint.starts_with("https:") && host.ends_with(":443") || host.ends_with(":80");
    if host.contains('/') || default || host.chars().any(|c| c.is_ascii_uppercase()) {
        let finding = Diagnostic::error("FL0542", "not the URL of an S3 service").at(endpoint.span);
        let finding =
            finding.label("a scheme, a host in lower case and perhaps an unusual port: the bucket's path follows it");
        report.push(finding.help("write it as https://minio.example.com:9000"));
    }
    if endpoint.starts_with("http:") {
        let finding = Diagnostic::warning("FL0542", "snapshots of etcd on an open connection").at(endpoint.span);
        report.push(
            finding
                .label("a snapshot holds every Secret of the cluster")
                .help("write https://"),
        );
    }
}

/// Reports members that have neither an access key nor an instance's role.
pub(in crate::plan) fn check_identity(spec: &Spec, etcd: &EtcdPlan, nodes: &[NodePlan], report: &mut Report) {
    let backup = etcd.backup.as_ref().and_then(|backup| backup.s3.as_ref());
    let (Some(s3), Some(to)) = (backup, spec.etcd.backup.as_ref().and_then(|backup| backup.to.as_ref())) else {
        return;
    };
    let mut members = nodes.iter().filter(|node| etcd.runs_on(node.roles));
    let unknown = |node: &&NodePlan| !node.platform.identity.iter().any(|scheme| scheme == SCHEME);
    if let Some(node) = members.find(unknown).filter(|_| s3.access_key.is_none()) {
        let message = format!("machines of {} have no identity for {SCHEME}://", node.platform.name);
        let finding = Diagnostic::error("FL0542", message).at(to.span);
        let finding = finding.label(format!("{} uploads its snapshots with an access key", node.name));
        report.push(finding.help("add accessKey: { id: …, secret: … } under s3"));
    }
}
