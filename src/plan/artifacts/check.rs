//! `artifacts` itself, and the URLs, paths, digests and names of images of any key.

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, nearest},
};

use super::mirror::file_of;
use crate::{
    plan::{names, report::Report},
    profile::{Catalog, Profiles},
    spec::{ArtifactOverride, Spec},
};

/// Checks `artifacts` itself.
pub(in crate::plan) fn check(spec: &Spec, profiles: &Profiles, report: &mut Report) {
    let artifacts = &spec.artifacts;
    report.each(&artifacts.mirror, check_url);
    report.each(&artifacts.bin_dir, check_path);
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
        report.push(finding.suggest(nearest(name, names)).help(help));
    }
    report.each(&own.url, check_template);
    own.sha256.values().for_each(|sha256| check_sha256(sha256, report));
}

/// Placeholders of an override's URL, see [`crate::profile::fill`].
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
    check_url(&Spanned::new(filled, url.span), report);
}

/// Refuses what cannot be fetched over HTTP, and a password, which many could read.
pub(in crate::plan) fn check_url(url: &Spanned<String>, report: &mut Report) {
    if !names::is_url(url) {
        let finding = Diagnostic::error("FL0307", "not a URL that can be fetched").at(url.span);
        report.push(finding.label("http:// or https://, a host, no blanks, quotes or braces"));
    } else if names::has_user(url) {
        let finding = Diagnostic::error("FL0314", "a URL with a user name or password").at(url.span);
        let finding = finding.label("it would stand in logs and process lists");
        report.push(
            finding.help("a mirror of a registry has `auth`; what firelay fetches itself is checked by its digest"),
        );
    } else if file_of(url).split('/').any(is_no_name) {
        let finding = Diagnostic::error("FL0307", "not a URL that can be fetched").at(url.span);
        report.push(finding.label("a path without . and .. parts and control characters, also percent-encoded ones"));
    }
}

/// Clients remove `..` from a URL before the request, so a mirror could not serve the file.
fn is_no_name(part: &str) -> bool {
    matches!(part, "." | "..") || part.contains(char::is_control)
}

/// Refuses what is not an absolute path.
pub(in crate::plan) fn check_path(path: &Spanned<String>, report: &mut Report) {
    if !names::is_absolute_path(path) {
        let finding = Diagnostic::error("FL0311", "not an absolute path").at(path.span);
        report.push(finding.label("begins with /, without blanks, quotes, colons and `..` parts"));
    }
}

pub(in crate::plan) fn check_sha256(sha256: &Spanned<String>, report: &mut Report) {
    if !names::is_sha256(sha256) {
        let finding = Diagnostic::error("FL0306", "not a SHA-256")
            .at(sha256.span)
            .label("64 hex digits, nothing before them");
        report.push(finding.help("`sha256sum FILE` prints it"));
    }
}

/// Refuses what cannot be an image name or the beginning of one.
pub(in crate::plan) fn check_image(name: &Spanned<String>, report: &mut Report) {
    if name.is_empty()
        || !names::is_plain(name, ".-_/:@[]")
        || name.contains("://")
        || name.starts_with('/')
        || name.ends_with(['/', ':'])
    {
        let finding = Diagnostic::error("FL0312", "not an image name or registry").at(name.span);
        report.push(finding.label("a host and path, without https:// and without / at the end"));
    }
}
