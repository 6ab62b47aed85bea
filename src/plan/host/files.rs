//! `files`.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};

use super::{DiskPlan, FilePlan, MountPlan, Placement, Site, check_spelling, twice, within};
use crate::{
    UNITS,
    plan::{names, report::Report, reserved::RESERVED, sources::Given},
    profile::{PackageSources, Trust},
    spec::{FileEncoding, HostFile},
};

/// Emptied at every boot, so that Ignition refuses to write there.
const VOLATILE: &[&str] = &["/dev", "/proc", "/run", "/sys", "/tmp", "/var/run"];

/// The names of drop-ins and of the files of interfaces begin so.
const PREFIXES: &[&str] = &["10-firelay-", "90-firelay"];

/// Where the time step writes chrony's sources, if it has any.
const CHRONY: &[&str] = &["/etc/chrony.conf", "/etc/chrony/chrony.conf"];

/// The files of a machine.
pub(super) fn resolve(
    files: &[&HostFile],
    ntp: bool,
    (disks, mounts): (&[DiskPlan], &[MountPlan]),
    site: &Site<'_>,
    report: &mut Report,
) -> Vec<FilePlan> {
    // The commands that run when they are mounted.
    let disks = disks.iter().map(|disk| (disk.mount.as_str(), "first"));
    let mounts = mounts.iter().map(|mount| (mount.mount.as_str(), "before"));
    let points: Vec<_> = disks.chain(mounts).collect();
    for (at, file) in files.iter().enumerate() {
        if files[..at].iter().any(|other| other.path == file.path) {
            twice("FL0607", "a file", file.path.span, report);
        }
        report.take(check_free(&file.path, ntp, &points, site));
    }
    files.iter().map(|file| plan(file)).collect()
}

fn plan(file: &HostFile) -> FilePlan {
    FilePlan {
        path: file.path.value.clone(),
        mode: file.mode.as_ref().map_or(Some(0o644), mode).unwrap_or(0o600),
        content: content(file),
        placement: placement(file),
    }
}

fn content(file: &HostFile) -> Arc<str> {
    match (&file.content, &file.loaded) {
        (Some(content), _) if is_base64(file) => Arc::from(bare(content)),
        (Some(content), _) => Arc::from(content.as_str()),
        (None, Some(loaded)) => match (loaded.text(), &loaded.bytes) {
            (Some(text), _) => Arc::from(text),
            (None, bytes) => Arc::from(STANDARD.encode(bytes.as_deref().unwrap_or_default())),
        },
        (None, None) => Arc::from(""),
    }
}

fn placement(file: &HostFile) -> Placement {
    let (base64, owner) = (is_base64(file), file.owner.as_ref().map(|owner| login(owner)));
    match (base64, owner) {
        _ if file.append => Placement::Append,
        (false, None) => Placement::Document,
        (base64, owner) => Placement::Chain { base64, owner },
    }
}

/// With a colon after it, a user without a group means its login group (chown(1)).
fn login(owner: &str) -> String {
    if owner.contains(':') {
        owner.to_owned()
    } else {
        format!("{owner}:")
    }
}

/// The content is base64, because the spec declares it or because it is no text.
fn is_base64(file: &HostFile) -> bool {
    match (&file.encoding, &file.loaded) {
        (Some(encoding), _) => encoding.value == FileEncoding::Base64,
        (None, Some(loaded)) => loaded.bytes.is_ok() && loaded.text().is_none(),
        (None, None) => false,
    }
}

/// base64 on one line.
fn bare(content: &str) -> String {
    content.split_whitespace().collect()
}

/// Octal digits.
fn mode(text: &Spanned<String>) -> Option<u32> {
    let digits = (3..=4).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    digits.then(|| u32::from_str_radix(text, 8).ok()).flatten()
}

/// Checks a file's own settings.
pub(super) fn check(file: &HostFile, report: &mut Report) {
    let plain = check_spelling("FL0606", &file.path, report);
    let volatile = VOLATILE.iter().find(|top| within(&file.path, top));
    if let Some(top) = volatile.filter(|_| plain) {
        let finding = Diagnostic::error("FL0606", "a file that a reboot takes away").at(file.path.span);
        report.push(finding.label(format!("{top} is empty after every boot")));
    }
    if let Some(text) = file.mode.as_ref().filter(|text| mode(text).is_none()) {
        let finding = Diagnostic::error("FL0606", "not the mode of a file").at(text.span);
        let finding = finding.label("three or four octal digits");
        report.push(finding.help("write it as \"0644\", with quotes"));
    }
    check_owner(file, report);
    check_source(file, report);
    let content = file.content.as_ref().filter(|_| is_base64(file));
    if let Some(content) = content.filter(|content| STANDARD.decode(bare(content)).is_err()) {
        let finding = Diagnostic::error("FL0606", "not base64").at(content.span);
        report.push(finding.help("write what `base64 -w 0 FILE` prints, or leave `encoding` out for text"));
    }
    check_append(file, report);
}

