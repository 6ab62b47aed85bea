//! Files of a machine in two renders, as firelay-verify unpacks them from its documents.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use firelay_verify::{Entry, Machine, What};
use serde::Serialize;
use serde_json::Value;

use super::{
    Handler, authorities, handler, handler_of_loss,
    handlers::renewal_keys,
    registration::{self, ARTIFACTS, Binary},
    renewal,
};

/// Fields of one file that are listed.
pub(super) const FIELDS: usize = 6;
/// Characters of a value that are shown.
const LONGEST: usize = 80;
/// Characters of a longer one before those that are left out.
const HEAD: usize = 36;
/// Hexadecimal digits of a SHA-256.
const DIGEST: usize = 64;
/// The permission of everybody to read.
const OTHERS: u32 = 0o004;
/// firelay's own YAML, which root alone reads, and in which single values are secret.
const OWN_YAML: &str = "/etc/firelay/kubeadm/";
/// The beginning of certificates and keys.
const PEM: &str = "-----BEGIN ";
/// Parts of names whose values are secrets.
const SECRET: [&str; 7] = ["token", "key", "password", "secret", "data", "environment", "auth"];
/// The beginning of scripts.
const SCRIPT: &str = "#!";
/// Folders of the user's files and commands, which firelay does not parse.
const USERS: [&str; 2] = ["/etc/firelay/files/", "/etc/firelay/commands/"];
/// The first word of the place of a line.
const LINE: &str = "line";
/// The key that names an element of a list.
const NAME: &str = "name";
/// Keys of a document whose content is files.
const LAID: [&str; 3] = ["write_files", "storage", "systemd"];

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Its path on the machine; `user-data` for a setting of the document itself.
    pub path: String,
    /// `added`, `removed` or `changed`.
    pub kind: &'static str,
    /// The answers of a running machine, in the order in which it carries them out.
    pub handlers: BTreeSet<Handler>,
    /// Fields or lines that differ, the first of many.
    pub fields: Vec<FieldChange>,
    /// First line of the new file that differs, from 1.
    #[serde(skip)]
    pub line: Option<usize>,
    /// Lines of the spec that the change comes from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spec: Vec<String>,
}

/// A field or line that differs. A value that may be secret is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// `KubeletConfiguration/maxPods`, or `line 3`.
    pub field: String,
    /// Its value before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// Its value now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// The values are not shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// What happened to a whole object, in place of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl FieldChange {
    /// A value before and now.
    pub fn new(field: &str, old: Option<&str>, new: Option<&str>) -> Self {
        Self {
            field: field.to_owned(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
            hidden: false,
            note: None,
        }
    }

    /// The same with long values shortened, when the whole ones were searched for secrets.
    pub fn shortened(self) -> Self {
        Self {
            old: self.old.as_deref().map(shown),
            new: self.new.as_deref().map(shown),
            ..self
        }
    }

    /// The same without the name of a setting before both values: `FL_ENDPOINT=api:6443` of the field `FL_ENDPOINT`.
    fn without_name(self) -> Self {
        let value = |text: &String| {
            let (name, value) = text.split_once('=')?;
            (name.trim() == self.field).then(|| value.trim_start().to_owned())
        };
        let values = [&self.old, &self.new].map(|side| side.as_ref().map(value));
        match values {
            [Some(None), _] | [_, Some(None)] | [None, None] => self,
            [old, new] => Self {
                old: old.flatten(),
                new: new.flatten(),
                ..self
            },
        }
    }

    /// A change whose values are not shown.
    pub fn hidden(field: &str) -> Self {
        Self {
            field: field.to_owned(),
            old: None,
            new: None,
            hidden: true,
            note: None,
        }
    }

    /// A whole object or part, with what happened to it.
    pub fn whole(field: &str, note: &'static str) -> Self {
        Self {
            note: Some(note),
            hidden: false,
            ..Self::hidden(field)
        }
    }

    /// The same without its values if they may be secret, and without names if it is said to be. Long values are shortened.
    pub(super) fn unless(self, is_secret: impl Fn(&Self) -> bool, place: &str) -> Self {
        match (is_secret(&self), self.note) {
            (true, Some(note)) => Self::whole(place, note),
            (true, None) => Self::hidden(place),
            // The name of a setting in a line may be a part of a secret.
            (false, None) if may_be_secret(&self) => match place.starts_with(LINE) {
                true => Self::hidden(place),
                false => Self::hidden(&self.field),
            },
            (false, _) => self.shortened(),
        }
    }
}

