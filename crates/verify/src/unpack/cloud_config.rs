//! The effect of a `#cloud-config` on a machine (modules `bootcmd`, `write_files`, `users_groups`, `mounts`, `runcmd`).

use std::sync::Arc;

use firelay_base::shared_end::SharedEnd;
use memchr::memchr_iter;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    Building, NewEntry, Pool,
    write_file::{self, OWNER},
};
use crate::{What, WrittenFile, class::is_text, machine::WRITE_FILES};

/// A document.
#[derive(Debug)]
pub(super) struct CloudConfig {
    /// Its values, without the files.
    pub(super) values: Value,
    /// Its files.
    pub(super) files: Vec<Arc<WrittenFile>>,
}

/// Keys with units, users and mounts, as cloud-init reads them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Settings {
    bootcmd: Vec<Value>,
    users: Vec<Value>,
    mounts: Vec<Vec<Value>>,
    runcmd: Vec<Value>,
}

/// Adds the entries of a document.
pub(super) fn unpack(building: &mut Building<'_>, document: &str, config: &CloudConfig) {
    // serde's message repeats the value, which may be secret; the schema check reports its place.
    let settings = Settings::deserialize(&config.values).ok();
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    let is_read = config.values.get(WRITE_FILES).is_none_or(is_empty);
    let Some(read) = settings.filter(|_| is_read) else {
        return building.fault("FL1003", document, "", "a value of another kind than cloud-init takes");
    };
    for (number, command) in read.bootcmd.iter().enumerate() {
        run(building, document, &format!("bootcmd[{number}]"), command);
    }
    for (number, file) in config.files.iter().enumerate() {
        write(building, document, &format!("{WRITE_FILES}[{number}]"), file);
    }
    for user in &read.users {
        let name = user.get("name").and_then(Value::as_str);
        building.machine.users.extend(name.map(str::to_owned));
    }
    for mount in &read.mounts {
        if let [Value::String(source), Value::String(path), ..] = mount.as_slice() {
            building.mount(source, path, "mounts");
        }
    }
    for (number, command) in read.runcmd.iter().enumerate() {
        run(building, document, &format!("runcmd[{number}]"), command);
    }
}

fn write(building: &mut Building<'_>, document: &str, place: &str, file: &WrittenFile) {
    let bytes = match &file.content {
        Ok(bytes) => bytes.clone(),
        Err(why) => return building.fault("FL1003", document, place, why),
    };
    let Some(mode) = file.mode else {
        return building.fault("FL1003", document, place, "permissions that are no octal number");
    };
    building.add(NewEntry {
        path: &file.path,
        what: What::File(bytes),
        mode,
        owner: &file.owner,
        place,
        append: file.append,
    });
}

/// A command: a list of arguments, or a line for the shell.
fn run(building: &mut Building<'_>, document: &str, place: &str, command: &Value) {
    let words = match command {
        Value::String(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
        Value::Array(words) => words
            .iter()
            .map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned))
            .collect(),
        _ => return building.fault("FL1003", document, place, "a command that is neither a text nor a list"),
    };
    let (options, arguments): (Vec<_>, Vec<_>) =
        words.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    match arguments.as_slice() {
        ["install", rest @ ..] if options.contains(&"-d") => install(building, place, &words, rest),
        ["mkdir", rest @ ..] => rest
            .iter()
            .for_each(|path| building.directory(path, 0o755, OWNER, place)),
        ["ln", target, path] => building.add(NewEntry {
            path,
            what: What::Link((*target).to_owned()),
            mode: 0o777,
            owner: OWNER,
            place,
            append: false,
        }),
        ["systemctl", "enable", units @ ..] => building.enable(units),
        ["systemctl", "mask", units @ ..] => building.mask(units),
        _ => {}
    }
    building.machine.commands.push(words);
}

/// `install -d -m 0700 -o root -g root PATH…`.
fn install(building: &mut Building<'_>, place: &str, words: &[String], rest: &[&str]) {
    let after = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1).map(String::as_str)
    };
    let mode = after("-m")
        .and_then(|mode| u32::from_str_radix(mode, 8).ok())
        .unwrap_or(0o755);
    let owner = format!("{}:{}", after("-o").unwrap_or("root"), after("-g").unwrap_or("root"));
    for path in rest.iter().filter(|word| word.starts_with('/')) {
        building.directory(path, mode, &owner, place);
    }
}

/// Reads a document. A shared end is read once.
pub(super) fn parse(
    document: &str,
    text: &str,
    end: Option<&Arc<SharedEnd>>,
    pool: &Pool,
) -> Result<CloudConfig, String> {
    let read = end.and_then(|end| with_end(text, end, pool));
    if let Some(config) = read.or_else(|| by_parts(text, pool)) {
        return Ok(config);
    }
    let values = firelay_yaml::parse(document, text);
    values
        .map(|values| of_value(values, pool))
        .map_err(|error| error.to_string())
}

