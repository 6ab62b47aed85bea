//! The audit for people.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use crate::{
    finding::listed,
    report::{Report, Row, groups, place},
    secret::Exposure,
};

/// Names that are listed one by one.
const FEW: usize = 4;

/// Documents in groups, secrets by group, and who can read them.
pub fn text(report: &Report) -> String {
    let groups = groups(report);
    let columns = (0..groups.len()).map(letter).collect::<Vec<_>>();
    let mut text = head(report);
    text.push_str(&documents(&groups, &columns));
    text.push_str(&secrets(&groups, &columns));
    text.push_str(&readers(report, &groups, &columns));
    text.push_str(&advice(report));
    if !report.findings.is_empty() {
        let _ = write!(text, "\n{}", listed(&report.findings));
    }
    text
}

fn head(report: &Report) -> String {
    let how = match &report.bundle {
        Some(bundle) => format!("searched for every secret of the bundle {bundle}"),
        None => "without a bundle: what shows by itself".to_owned(),
    };
    let count = report.documents.len();
    let plural = if count == 1 { "" } else { "s" };
    format!("{}: {count} document{plural}; {how}\n\n", report.cluster)
}

/// `A` to `Z`, then `AA`.
fn letter(number: usize) -> String {
    let own = char::from(b'A' + u8::try_from(number % 26).unwrap_or_default());
    match number / 26 {
        0 => own.to_string(),
        more => letter(more - 1) + &own.to_string(),
    }
}

fn documents(groups: &[Vec<&Row>], columns: &[String]) -> String {
    let names: Vec<_> = groups.iter().map(|group| names(group)).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    let mut text = String::new();
    for ((group, names), column) in groups.iter().zip(names).zip(columns) {
        let Some(row) = group.first() else { continue };
        let taken = match row.file.as_str() {
            "" => "no document in the manifest".to_owned(),
            _ => format!("{}, {}", row.platform, row.attribute),
        };
        let _ = writeln!(
            text,
            "{column:>4}  {names:<width$}  {taken:<32}  {}",
            row.exposure.of_document()
        );
    }
    text
}

/// `cp1`, `w1, w2`, or `w1, w2 … w40 (40)`.
fn names(group: &[&Row]) -> String {
    let mut names: Vec<_> = group.iter().map(|row| row.node.as_str()).collect();
    names.sort_by_key(|name| (name.len(), *name));
    let told = match names[..] {
        [first, second, .., last] if names.len() > FEW => format!("{first}, {second} … {last} ({})", names.len()),
        _ => names.join(", "),
    };
    let pool = group.first().is_some_and(|row| row.pool);
    told + if pool { " (pool)" } else { "" }
}

/// A line for each secret: `x` in the document, `f` in the payload that the machine fetches with its own identity.
fn secrets(groups: &[Vec<&Row>], columns: &[String]) -> String {
    let mut lines: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for (at, row) in groups.iter().filter_map(|group| group.first()).enumerate() {
        for (mark, of) in [("f", &row.fetched), ("x", &row.opens)] {
            for secret in of {
                let line = (std::cmp::Reverse(secret.exposure), secret.title.as_str());
                lines.entry(line).or_insert_with(|| vec!["."; groups.len()])[at] = mark;
            }
        }
    }
    let width = lines.keys().map(|(_, title)| title.len()).max().unwrap_or_default();
    let cells = |cells: &[&str]| -> String { cells.iter().map(|cell| format!("{cell:>4}")).collect() };
    let header: Vec<_> = columns.iter().map(String::as_str).collect();
    let mut text = format!("\n  {:<11}  {:<width$}{}\n", "", "", cells(&header));
    for ((exposure, title), marks) in lines {
        let _ = writeln!(text, "  {:<11}  {title:<width$}{}", exposure.0, cells(&marks));
    }
    let fetched = groups.iter().flatten().any(|row| !row.fetched.is_empty());
    if fetched {
        text.push_str("\n  f is fetched by the machine with the identity that its cloud gave it; who has that, too, has it as well\n");
    }
    text
}

fn readers(report: &Report, groups: &[Vec<&Row>], columns: &[String]) -> String {
    let mut text = "\nWho can read them:\n".to_owned();
    for reader in &report.readers {
        let of = |group: &&Vec<&Row>| {
            let same = |row: &&Row| row.platform == reader.platform && row.attribute == reader.attribute;
            group.first().is_some_and(same)
        };
        let own = groups.iter().zip(columns).filter(|(group, _)| of(group));
        let letters: Vec<_> = own.map(|(_, column)| column.as_str()).collect();
        let who = reader.readable_by.as_deref();
        let who = who.unwrap_or("no profile tells; name yours with --profiles");
        let _ = writeln!(text, "  {} on {}: {who}", letters.join(", "), reader.platform);
        if let Some(resource) = &reader.terraform {
            let _ = writeln!(
                text,
                "      and who reads Terraform's state, if {resource} gives it to the machine"
            );
        }
        if reader.network_boot {
            text.push_str(
                "      and who listens on the network while machines boot, unless delivery.pxe.url is https://\n",
            );
        }
        if let Some(service) = &reader.metadata_service {
            let _ = writeln!(
                text,
                "      less with `security: {{ metadataFirewall: true }}` or a network policy, which keep pods from {service}"
            );
        }
        for narrow in &reader.narrowed_by {
            let _ = writeln!(text, "      less with {narrow}");
        }
    }
    let payloads = report.documents.iter().filter_map(|row| row.payload.as_ref());
    let payloads: BTreeSet<_> = payloads.map(|payload| (place(&payload.url), payload.sealed)).collect();
    for (place, sealed) in payloads {
        let who = if sealed {
            "are sealed: who reads them sees nothing"
        } else {
            "are read by who may read there"
        };
        let _ = writeln!(text, "  payloads in {place} {who}");
    }
    text
}

/// Settings that would lower the exposure and are not used yet.
fn advice(report: &Report) -> String {
    let of = |least: Exposure| report.documents.iter().any(|row| row.exposure >= least);
    let cas = report
        .documents
        .iter()
        .flat_map(|row| row.opens.iter().chain(&row.fetched));
    let cas = cas.filter(|secret| secret.exposure == Exposure::Signs && secret.title.starts_with("CA "));
    let rows = [
        (
            of(Exposure::Administers),
            "delivery: { rung: pointer, pointer: { base: s3://…, sealed: true } } leaves a document that opens nothing by itself;\n    \
             gs:// and azure:// as well, and without `sealed` where Ignition reads it",
        ),
        (
            cas.count() > 0,
            "pki: { caKeys: none } keeps the keys of the CAs in the bundle",
        ),
        (
            report.documents.iter().any(|row| row.exposure == Exposure::Joins),
            "a short join.tokenTtl ends what the document of a pool opens",
        ),
        (
            report.documents.iter().any(|row| row.max_exposure.is_none()),
            "security: { maxExposure: … } refuses to write more than you allow",
        ),
    ];
    let rows: Vec<_> = rows.iter().filter(|(holds, _)| *holds).map(|(_, row)| *row).collect();
    if rows.is_empty() {
        return String::new();
    }
    rows.iter()
        .fold("\nWhat helps:\n".to_owned(), |text, row| text + "  " + row + "\n")
}