/// The files of a machine that differ. `is_secret` tells of the values of a field in the file at a path.
pub fn compare(old: &Machine, new: &Machine, is_secret: &impl Fn(&str, &FieldChange) -> bool) -> Vec<FileChange> {
    let (before, after) = (&old.root.entries, &new.root.entries);
    let paths: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let entries = paths
        .into_iter()
        .filter_map(|path| match (before.get(path), after.get(path)) {
            (Some(before), Some(after)) => changed((old, new), path, (before, after), is_secret),
            (None, Some(_)) if path == authorities::SIGNING => Some(FileChange {
                handlers: BTreeSet::from([Handler::Certificates]),
                ..change(path, "added")
            }),
            (None, Some(_)) => Some(come_or_gone((old, new), path, "added")),
            _ => Some(come_or_gone((old, new), path, "removed")),
        });
    entries.chain(settings(old, new)).collect()
}

fn come_or_gone((old, new): (&Machine, &Machine), path: &str, kind: &'static str) -> FileChange {
    let change = change(path, kind);
    let own = registration::of_packages(path, old.text(path), new.text(path));
    FileChange {
        handlers: own.unwrap_or_else(|| change.handlers.clone()),
        ..change
    }
}

fn change(path: &str, kind: &'static str) -> FileChange {
    let own = (kind == "removed").then(|| handler_of_loss(path)).flatten();
    FileChange {
        path: path.to_owned(),
        kind,
        handlers: BTreeSet::from([own.unwrap_or_else(|| by_kind(path, kind))]),
        fields: Vec::new(),
        line: None,
        spec: Vec::new(),
    }
}

fn by_kind(path: &str, kind: &'static str) -> Handler {
    // The founder's document loses its manifests with the founding; what was applied stays.
    match (handler(path), kind) {
        (Handler::Apply, "removed") => Handler::Boot,
        // The argument that names it goes with kubeadm's configuration.
        (Handler::Pod(_), "removed") => Handler::Configure,
        // A unit that goes is stopped when its file is removed.
        (Handler::Restart(unit), "removed") if path.ends_with(&format!("/{unit}")) => Handler::None,
        (Handler::Certificates, _) if renewal_keys().iter().any(|key| key == path) => Handler::Certificates,
        // Nothing is run again without its file.
        // A machine that gets or loses a kind of key changes its part in the cluster.
        (Handler::Step(_), "removed") | (Handler::Certificates, "added" | "removed") => Handler::Replace,
        (Handler::None, _) if [ARTIFACTS, registration::JOIN_CONFIGURATION].contains(&path) && kind != "changed" => {
            Handler::Replace
        }
        (handler, _) => handler,
    }
}

fn changed(
    machines: (&Machine, &Machine),
    path: &str,
    (old, new): (&Entry, &Entry),
    is_secret: &impl Fn(&str, &FieldChange) -> bool,
) -> Option<FileChange> {
    let mut fields = Vec::new();
    let mut found = Vec::new();
    let (mut line, mut handlers) = (None, None);
    match (&old.what, &new.what) {
        (What::File(before), What::File(after)) if before != after => {
            let texts = std::str::from_utf8(before).ok().zip(std::str::from_utf8(after).ok());
            let closed = (old.mode | new.mode) & OTHERS == 0 && !path.starts_with(OWN_YAML)
                || USERS.iter().any(|folder| path.starts_with(folder));
            if let Some((before, after)) = texts {
                line = first_line(before, after);
                found = content(path, before, after);
                handlers = registration::handlers(path, before, after, registration::runs_etcd(machines.1));
            }
            handlers = authorities::handler(path, machines.0, machines.1)
                .or_else(|| renewal::handler(path, machines.0, machines.1))
                .map(|handler| BTreeSet::from([handler]))
                .or(handlers);
            let hides = |change: &FieldChange| closed || is_secret(path, change);
            fields = found
                .into_iter()
                .map(|(place, field)| field.unless(hides, &place).without_name())
                .collect();
        }
        (one, other) if one != other => {
            fields.push(plain("kind", "", ""));
            handlers = Some(BTreeSet::from([Handler::Replace]));
        }
        _ => {}
    }
    if old.mode != new.mode {
        fields.push(plain(
            "mode",
            &format!("{:04o}", old.mode),
            &format!("{:04o}", new.mode),
        ));
    }
    if old.owner != new.owner {
        fields.push(plain("owner", &old.owner, &new.owner));
    }
    let same = old.what == new.what && old.mode == new.mode && old.owner == new.owner;
    let change = change(path, "changed");
    (!same).then(|| FileChange {
        fields,
        line,
        handlers: handlers.unwrap_or_else(|| change.handlers.clone()),
        ..change
    })
}

