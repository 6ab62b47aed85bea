//! `packageSources`.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Span},
};

use super::{PackageSourcePlan, Site};
use crate::{
    plan::{artifacts, names, report::Report},
    profile::SourceForm,
    spec::PackageSource,
};

/// The first line of a public key in ASCII (RFC 9580 §6.2).
const ARMOUR: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
const ARMOUR_END: &str = "-----END PGP PUBLIC KEY BLOCK-----";

/// The sources of a machine, as its package manager needs them.
pub(super) fn resolve(
    given: Option<&Spanned<Vec<PackageSource>>>,
    site: &Site<'_>,
    report: &mut Report,
) -> Vec<PackageSourcePlan> {
    let Some(given) = given.filter(|list| !list.is_empty()) else {
        return Vec::new();
    };
    let Some(kind) = &site.os.package_sources else {
        let finding = Diagnostic::error("FL0609", format!("{} takes no packages", site.os.name)).at(given.span);
        report.push(finding.label("this system has no package manager"));
        return Vec::new();
    };
    for source in given.iter() {
        report.extend(unfit(source, kind.form));
    }
    let debian = kind.form == SourceForm::Deb822;
    given.iter().map(|source| plan(source, debian)).collect()
}

fn plan(source: &PackageSource, debian: bool) -> PackageSourcePlan {
    let texts = |list: &[Spanned<String>]| list.iter().map(|text| text.value.clone()).collect::<Vec<_>>();
    let components = texts(&source.components);
    let defaulted = components.is_empty() && debian && !source.suites.iter().any(is_flat);
    PackageSourcePlan {
        name: source.name.value.clone(),
        url: source.url.trim_end_matches('/').to_owned(),
        suites: texts(&source.suites),
        components: if defaulted { vec!["main".to_owned()] } else { components },
        key: source.key.as_ref().map(|key| key.trim().to_owned() + "\n"),
    }
}

/// Keys that one kind of package manager requires, and the other does not support.
fn unfit(source: &PackageSource, form: SourceForm) -> Option<Diagnostic> {
    let odd = source.suites.first().or(source.components.first());
    let finding = |at: Span| Diagnostic::error("FL0317", "not a source of packages for this system").at(at);
    match (form, odd) {
        (SourceForm::Repo, None) => None,
        (SourceForm::Repo, Some(odd)) => Some(
            finding(odd.span)
                .label("dnf and zypper know neither suites nor components")
                .help("leave them out: `url` leads to the directory that holds repodata/"),
        ),
        (SourceForm::Deb822, _) if source.suites.is_empty() => Some(
            finding(source.name.span)
                .label("apt needs to know the release")
                .help("write suites: [NAME], as the image's own sources do: `grep -rh Suites /etc/apt/sources.list.d`"),
        ),
        (SourceForm::Deb822, _) => mixed(source, finding),
    }
}

/// An entry has either releases with components or directories without: apt refuses a file with any other entry.
fn mixed(source: &PackageSource, finding: impl Fn(Span) -> Diagnostic) -> Option<Diagnostic> {
    let flat = source.suites.iter().find(|suite| is_flat(suite))?;
    let help = "a suite that ends with / is a directory with Packages in it; give releases (`trixie`) in a source of their own";
    let release = source.suites.iter().find(|suite| !is_flat(suite));
    let (odd, label) = match (release, source.components.first()) {
        (Some(release), _) => (release, format!("a release, beside the directory {}", flat.value)),
        (None, odd) => (odd?, format!("the directory {} has no components", flat.value)),
    };
    Some(finding(odd.span).label(label).help(help))
}

/// sources.list(5): an exact path to the directory of Packages.
fn is_flat(suite: &Spanned<String>) -> bool {
    suite.ends_with('/')
}

/// Checks what needs no machine.
pub(super) fn check(sources: &[PackageSource], report: &mut Report) {
    let mut seen = BTreeSet::new();
    let wrong = |at: Span| Diagnostic::error("FL0317", "not a source of packages").at(at);
    for source in sources {
        if !names::is_label(&source.name) {
            report.push(
                wrong(source.name.span).label("lower case letters, digits and inner dashes: it becomes a file's name"),
            );
        } else if !seen.insert(source.name.as_str()) {
            report.push(Diagnostic::error("FL0317", "a source of packages is given twice").at(source.name.span));
        }
        artifacts::check_url(&source.url, report);
        for word in source.suites.iter().chain(&source.components) {
            if !is_word(word) {
                report.push(wrong(word.span).label("letters, digits and . _ / + - only"));
            }
        }
        let key = source.key.iter().filter(|key| !is_armoured(key));
        key.for_each(|key| {
            let finding = wrong(key.span).label("not a public key in ASCII");
            report.push(finding.help("`gpg --armor --export` prints one; write it as a block of text (`key: |`)"));
        });
    }
}

/// Whether a text is one or more public keys in ASCII (RFC 9580 §6.2).
fn is_armoured(key: &str) -> bool {
    let blocks = key.trim().strip_suffix(ARMOUR_END).map(|keys| keys.split(ARMOUR_END));
    blocks.is_some_and(|mut blocks| blocks.all(|block| block.trim().strip_prefix(ARMOUR).is_some_and(is_data)))
}

/// Headers, an empty line, base64 and perhaps a checksum.
fn is_data(block: &str) -> bool {
    let is_data = |line: &&str| !line.starts_with('=') && !line.contains(": ");
    let data: String = block.lines().map(str::trim).filter(is_data).collect();
    !data.is_empty() && STANDARD.decode(data).is_ok()
}

/// Suites may contain slashes (`trixie/updates`); one without components is a path that ends with `/`.
fn is_word(word: &str) -> bool {
    !word.is_empty() && names::is_plain(word, "._/+-")
}
