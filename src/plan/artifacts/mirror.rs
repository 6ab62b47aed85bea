//! Paths in a mirror: the URLs that machines request, and the files that a web server returns for them.

use std::collections::BTreeMap;

use crate::{
    encoding::percent_decode,
    plan::{ManifestSource, Plan, report::Report},
    spec::Spec,
};
use firelay_yaml::diagnostic::Diagnostic;

/// The URL of an upstream file: `artifacts.mirror` precedes its host and path.
pub(in crate::plan) fn mirrored(spec: &Spec, upstream: &str) -> String {
    match prefix(spec) {
        Some(mirror) => format!("{mirror}/{}", path_of(upstream)),
        None => upstream.to_owned(),
    }
}

/// `artifacts.mirror` without `/` at the end.
pub(in crate::plan) fn prefix(spec: &Spec) -> Option<&str> {
    let mirror = spec.artifacts.mirror.as_ref()?;
    Some(mirror.trim_end_matches('/'))
}

/// Host and path of a URL: the path in a mirror.
fn path_of(url: &str) -> &str {
    without_query(url.split_once("://").map_or(url, |(_, rest)| rest))
}

/// A query names no file.
fn without_query(text: &str) -> &str {
    text.split(['?', '#']).next().unwrap_or_default()
}

/// The part of a URL after the mirror's own: upstream's host and path, or the path that the user chose. `None` for
/// files fetched elsewhere.
pub fn below_mirror<'a>(mirror: Option<&str>, url: &'a str, upstream: Option<&'a str>) -> Option<&'a str> {
    let own = || url.strip_prefix(mirror?)?.strip_prefix('/');
    upstream.map(path_of).or_else(own)
}

/// The file that a web server returns for a requested path: without query, percent-decoded.
pub fn file_of(asked: &str) -> String {
    let path = without_query(asked);
    percent_decode(path).unwrap_or_else(|| path.to_owned())
}

/// Two sources of different files with the same path in a mirror.
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
            .map(|file| (file.url.as_str(), file.upstream.as_deref(), file.digest.as_str()));
        artifacts.chain(archives)
    });
    let manifests = plan.manifests.iter().filter_map(|manifest| match &manifest.source {
        ManifestSource::Url { url, upstream, sha256 } => Some((url.as_str(), upstream.as_deref(), sha256.as_str())),
        ManifestSource::Content(_) => None,
    });
    of_node.chain(manifests)
}

/// Refuses paths that a mirror cannot serve.
pub(in crate::plan) fn check_apart(spec: &Spec, plan: &Plan, report: &mut Report) {
    let Some(mirror) = &spec.artifacts.mirror else { return };
    if let Some([one, other]) = crossed(plan) {
        let finding = Diagnostic::error("FL0307", "two files would be the same one of the mirror").at(mirror.span);
        let finding = finding.label(format!("{one} and {other} have the same host and path"));
        report.push(finding.help("give one of them another URL with artifacts.overrides, or leave the mirror out"));
    }
}