/// The first line of a new text that the old one does not have, from 1. Lines that only stand elsewhere have not changed.
fn first_line(old: &str, new: &str) -> Option<usize> {
    let had: BTreeSet<_> = old.lines().collect();
    let at = new.lines().position(|line| !had.contains(line))?;
    Some(at + 1)
}

/// Whether the name of a field, or a value, says that it may be a secret.
fn may_be_secret(change: &FieldChange) -> bool {
    let named = change.field.to_lowercase();
    let mut values = change.old.iter().chain(&change.new);
    SECRET.iter().any(|word| named.contains(word)) || values.any(|value| has_credentials(value))
}

/// A URL with a user, or with a query: both may hold a password, a token or a signature (RFC 3986 section 3.2.1 and 3.4).
pub fn has_credentials(value: &str) -> bool {
    let mut after = value.split("://").skip(1);
    after.any(|rest| {
        let authority = rest.split('/').next().unwrap_or_default();
        authority.contains('@') || rest.contains('?')
    })
}

fn plain(field: &str, old: &str, new: &str) -> FieldChange {
    FieldChange::new(field, Some(old), Some(new))
}

fn shown(value: &str) -> String {
    // A digest says less than what stands behind it.
    let is_digest = |word: &str| word.len() >= DIGEST && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = value.split(' ').map(|word| match is_digest(word) {
        true => format!("{}…", &word[..8]),
        false => word.to_owned(),
    });
    let value = words.collect::<Vec<_>>().join(" ");
    let chars: Vec<_> = value.chars().collect();
    if chars.len() <= LONGEST {
        return value;
    }
    // The version of a URL is near its end.
    let part = |chars: &[char]| chars.iter().collect::<String>();
    format!(
        "{}…{}",
        part(&chars[..HEAD]),
        part(&chars[chars.len() - LONGEST + HEAD..])
    )
}

/// Fields of YAML and JSON, binaries of their list, and lines of everything else, each with a name that contains nothing of a value. Lines of
/// PEM say nothing to people, and may be parts of a key. Lines of firelay's own scripts say nothing to them, either.
pub(super) fn content(path: &str, old: &str, new: &str) -> Vec<(String, FieldChange)> {
    if [old, new].iter().any(|text| text.starts_with(PEM)) {
        return vec![("PEM".to_owned(), FieldChange::hidden("PEM"))];
    }
    if new.starts_with(SCRIPT) {
        return Vec::new();
    }
    if path == ARTIFACTS {
        return binaries(old, new);
    }
    let fields = differing_fields(path, old, new).filter(|fields| !fields.is_empty());
    let mut fields = fields.unwrap_or_else(|| lines(old, new));
    fields.truncate(FIELDS);
    fields
}

/// Binaries and manifests of the list of downloads, by name: their URLs, or all that is known of one whose URL stays.
fn binaries(old: &str, new: &str) -> Vec<(String, FieldChange)> {
    let by_name = |list| -> BTreeMap<_, _> { Binary::all(list).map(|own| (own.name.to_owned(), own)).collect() };
    let (had, has) = (by_name(old), by_name(new));
    let stays = |name: &String| {
        had.get(name)
            .zip(has.get(name))
            .is_some_and(|(old, new)| old.url == new.url)
    };
    let value = |(name, own): (&String, &Binary<'_>)| match stays(name) {
        true => (name.clone(), own.line.to_owned()),
        false => (name.clone(), own.url.to_owned()),
    };
    let (had, has) = (had.iter().map(value).collect(), has.iter().map(value).collect());
    differing(&had, &has)
}