/// A document by its value. An empty list, and files of another kind, stay in the value.
fn of_value(mut values: Value, pool: &Pool) -> CloudConfig {
    let list = values.get(WRITE_FILES).and_then(Value::as_array);
    let files: Option<Vec<_>> =
        list.and_then(|list| list.iter().map(|value| write_file::of_value(value, pool)).collect());
    let files = files.unwrap_or_default();
    if let Some(entries) = values.as_object_mut().filter(|_| !files.is_empty()) {
        entries.shift_remove(WRITE_FILES);
    }
    CloudConfig { values, files }
}

/// The first line of a cloud-config (cloud-init, user_data.INCLUSION_TYPES_MAP).
const MAGIC: &str = "#cloud-config\n";

/// The values of a document by its parts.
fn by_parts(text: &str, pool: &Pool) -> Option<CloudConfig> {
    Some(Entries::of(text.strip_prefix(MAGIC)?, pool)?.document())
}

/// The same for a document whose shared end begins with an item of `write_files`.
fn with_end(text: &str, end: &Arc<SharedEnd>, pool: &Pool) -> Option<CloudConfig> {
    let items = std::str::from_utf8(end.text())
        .ok()
        .filter(|items| items.starts_with("- "))?;
    let own = text
        .strip_prefix(MAGIC)?
        .strip_suffix(items)
        .filter(|own| own.ends_with('\n'))?;
    let own = Entries::of(own, pool).filter(|own| own.files_are_last)?;
    let rest = pool.entries_of(end, || Entries::of(&format!("{WRITE_FILES}:\n{items}"), pool))?;
    Some(own.followed_by(&rest)?.document())
}

/// The top-level keys of a cloud-config, or of a part of one.
#[derive(Debug)]
pub(crate) struct Entries {
    values: Map<String, Value>,
    files: Option<Vec<Arc<WrittenFile>>>,
    /// The last key is `write_files`, so that further items may follow.
    files_are_last: bool,
}

impl Entries {
    /// The entries, merged from the values of the text's parts: keys at the start of a line, and items of lists there. Nothing else
    /// may be at the start of a line, and each part has to be valid YAML. Then no text, list or alias crosses a border, and
    /// the value equals that of the whole. `None` if that is not certain.
    fn of(text: &str, pool: &Pool) -> Option<Self> {
        let (mut values, mut files, mut files_are_last) = (Map::new(), None, false);
        for entry in parts(text, |line| !line.starts_with("- ")) {
            let (first, items) = entry.split_at(entry.find('\n')? + 1);
            let list = first.strip_suffix(":\n");
            let list = list.filter(|key| is_key(key) && items.starts_with("- "));
            files_are_last = list == Some(WRITE_FILES);
            // A repeated key is a mistake in the whole document. An indented key is one, too.
            let is_wrong = match list {
                Some(WRITE_FILES) => files.replace(files_of(items, pool)?).is_some(),
                Some(key) => values.insert(key.to_owned(), list_of(items, pool)?).is_some(),
                None => {
                    let (key, value) = pair_of(entry, pool)?;
                    !is_key(&key) || !entry.starts_with(&key) || values.insert(key, value).is_some()
                }
            };
            if is_wrong {
                return None;
            }
        }
        // A list of files in another form.
        let is_plain = !values.contains_key(WRITE_FILES);
        is_plain.then_some(Self {
            values,
            files,
            files_are_last,
        })
    }

    /// The entries of two texts, of which the second one begins with files; `None` for a repeated key.
    fn followed_by(mut self, rest: &Self) -> Option<Self> {
        let both = self.files.iter_mut().zip(&rest.files);
        both.for_each(|(files, more)| files.extend_from_slice(more));
        for (key, value) in &rest.values {
            if self.values.insert(key.clone(), value.clone()).is_some() {
                return None;
            }
        }
        Some(self)
    }

    fn document(self) -> CloudConfig {
        CloudConfig {
            values: Value::Object(self.values),
            files: self.files.unwrap_or_default(),
        }
    }
}

/// The files of a list's items.
fn files_of(items: &str, pool: &Pool) -> Option<Vec<Arc<WrittenFile>>> {
    let value = |item: &str| {
        let list = firelay_yaml::parse::<Value>("part", item).ok()?;
        write_file::of_value(only(list.as_array()?)?, pool)
    };
    let file = |item: &str| write_file::literal(item, pool).or_else(|| value(item));
    let file = |item: &str| (*pool.written.of("", item.as_bytes(), || file(item))).clone();
    parts(items, |_| true).map(file).collect()
}

