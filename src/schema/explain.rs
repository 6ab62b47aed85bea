//! Descriptions of fields, for a terminal.

use std::{fmt::Write, iter};

use firelay_yaml::diagnostic::nearest;
use serde_json::{Map, Value};

use super::field::Field;

/// Columns of the text.
const WIDTH: usize = 100;

/// A path to an unknown key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The last path that is one; empty for the spec itself.
    pub parent: String,
    pub key: String,
    /// Paths that were probably meant.
    pub meant: Vec<String>,
    pub known: Vec<String>,
}

/// The keys that firelay knows in a mapping with free keys.
#[derive(Clone, Debug)]
pub struct Known<'a> {
    /// The suffix of the mapping's path: `kubelet.config`.
    pub path: &'a str,
    /// The description of these keys: `a field of KubeletConfiguration`.
    pub what: &'a str,
    /// Minors of Kubernetes with their keys.
    pub keys: Vec<(&'a str, Vec<&'a str>)>,
}

/// Explains a path such as `nodes.taints`; the empty path is the whole spec. `recursive` lists all keys below it. A path below
/// a mapping with free keys means that mapping; below one of `known` it means the key.
pub fn explain(root: &Field, path: &str, recursive: bool, known: &[Known<'_>]) -> Result<String, Unknown> {
    let (field, rest) = find(root, path)?;
    if !rest.is_empty() {
        return free(field, &rest, known);
    }
    let mut text = String::new();
    let title = if field.path.is_empty() { "the spec" } else { &field.path };
    let must = if field.required && !field.path.is_empty() {
        ", required"
    } else {
        ""
    };
    let _ = writeln!(text, "{title}: {}{must}\n", field.kind);
    text += &wrapped(&field.description, 2);
    text += &value(field);
    text += &keys(field, recursive);
    Ok(text)
}

/// A key of the user's choice: `sysctls.net.ipv4.ip_forward`.
fn free(field: &Field, rest: &str, known: &[Known<'_>]) -> Result<String, Unknown> {
    let path = field.plain_path();
    let value = field.kind.strip_prefix("mapping of ").unwrap_or("anything");
    let listed = known.iter().find(|known| path.ends_with(known.path));
    let what = match listed {
        None => format!("A key of your choice in `{path}`:"),
        Some(known) => {
            let key = rest.split(['.', '[']).next().unwrap_or_default();
            format!(
                "`{key}` is {} in Kubernetes {}.",
                known.what,
                minors(&path, key, known)?
            )
        }
    };
    let about = wrapped(&format!("{what}\n{}", field.description), 2);
    Ok(format!("{path}.{rest}: {value}\n\n{about}{}", self::value(field)))
}

fn minors(path: &str, key: &str, known: &Known<'_>) -> Result<String, Unknown> {
    let minors: Vec<_> = known
        .keys
        .iter()
        .filter(|(_, keys)| keys.contains(&key))
        .map(|(minor, _)| *minor)
        .collect();
    if !minors.is_empty() {
        return Ok(minors.join(", "));
    }
    let newest = known.keys.last().map_or(&[][..], |(_, keys)| keys);
    let near = nearest(key, newest.iter().copied());
    Err(Unknown {
        parent: path.to_owned(),
        key: key.to_owned(),
        meant: near.into_iter().map(|near| format!("{path}.{near}")).collect(),
        known: newest.iter().map(|&key| key.to_owned()).collect(),
    })
}

/// The field at a path, and what of the path is a key of the user's choice in it. Lists and such keys need not be marked.
fn find<'a>(root: &'a Field, path: &str) -> Result<(&'a Field, String), Unknown> {
    let mut at = root;
    let keys: Vec<_> = path.split('.').filter(|key| !key.is_empty()).collect();
    for (number, written) in keys.iter().enumerate() {
        if at.is_free() {
            return Ok((at, keys[number..].join(".")));
        }
        let key = written.split('[').next().unwrap_or_default();
        let is_any = |field: &&Field| field.name == "*";
        let known = at.children.iter().find(|child| child.name == key);
        let through = at.children.iter().find(is_any);
        at = known
            .or_else(|| through.and_then(|any| any.children.iter().find(|child| child.name == key)))
            .or(through)
            .ok_or_else(|| unknown(root, at, key))?;
    }
    Ok((at, String::new()))
}

fn unknown(root: &Field, at: &Field, key: &str) -> Unknown {
    let known: Vec<_> = at.children.iter().map(|child| child.name.clone()).collect();
    let near = nearest(key, known.iter().map(String::as_str));
    let near = near.and_then(|name| at.children.iter().find(|child| child.name == name));
    let everywhere = || {
        root.all()
            .into_iter()
            .filter(|field| field.name == key)
            .collect::<Vec<_>>()
    };
    let meant: Vec<&Field> = match near {
        Some(field) => vec![field],
        None if known.is_empty() => Vec::new(),
        None => everywhere(),
    };
    Unknown {
        parent: at.plain_path(),
        key: key.to_owned(),
        meant: meant.into_iter().map(Field::plain_path).take(8).collect(),
        known,
    }
}

/// The accepted values.
fn value(field: &Field) -> String {
    let mut text = String::new();
    if let Some(default) = &field.default {
        text += "\n";
        text += &wrapped(&format!("default: {}", flow(default)), 0);
    }
    if !field.choices.is_empty() {
        text += "\none of:\n";
        let rows = field.choices.iter();
        text += &table(
            &rows
                .map(|choice| [choice.value.clone(), choice.description.clone()])
                .collect::<Vec<_>>(),
        );
    }
    let example = field.example().filter(|_| !field.path.is_empty());
    if let Some(example) = example {
        text += "\nexample:\n";
        text += &indented(&block(&field.name, example));
    }
    text
}

fn keys(field: &Field, recursive: bool) -> String {
    if field.children.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = listed(field, recursive, 0).collect();
    format!("\nkeys (* required):\n{}", table(&rows))
}

fn listed(field: &Field, recursive: bool, depth: usize) -> Box<dyn Iterator<Item = [String; 3]> + '_> {
    Box::new(field.children.iter().flat_map(move |child| {
        let star = if child.required { "*" } else { "" };
        let row = [
            format!("{}{}{star}", "  ".repeat(depth), child.name),
            child.kind.clone(),
            first_sentence(&child.description),
        ];
        let below = recursive.then(|| listed(child, recursive, depth + 1));
        iter::once(row).chain(below.into_iter().flatten())
    }))
}

