//! `profile list` and `profile show`.

use firelay_base::table::{Column, table, yellow};
use firelay_yaml::diagnostic::{self, Source};
use serde::Serialize;
use serde_json::Value;

use super::{
    clock,
    failure::Failure,
    project::{ProfileSet, load_profiles, print_findings},
    streams,
};
use crate::{
    cli::{OutputFormat, ProfileList, ProfileShow, ProfilesArg},
    profile::{Resolved, SHIPPED},
    redact::redact_profiles,
};

/// One profile in a list.
#[derive(Serialize)]
struct Row<'a> {
    kind: &'a str,
    name: &'a str,
    title: String,
    /// The day of the last patch releases.
    #[serde(rename = "endOfLife", skip_serializing_if = "Option::is_none")]
    end_of_life: Option<String>,
    document: String,
    /// Files, the nearest first.
    from: Vec<&'a str>,
}

/// A profile, whole.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    profile: Value,
}

/// Runs `profile list`.
pub fn list(args: &ProfileList) -> Result<(), Failure> {
    let ProfileSet { source, library, .. } = &load(&args.profiles)?;
    let profiles = library.resolve(source).0;
    let mut rows: Vec<_> = profiles
        .iter()
        .filter(|profile| !profile.kind().is_empty())
        .map(|profile| row(profile, source, &value(profile, source)))
        .collect();
    // Files are in the order of their paths, where fedora-coreos.yaml precedes fedora.yaml.
    rows.sort_by_key(|row| (row.kind, row.name));
    let today = clock::now()?.date().to_string();
    streams::report(args.output, &rows, || text(&rows, &today))
}

/// Runs `profile show`.
pub fn show(args: &ProfileShow) -> Result<(), Failure> {
    let ProfileSet { source, library, .. } = &load(&args.profiles)?;
    let profiles = library.resolve(source).0;
    let Some(profile) = profiles.iter().find(|profile| profile.name() == args.name) else {
        return Err(unknown(&args.name, &profiles));
    };
    let value = value(profile, source);
    match args.output {
        OutputFormat::Json => streams::json(&Shown {
            row: row(profile, source, &value),
            profile: value,
        }),
        OutputFormat::Text => streams::data(&profile.to_yaml(source)?),
    }
}

fn unknown(name: &str, profiles: &[Resolved<'_>]) -> Failure {
    let help = match diagnostic::nearest(name, profiles.iter().map(Resolved::name)) {
        Some(near) => format!("did you mean {near}?"),
        None => "list them with: firelay profile list".to_owned(),
    };
    Failure::Usage(format!("there is no profile {name}\n  = help: {help}"))
}

/// Loads all profiles, and prints warnings about files of the user.
fn load(args: &ProfilesArg) -> Result<ProfileSet, Failure> {
    let set = load_profiles(args, "the directory of profiles")?;
    print_findings(&redact_profiles(&set.source), &set.warnings);
    Ok(set)
}

fn value(profile: &Resolved<'_>, source: &Source) -> Value {
    profile.decode(source).unwrap_or_default()
}

fn row<'a>(profile: &'a Resolved<'_>, source: &'a Source, value: &Value) -> Row<'a> {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let documents = [("cloudInit", "cloud-init"), ("ignition", "ignition")];
    let carried = documents.iter().filter(|(key, _)| value.get(*key).is_some());
    let carried: Vec<_> = carried.map(|(_, name)| *name).collect();
    let versions = value["versions"].as_array().into_iter().flatten();
    let versions: Vec<_> = versions.filter_map(Value::as_str).collect();
    let from = profile.texts.iter().map(|number| source.texts()[*number].name.as_str());
    Row {
        kind: profile.kind(),
        name: profile.name(),
        title: text("title").unwrap_or_else(|| versions.join(", ")),
        end_of_life: text("endOfLife"),
        document: text("document").unwrap_or_else(|| carried.join(", ")),
        from: from.collect(),
    }
}

/// The list; versions whose end of life was before a day are in yellow.
fn text(rows: &[Row<'_>], today: &str) -> String {
    let cells = rows.iter().map(|row| {
        let until = row.end_of_life.as_ref();
        let until = until.map_or_else(String::new, |last| match format!(" (end of life {last})") {
            text if last.as_str() < today => yellow(&text),
            text => text,
        });
        let own = row
            .from
            .iter()
            .map(|file| if file.starts_with(SHIPPED) { "firelay" } else { file });
        let from: Vec<_> = own.collect();
        let (kind, name) = (row.kind.to_owned(), row.name.to_owned());
        vec![
            kind,
            name,
            row.title.clone() + &until,
            row.document.clone(),
            from.join(", "),
        ]
    });
    let columns = ["KIND", "NAME", "TITLE", "DOCUMENT", "FROM"].map(Column::left);
    table(&columns, &cells.collect::<Vec<_>>())
}