fn check_source(file: &HostFile, report: &mut Report) {
    let given = Given {
        what: "file",
        name: file.path.span,
        content: file.content.as_ref(),
        source: file.source.as_ref(),
        loaded: file.loaded.as_ref(),
    };
    given.check(report);
    let Some(source) = &file.source else { return };
    if let Some(encoding) = &file.encoding {
        let finding = Diagnostic::error("FL0631", "`encoding` does not go with `source`").at(encoding.span);
        report.push(finding.label("the file is taken as it is").help("remove it"));
    } else if file.append && is_base64(file) {
        let finding = Diagnostic::error("FL0631", "`append` takes text").at(source.span);
        report.push(finding.label("there are bytes in this file that are no text"));
    }
}

fn check_owner(file: &HostFile, report: &mut Report) {
    let is_name = |name: &str| names::is_user_name(name) || name.bytes().all(|byte| byte.is_ascii_digit());
    let is_owner = |owner: &str| {
        !owner.is_empty()
            && owner.split(':').count() <= 2
            && owner.split(':').all(|name| !name.is_empty() && is_name(name))
    };
    if let Some(owner) = file.owner.as_ref().filter(|owner| !is_owner(owner)) {
        let finding = Diagnostic::error("FL0606", "not the owner of a file").at(owner.span);
        report.push(finding.help("write USER or USER:GROUP, names or numbers"));
    }
}

/// An appended file keeps its owner and mode; binary content has no end to be found at.
fn check_append(file: &HostFile, report: &mut Report) {
    let given = [
        ("owner", file.owner.span()),
        ("mode", file.mode.span()),
        (
            "encoding",
            file.encoding
                .as_ref()
                .filter(|encoding| encoding.value == FileEncoding::Base64)
                .map(|encoding| encoding.span),
        ),
    ];
    for (key, span) in given.into_iter().filter(|_| file.append) {
        if let Some(span) = span {
            let finding = Diagnostic::error("FL0606", format!("`{key}` does not go with `append`")).at(span);
            let finding = finding.label("text goes behind what is there, and the rest stays");
            report.push(finding.help("remove it"));
        }
    }
}

/// Refuses a file that another part of the same machine writes, hides or does not support.
fn check_free(path: &Spanned<String>, ntp: bool, points: &[(&str, &str)], site: &Site<'_>) -> Result<(), Diagnostic> {
    let taken = |key: &str| {
        let finding = Diagnostic::error("FL0607", "a file that firelay writes itself").at(path.span);
        match key {
            "" => finding.help("choose another path"),
            key => finding.help(format!("what is in it is said by `{key}`")),
        }
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    if let Some((_, key)) = RESERVED.files.iter().find(|(owned, _)| within(path, owned)) {
        return Err(taken(key));
    }
    let masked = |unit: &String| path.strip_prefix(UNITS) == Some(unit);
    let mut programs = RESERVED.programs.iter().map(String::as_str).chain([site.bin_dir]);
    let program = name.starts_with("firelay-") && programs.any(|directory| within(path, directory));
    if PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || program
        || within(path, &site.os.paths.lib)
        || site.os.mask_units.iter().any(masked)
    {
        return Err(taken(""));
    }
    let trusted = |trust: &Trust| name.starts_with("firelay-") && within(path, &trust.directory);
    if site.os.trust.as_ref().is_some_and(trusted) {
        return Err(taken("trustedCas"));
    }
    let source = |sources: &PackageSources| name.starts_with("firelay-") && within(path, &sources.directory);
    if site.os.package_sources.as_ref().is_some_and(source) {
        return Err(taken("packageSources"));
    }
    if ntp && CHRONY.contains(&path.as_str()) {
        return Err(taken("ntp"));
    }
    if let Some((point, phase)) = points.iter().find(|(point, _)| within(path, point)) {
        let finding = Diagnostic::error("FL0607", "a file that a mount hides").at(path.span);
        return Err(finding
            .label(format!("files are written before {point} is mounted"))
            .help(format!("write it by a command in commands.{phase}")));
    }
    if site.os.read_only.iter().any(|top| within(path, top)) {
        let message = format!("{} takes no file here", site.os.name);
        let finding = Diagnostic::error("FL0609", message).at(path.span);
        return Err(finding
            .label("read only on this system")
            .help("use a path below /etc, /opt or /var"));
    }
    Ok(())
}
