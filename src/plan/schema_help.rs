//! Help for mistakes of form, from the schema: an example of a valid value, and the place of a key that belongs below.

use firelay_yaml::{Content, PRESENT, diagnostic::Diagnostic};

use crate::{
    profile::Profiles,
    schema::{self, Field},
    spec::Composed,
};

/// Longest example in a help line, in bytes.
const LONGEST: usize = 120;
/// Levels below a mapping that are searched for an unknown key.
const DEPTH: usize = 2;
/// Places that a label may name.
const MOST: usize = 3;

/// Adds help to the findings for which the schema has any.
pub(super) fn add(composed: &Composed, profiles: &Profiles, findings: &mut [Diagnostic]) {
    let mut helped = findings.iter_mut().filter(|finding| may_help(finding)).peekable();
    if helped.peek().is_none() {
        return;
    }
    let root = Field::root(&schema::json(profiles));
    let fields = root.all();
    for finding in helped {
        match finding.code {
            "FL0008" => point_below(composed, &fields, finding),
            "FL0009" => show_missing(composed, &fields, finding),
            _ => show_form(composed, &fields, finding),
        }
    }
}

fn may_help(finding: &Diagnostic) -> bool {
    let general = |help: &String| help.starts_with("write `- `") || help.starts_with("write [");
    finding.span.is_some()
        && match finding.code {
            "FL0008" => finding.label == "no such key here" || finding.label.ends_with(PRESENT),
            "FL0009" => finding.help.is_none(),
            "FL0010" => finding.help.as_ref().is_none_or(general),
            _ => false,
        }
}

fn at<'f>(fields: &[&'f Field], path: &str) -> Option<&'f Field> {
    let path = path.trim_start_matches('.');
    fields.iter().copied().find(|field| field.plain_path() == path)
}

/// An example of a missing key.
fn show_missing(composed: &Composed, fields: &[&Field], finding: &mut Diagnostic) {
    let Some((span, key)) = finding.span.zip(finding.message.split('`').nth(1)) else {
        return;
    };
    let paths = composed.paths(|_, value| value.span == span && matches!(value.content, Content::Mapping(_)));
    let mut paths = paths.iter().map(|path| format!("{path}.{key}"));
    finding.help = paths
        .find_map(|path| at(fields, &path))
        .and_then(shortest)
        .map(|example| format!("for example {key}: {example}"));
}

/// The shortest example of a key: an example with a range of machines would mislead.
fn shortest(field: &Field) -> Option<String> {
    let examples = field.examples.iter().map(schema::flow);
    examples
        .min_by_key(String::len)
        .or_else(|| Some(schema::flow(&field.example()?)))
}

/// A list or mapping in the form that the schema has, instead of one in another.
fn show_form(composed: &Composed, fields: &[&Field], finding: &mut Diagnostic) {
    let Some(span) = finding.span else { return };
    let paths = composed.paths(|_, value| value.span == span);
    let wanted = finding.label.as_str();
    let examples = paths.iter().rev().filter_map(|path| form(at(fields, path)?, wanted));
    let example = examples.into_iter().find(|example| example.len() <= LONGEST);
    finding.help = example
        .map(|example| format!("for example {example}"))
        .or_else(|| finding.help.take());
}

/// An example of a field, or of an element of its list, as requested. Lists of words need none.
fn form(field: &Field, wanted: &str) -> Option<String> {
    // An example with all optional keys is no help.
    let needed = field.children.iter().any(|child| child.required);
    let example = field.example().filter(|_| needed || !field.examples.is_empty())?;
    let of_mappings = field.kind == "list of mappings";
    match wanted {
        "should be a list" if of_mappings => Some(format!("{}: {}", field.name, schema::flow(&example))),
        "should be a mapping" if of_mappings => Some(schema::flow(example.get(0)?)),
        "should be a mapping" if example.is_object() => Some(format!("{}: {}", field.name, schema::flow(&example))),
        _ => None,
    }
}

/// The fields below that have an unknown key.
fn point_below(composed: &Composed, fields: &[&Field], finding: &mut Diagnostic) {
    let Some(span) = finding.span else { return };
    let places = composed.paths(|key, _| key.is_some_and(|key| key.span == span));
    let places = places.iter().filter_map(|path| {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        below(at(fields, parent)?, key)
    });
    if let Some(place) = places.into_iter().next() {
        finding.label = format!("did you mean {place}?");
    }
}

/// The paths of a key below a field, relative to it, if there are few.
fn below(field: &Field, key: &str) -> Option<String> {
    let mut level: Vec<&Field> = field.children.iter().collect();
    for _ in 1..DEPTH {
        level = level.iter().flat_map(|field| &field.children).collect();
        let found = level.iter().filter(|field| field.name == key);
        let own = |found: &&&Field| {
            let own = found.path.strip_prefix(field.path.as_str())?;
            Some(format!("`{}`", own.trim_start_matches("[]").trim_start_matches('.')))
        };
        let found: Vec<_> = found.filter_map(|found| own(&found)).collect();
        if !found.is_empty() {
            return (found.len() <= MOST).then(|| found.join(" or "));
        }
    }
    None
}