fn first_sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end]).to_owned()
}

/// Rows in columns; the last is wrapped below itself.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<_> = (0..N - 1).map(width).collect();
    let start = 2 + widths.iter().map(|width| width + 2).sum::<usize>();
    let mut text = String::new();
    for row in rows {
        let mut line = "  ".to_owned();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        let last = wrapped(&row[N - 1], start);
        line += last.trim_start();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A text in lines of the terminal, each indented.
pub fn wrapped(text: &str, indent: usize) -> String {
    let room = WIDTH.saturating_sub(indent).max(40);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                lines.push(std::mem::take(&mut line));
            }
            let gap = if line.is_empty() { "" } else { " " };
            line = format!("{line}{gap}{word}");
        }
        lines.push(line);
    }
    let pad = " ".repeat(indent);
    let padded = lines
        .iter()
        .map(|line| format!("{pad}{line}").trim_end().to_owned() + "\n");
    padded.collect()
}

/// A value in one line of YAML.
pub fn flow(value: &Value) -> String {
    match value {
        Value::String(word) if is_plain(word) => word.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) if !entries.is_empty() => {
            let entries = entries.iter().map(|(key, value)| format!("{key}: {}", flow(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

/// A text that needs no quotes in any YAML: with two dots (a version, an address) it is no number either.
fn is_plain(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    let is_text = word.matches('.').count() > 1 || block("", word.into()) == format!("\"\": {word}\n");
    word.bytes().all(plain) && is_text && word.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/')
}

/// A key with its value, as YAML.
pub fn block(name: &str, value: Value) -> String {
    let name = if name == "*" { "any-name" } else { name };
    let entry: Map<_, _> = iter::once((name.to_owned(), value)).collect();
    firelay_yaml::emit(&entry).unwrap_or_default()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
