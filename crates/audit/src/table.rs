//! The audit for people.

use std::{collections::BTreeSet, fmt::Write};

use firelay_base::table::{Column, red, table, yellow};

use crate::{
    finding::listed,
    matrix::{Documents, Matrix, place},
    report::Report,
    secret::Exposure,
};

/// Names that are listed one by one.
const FEW: usize = 4;

const DOCUMENTS: [Column<'_>; 4] = [
    Column::left("GROUP"),
    Column::left("MACHINES"),
    Column::left("HANDED OVER AS"),
    Column::left("A READER"),
];

/// Documents in groups, secrets by group, and who can read them.
pub fn text(report: &Report) -> String {
    let matrix = Matrix::of(report);
    let mut text = head(report);
    text.push_str(&documents(&matrix.groups));
    text.push_str(&secrets(&matrix));
    text.push_str(&readers(report, &matrix.groups));
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

fn documents(groups: &[Documents<'_>]) -> String {
    let row = |group: &Documents<'_>| {
        let first = group.first;
        let taken = match first.file.as_str() {
            "" => "no document in the manifest".to_owned(),
            _ => format!("{} on {}", first.attribute, first.platform),
        };
        let access = first.exposure.of_document().to_owned();
        vec![group.letter.clone(), names(group), taken, access]
    };
    let rows: Vec<_> = groups.iter().map(row).collect();
    table(&DOCUMENTS, &rows)
}

/// `cp1`, `w1, w2`, or `w1, w2 … w40 (40)`.
fn names(group: &Documents<'_>) -> String {
    let names = &group.nodes;
    let told = match names[..] {
        [first, second, .., last] if names.len() > FEW => format!("{first}, {second} … {last} ({})", names.len()),
        _ => names.join(", "),
    };
    told + if group.first.pool { " (pool)" } else { "" }
}

/// A line for each secret: `x` in the document, `f` in the payload that the machine fetches with its own identity.
fn secrets(matrix: &Matrix<'_>) -> String {
    let letters = matrix.groups.iter().map(|group| Column::right(&group.letter));
    let columns: Vec<_> = [Column::left("LEVEL"), Column::left("SECRET")]
        .into_iter()
        .chain(letters)
        .collect();
    let rows = matrix.secrets.iter().map(|line| {
        let marks = line.marks.iter().map(|mark| mark.letter().to_string());
        let secret = [level(line.exposure), line.title.to_string()];
        secret.into_iter().chain(marks).collect()
    });
    let mut text = format!("\n{}", table(&columns, &rows.collect::<Vec<_>>()));
    if matrix.groups.iter().any(|group| !group.first.fetched.is_empty()) {
        text.push_str("\n  f is fetched by the machine with the identity that its cloud gave it; who has that, too, has it as well\n");
    }
    text
}

/// The level, in red where a reader controls the cluster.
fn level(exposure: Exposure) -> String {
    match exposure {
        Exposure::Signs => red(&exposure.to_string()),
        Exposure::Administers => yellow(&exposure.to_string()),
        _ => exposure.to_string(),
    }
}

fn readers(report: &Report, groups: &[Documents<'_>]) -> String {
    let mut text = "\nWho can read them:\n".to_owned();
    for reader in &report.readers {
        let of = |group: &&Documents<'_>| {
            group.first.platform == reader.platform && group.first.attribute == reader.attribute
        };
        let letters: Vec<_> = { groups.iter().filter(of) }
            .map(|group| group.letter.as_str())
            .collect();
        let who = reader.readable_by.as_deref();
        let who = who.unwrap_or("no profile tells; name yours with --profiles");
        let _ = writeln!(text, "  {} on {}: {who}", letters.join(", "), reader.platform);
        for remark in reader.remarks() {
            let _ = writeln!(text, "      {remark}");
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
            "delivery: { form: pointer, pointer: { base: s3://…, sealed: true } } leaves a document that opens nothing by itself;\n    \
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