/// The fields of a structured file that differ, and objects that only one of the texts has, each with a place without names; `None` of
/// another file.
pub(super) fn differing_fields(path: &str, old: &str, new: &str) -> Option<Vec<(String, FieldChange)>> {
    let (mut old, mut new) = (fields(path, old)?, fields(path, new)?);
    let gone = old.without(&new);
    let come = new.without(&old);
    gone.iter().for_each(|(object, _)| old.forget(object));
    come.iter().for_each(|(object, _)| new.forget(object));
    let whole = |note| move |(object, kind): (String, String)| (kind, FieldChange::whole(&object, note));
    let objects = { gone.into_iter().map(whole("removed")) }.chain(come.into_iter().map(whole("added")));
    let place = |field: &String| new.places.get(field).or_else(|| old.places.get(field)).cloned();
    let values = differing(&old.values, &new.values).into_iter();
    let values = values.map(|(field, change)| (place(&field).unwrap_or_default(), change));
    Some(objects.chain(values).collect())
}

/// The scalars of a structured file, each by a pointer after the kind of its document: `Kind/key/0/key`.
#[derive(Default)]
struct Fields {
    values: BTreeMap<String, String>,
    /// The same pointers with numbers in place of names, which may be secret as well.
    places: BTreeMap<String, String>,
    /// Objects with a name, as `Kind/namespace/name`, which their scalars begin with, and their kinds.
    objects: BTreeMap<String, String>,
}

/// A pointer with names, and one without.
#[derive(Clone)]
struct At {
    named: String,
    place: String,
}

impl At {
    fn below(&self, name: &str, place: &str) -> Self {
        let below = |at: &str, part: &str| match at.is_empty() {
            true => escaped(part),
            false => format!("{at}/{}", escaped(part)),
        };
        Self {
            named: below(&self.named, name),
            place: below(&self.place, place),
        }
    }
}

impl Fields {
    /// Objects that another text does not have.
    fn without(&self, other: &Self) -> Vec<(String, String)> {
        let objects = self.objects.clone().into_iter();
        objects
            .filter(|(object, _)| !other.objects.contains_key(object))
            .collect()
    }

    fn forget(&mut self, object: &str) {
        let is_below = |field: &String| field.strip_prefix(object).is_some_and(|rest| rest.starts_with('/'));
        self.values.retain(|field, _| !is_below(field));
    }

    fn add(&mut self, value: &Value, at: At) {
        let text = match value {
            Value::Object(entries) => {
                return entries
                    .iter()
                    .for_each(|(key, value)| self.add(value, at.below(key, key)));
            }
            Value::Array(items) => return self.add_items(items, &at),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        self.places.insert(at.named.clone(), at.place);
        self.values.insert(at.named, text);
    }

    fn add_items(&mut self, items: &[Value], at: &At) {
        let names = names(items);
        for (number, item) in items.iter().enumerate() {
            let place = number.to_string();
            // Another element before it does not change its name.
            let name = names.as_ref().map(|names| names[number]);
            let below = at.below(name.unwrap_or(&place), &place);
            match item.as_object().filter(|_| name.is_some()) {
                Some(entries) => entries
                    .iter()
                    .filter(|(key, _)| *key != NAME)
                    .for_each(|(key, value)| self.add(value, below.below(key, key))),
                None => self.add(item, below),
            }
        }
    }
}

fn fields(path: &str, text: &str) -> Option<Fields> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    let mut found = Fields::default();
    let at = |named: &str, place: &str| At {
        named: named.to_owned(),
        place: place.to_owned(),
    };
    if ends(&[".json", ".ign"]) {
        found.add(&serde_json::from_str(text).ok()?, at("", ""));
        return Some(found);
    }
    if !ends(&[".yaml", ".yml"]) {
        return None;
    }
    for range in firelay_yaml::split(text) {
        let value: Value = firelay_yaml::parse(path, &text[range]).ok()?;
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
        let object = [&value["metadata"]["namespace"], &value["metadata"]["name"]];
        let object: Vec<_> = object.into_iter().filter_map(Value::as_str).map(escaped).collect();
        let named = [&[kind.to_owned()], object.as_slice()].concat().join("/");
        if !object.is_empty() {
            found.objects.insert(named.clone(), kind.to_owned());
        }
        found.add(&value, at(&named, kind));
    }
    Some(found)
}