/// The list with these items.
fn list_of(items: &str, pool: &Pool) -> Option<Value> {
    let item = |item: &str| only((*parsed(item, pool)).as_ref()?.as_array()?).cloned();
    let items = parts(items, |_| true).map(item);
    items.collect::<Option<_>>().map(Value::Array)
}

/// The key and the value of an entry.
fn pair_of(entry: &str, pool: &Pool) -> Option<(String, Value)> {
    if let Some((key, name)) = named(entry) {
        return Some((key.to_owned(), name.into()));
    }
    let parsed = parsed(entry, pool);
    let mut entries = (*parsed).as_ref()?.as_object()?.iter();
    let (key, value) = entries.next().filter(|_| entries.len() == 0)?;
    Some((key.clone(), value.clone()))
}

fn parsed(part: &str, pool: &Pool) -> Arc<Option<Value>> {
    let parse = || firelay_yaml::parse("part", part).ok();
    pool.parts.of("", part.as_bytes(), parse)
}

fn only<T>(items: &[T]) -> Option<&T> {
    match items {
        [one] => Some(one),
        _ => None,
    }
}

/// The parts of a text. One begins with each line that is not indented and of which `begins` is true.
fn parts(text: &str, begins: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let next = memchr_iter(b'\n', rest.as_bytes()).map(|at| at + 1).find(|at| {
            let line = &rest[*at..];
            !line.is_empty() && !line.starts_with([' ', '\n']) && begins(line)
        });
        let (part, behind) = rest.split_at(next.unwrap_or(rest.len()));
        rest = behind;
        (!part.is_empty()).then_some(part)
    })
}

/// A machine's name in the form that firelay writes.
fn named(entry: &str) -> Option<(&str, &str)> {
    let (key, name) = entry.strip_suffix('\n')?.split_once(": ")?;
    (NAMES.contains(&key) && is_text(name)).then_some((key, name))
}

/// Keys with the machine's name.
const NAMES: [&str; 2] = ["hostname", "fqdn"];

/// Keys that a reader of YAML 1.1 takes for other values.
const NO_TEXT: [&str; 7] = ["null", "true", "false", "yes", "no", "on", "off"];

/// A key of cloud-init: no quote, mark or directive.
fn is_key(key: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    !key.is_empty() && key.bytes().all(is_plain) && !NO_TEXT.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "#cloud-config\nhostname: a\nbootcmd:\n- - sh\n  - -c\nwrite_files:\n- path: /a\n  content: |\n    - b\n\n    c\n- path: /d\n\
        - path: /e\n  permissions: \"0600\"\n  content: |\n    f: g\n    h\nusers:\n  - default\nruncmd: [a,\n  b]\n";

    #[test]
    fn the_value_of_the_parts_is_that_of_the_whole() {
        let lines: Vec<_> = DOCUMENT.lines().collect();
        let odd = [
            "- x",
            "---",
            "# a",
            "b",
            "\"",
            "c: \"d",
            "hostname: b",
            "e: &a f",
            "g: *a",
            "h: |",
            "? i",
            "  j",
            "",
            "k: [l,",
            "m: {}",
            "'n': o",
            "fqdn: w-5",
            "hostname: w-5",
            "no: w-5",
            "null: w-5",
            "write_files:",
            "runcmd: []",
        ];
        let (mut whole, mut ends) = (0, 0);
        let values = |read: &CloudConfig| {
            let files: Vec<_> = read.files.iter().map(|file| file.value.clone()).collect();
            (read.values.clone(), files)
        };
        for line in 1..=lines.len() {
            for more in odd {
                let text = [&lines[..line], &[more], &lines[line..]].concat().join("\n") + "\n";
                let other = firelay_yaml::parse("document", &text).map(|value| of_value(value, &Pool::default()));
                let other = other.as_ref().map(values).map_err(ToString::to_string);
                let read = by_parts(&text, &Pool::default());
                whole += usize::from(read.is_some());
                assert!(read.is_none_or(|read| Ok(values(&read)) == other), "{text}");
                for (at, _) in text.match_indices("\n- ") {
                    let end = Arc::new(SharedEnd::new(text.as_bytes()[at + 1..].to_vec()));
                    let pool = Pool::default();
                    // The entries of the end are kept after the first time.
                    for _ in 0..2 {
                        let read = with_end(&text, &end, &pool);
                        ends += usize::from(read.is_some());
                        assert!(read.is_none_or(|read| Ok(values(&read)) == other), "{text}");
                    }
                }
            }
        }
        assert!(whole > 40 && ends > 40, "{whole}, {ends}");
    }
}