/// A part of a JSON pointer (RFC 6901 section 3).
fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

/// The names of a list's elements, if each has one of its own and something beside it.
fn names(items: &[Value]) -> Option<Vec<&str>> {
    let entries = items
        .iter()
        .map(|item| item.as_object().filter(|entries| entries.len() > 1));
    let names: Option<Vec<_>> = entries.map(|entries| entries?.get(NAME)?.as_str()).collect();
    let names = names?;
    let distinct: BTreeSet<_> = names.iter().collect();
    (distinct.len() == names.len()).then_some(names)
}

pub(super) fn differing(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<(String, FieldChange)> {
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let differ = keys.into_iter().filter(|key| old.get(*key) != new.get(*key));
    let change = |key: &String| {
        let (old, new) = (old.get(key), new.get(key));
        let change = FieldChange::new(key, old.map(String::as_str), new.map(String::as_str));
        (key.clone(), change)
    };
    differ.map(change).collect()
}

/// Lines that only one of the texts has, in their order. What stands before `=` is the name of a setting, or a part of a secret in base64.
fn lines(old: &str, new: &str) -> Vec<(String, FieldChange)> {
    let (had, has): (BTreeSet<_>, BTreeSet<_>) = (old.lines().collect(), new.lines().collect());
    let come = new.lines().enumerate().filter(|(_, line)| !had.contains(line));
    // A line replaces one of the same setting, or of none.
    let mut gone: BTreeMap<Option<&str>, VecDeque<(usize, &str)>> = BTreeMap::new();
    for (at, line) in old.lines().enumerate().filter(|(_, line)| !has.contains(line)) {
        gone.entry(setting(line)).or_default().push_back((at, line));
    }
    let mut changes = Vec::new();
    for (at, line) in come {
        let replaced = gone.get_mut(&setting(line)).and_then(VecDeque::pop_front);
        changes.push(line_change(Some(at), replaced.map(|(_, old)| old), Some(line)));
    }
    let mut left: Vec<_> = gone.into_values().flatten().collect();
    left.sort_unstable();
    changes.extend(left.into_iter().map(|(_, old)| line_change(None, Some(old), None)));
    changes
}

/// The name of the setting in a line `NAME=VALUE`.
fn setting(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('=')?;
    let is_name = |character: char| character.is_alphanumeric() || "_.-".contains(character);
    Some(name.trim()).filter(|name| name.chars().all(is_name))
}

fn line_change(at: Option<usize>, old: Option<&str>, new: Option<&str>) -> (String, FieldChange) {
    let place = at.map_or_else(|| LINE.to_owned(), |at| format!("{LINE} {}", at + 1));
    let field = new.or(old).and_then(setting);
    let change = FieldChange::new(field.unwrap_or(&place), old, new);
    (place, change)
}

/// The file beside the document with which cloud-init sets the network up, on the first boot alone.
fn network_config(machine: &Machine) -> Option<&[u8]> {
    let mut files = machine.files.iter();
    let file = files.find(|file| file.described.path.ends_with("/network-config"))?;
    file.bytes.as_deref()
}

/// Settings of the documents beside the files that they write: users, the host name, disks.
fn settings(old: &Machine, new: &Machine) -> Option<FileChange> {
    let keys = |machine: &Machine| {
        let mut found = BTreeMap::new();
        for layer in &machine.layers {
            for (key, value) in layer
                .config
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(key, _)| !LAID.contains(&key.as_str()))
            {
                found.insert(key.clone(), value.to_string());
            }
        }
        found
    };
    // A pointer names its payload by digest, and another form wraps the same document. Links, masks and units that cloud-init's
    // commands create, stop and enable are compared as such.
    let own = |(key, _): &(&String, &String)| !["ignition", "bootcmd", "runcmd"].contains(&key.as_str());
    let (before, after) = (keys(old), keys(new));
    let (one, other): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (before.iter().filter(own).collect(), after.iter().filter(own).collect());
    let differ = one
        .keys()
        .chain(other.keys())
        .filter(|key| one.get(**key) != other.get(**key));
    let mut fields: BTreeSet<_> = differ.map(|key| (*key).clone()).collect();
    if old.masked != new.masked {
        fields.insert("masked units".to_owned());
    }
    if network_config(old) != network_config(new) {
        fields.insert("network-config".to_owned());
    }
    (!fields.is_empty()).then(|| FileChange {
        fields: fields.iter().map(|field| FieldChange::hidden(field)).collect(),
        handlers: BTreeSet::from([Handler::Replace]),
        ..change("user-data", "changed")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_lines(old: &str, new: &str) -> Vec<(String, Option<String>, Option<String>)> {
        let changes = lines(old, new).into_iter().map(|(_, change)| change.without_name());
        changes.map(|change| (change.field, change.old, change.new)).collect()
    }

    fn change(field: &str, old: Option<&str>, new: Option<&str>) -> (String, Option<String>, Option<String>) {
        (field.to_owned(), old.map(str::to_owned), new.map(str::to_owned))
    }

    #[test]
    fn a_long_value_keeps_its_end() {
        let url = |version: &str| {
            let path = format!("releases/download/v{version}/containerd-{version}-linux-amd64.tar.gz");
            format!(
                "containerd {} https://github.com/containerd/containerd/{path}",
                "9d689698".repeat(8)
            )
        };
        let change = FieldChange::new("line 3", Some(&url("2.2.1")), Some(&url("2.2.2"))).shortened();
        let [old, new] = [change.old, change.new].map(Option::unwrap_or_default);
        assert!(old.starts_with("containerd 9d689698… https://"), "{old}");
        assert!(old.ends_with("containerd-2.2.1-linux-amd64.tar.gz"), "{old}");
        assert!(new.contains("2.2.2") && new.chars().count() == LONGEST + 1, "{new}");
    }

    #[test]
    fn a_setting_is_compared_with_itself_and_its_name_is_said_once() {
        assert_eq!(
            shown_lines("A=1\nB=1\nC = x=y\n", "B=2\nC = x=z\nD=4\n"),
            [
                change("B", Some("1"), Some("2")),
                change("C", Some("x=y"), Some("x=z")),
                change("D", None, Some("4")),
                change("A", Some("1"), None),
            ]
        );
    }

    #[test]
    fn binaries_are_named_and_show_their_urls_where_these_differ() {
        let list = |version: &str, sum: &str| {
            format!(
                "kubelet {sum} binary https://k/v{version}/kubelet /bin kubelet\nhelm 1 binary https://h /bin helm\n"
            )
        };
        let changes = |old: &str, new: &str| {
            let changes = content(ARTIFACTS, old, new).into_iter().map(|(_, change)| change);
            changes.map(|own| (own.field, own.old, own.new)).collect::<Vec<_>>()
        };
        let url = |version: &str| Some(format!("https://k/v{version}/kubelet"));
        let (old, new) = (list("1", "aa"), list("2", "bb"));
        assert_eq!(changes(&old, &new), [("kubelet".to_owned(), url("1"), url("2"))]);
        let rebuilt = changes(&old, &list("1", "bb"));
        assert!(
            rebuilt[0].1.as_ref().is_some_and(|line| line.contains(" aa ")),
            "{rebuilt:?}"
        );
        let without = old.lines().next().map(|line| format!("{line}\n")).unwrap_or_default();
        assert_eq!(
            changes(&old, &without),
            [("helm".to_owned(), Some("https://h".to_owned()), None)]
        );
    }

    #[test]
    fn credentials_of_each_url_are_found() {
        assert!(
            has_credentials("https://a.example,https://u:secret@b.example") && has_credentials("a http://x?token=1")
        );
        assert!(!has_credentials("https://a.example/x@y,https://b.example"));
    }

    #[test]
    fn a_line_that_only_moves_is_not_the_first_that_differs() {
        assert_eq!(first_line("a\nb\nc\n", "b\nc\n"), None);
        assert_eq!(first_line("a\nb\n", "a\nnew\nb\n"), Some(2));
    }

    #[test]
    fn lines_without_a_name_are_compared_in_their_order() {
        assert_eq!(
            shown_lines("one two\nsame\nthree\n", "same\nfour = 4 x\nfive six = 1\n"),
            [
                change("four", None, Some("4 x")),
                change("line 3", Some("one two"), Some("five six = 1")),
                change("line", Some("three"), None),
            ]
        );
    }
}
