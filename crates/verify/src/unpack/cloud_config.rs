//! The effect of a `#cloud-config` on a machine (modules `bootcmd`, `write_files`, `users_groups`, `mounts`, `runcmd`).

use std::borrow::Cow;

use firelay_base::memo::Memo;
use memchr::memchr_iter;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Building, NewEntry, encoding};
use crate::What;

/// Keys with files or units, as cloud-init reads them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CloudConfig<'a> {
    bootcmd: Vec<Value>,
    #[serde(borrow)]
    write_files: Vec<WriteFile<'a>>,
    users: Vec<Value>,
    mounts: Vec<Vec<Value>>,
    runcmd: Vec<Value>,
}

/// One of `write_files` (cc_write_files).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WriteFile<'a> {
    #[serde(borrow)]
    path: Cow<'a, str>,
    #[serde(borrow)]
    content: Cow<'a, str>,
    encoding: Option<String>,
    owner: Option<String>,
    permissions: Option<Value>,
    append: bool,
}

/// Mode and owner of a file without these keys (cc_write_files, DEFAULT_PERMS and DEFAULT_OWNER).
const MODE: u32 = 0o644;
const OWNER: &str = "root:root";

/// Adds the entries of a document.
pub(super) fn unpack(building: &mut Building<'_>, document: &str, config: &Value) {
    // serde's message repeats the value, which may be secret; the schema check reports its place.
    let Ok(read) = CloudConfig::deserialize(config) else {
        return building.fault("FL1003", document, "", "a value of another kind than cloud-init takes");
    };
    for (number, command) in read.bootcmd.iter().enumerate() {
        run(building, document, &format!("bootcmd[{number}]"), command);
    }
    for (number, file) in read.write_files.iter().enumerate() {
        write(building, document, &format!("write_files[{number}]"), file);
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

fn write(building: &mut Building<'_>, document: &str, place: &str, file: &WriteFile<'_>) {
    let bytes = match decoded(file) {
        Ok(bytes) => bytes,
        Err(why) => return building.fault("FL1003", document, place, &why),
    };
    let Some(mode) = permissions(file.permissions.as_ref()) else {
        return building.fault("FL1003", document, place, "permissions that are no octal number");
    };
    building.add(NewEntry {
        path: &file.path,
        what: What::File(building.pool.share(&bytes)),
        mode,
        owner: file.owner.as_deref().unwrap_or(OWNER),
        place,
        append: file.append,
    });
}

/// `encoding` (cc_write_files.canonicalize_extraction); cloud-init also treats an unknown one as plain text.
fn decoded<'f>(file: &'f WriteFile<'_>) -> Result<Cow<'f, [u8]>, String> {
    let bytes = file.content.as_bytes();
    let encoding = file.encoding.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
    match encoding.as_str() {
        "gz" | "gzip" => encoding::gunzip(bytes).map(Cow::Owned),
        "gz+base64" | "gzip+base64" | "gz+b64" | "gzip+b64" => {
            encoding::gunzip(&encoding::base64(bytes)?).map(Cow::Owned)
        }
        "b64" | "base64" => encoding::base64(bytes).map(Cow::Owned),
        "" | "text/plain" => Ok(Cow::Borrowed(bytes)),
        other => Err(format!("encoding {other:?}, which cloud-init does not know")),
    }
}

/// A text is octal, a number is used unchanged (cc_write_files.decode_perms).
fn permissions(said: Option<&Value>) -> Option<u32> {
    match said {
        None | Some(Value::Null) => Some(MODE),
        Some(Value::Number(number)) => number.as_u64()?.try_into().ok(),
        Some(Value::String(text)) => u32::from_str_radix(text.trim_start_matches("0o"), 8).ok(),
        Some(_) => None,
    }
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

/// The whole of a document as a value.
pub(super) fn parse(document: &str, text: &str, known: &Memo<Option<Value>>) -> Result<Value, String> {
    let by_parts = by_parts(text, known).map(Value::Object);
    by_parts.map_or_else(
        || firelay_yaml::parse(document, text).map_err(|error| error.to_string()),
        Ok,
    )
}

/// The value, merged from the values of its parts: keys at the start of a line, and items of lists there. Nothing else
/// may be at the start of a line, and each part has to be valid YAML. Then no text, list or alias crosses a border, and
/// the value equals that of the whole. `None` if that is not certain.
fn by_parts(text: &str, known: &Memo<Option<Value>>) -> Option<Map<String, Value>> {
    let parsed = |part: &str| known.of("", part.as_bytes(), || firelay_yaml::parse("part", part).ok());
    let mut entries = Map::new();
    for entry in parts(text.strip_prefix("#cloud-config\n")?, |line| !line.starts_with("- ")) {
        let (first, items) = entry.split_at(entry.find('\n')? + 1);
        let (key, value) = match first
            .strip_suffix(":\n")
            .filter(|key| is_key(key) && items.starts_with("- "))
        {
            Some(key) => {
                let items =
                    parts(items, |_| true).map(|item| only(parsed(item).as_ref().as_ref()?.as_array()?).cloned());
                (key.to_owned(), Value::Array(items.collect::<Option<_>>()?))
            }
            None => {
                let parsed = parsed(entry);
                let mut entries = parsed.as_ref().as_ref()?.as_object()?.iter();
                let (key, value) = entries.next().filter(|_| entries.len() == 0)?;
                (key.clone(), value.clone())
            }
        };
        // An indented or repeated key is a mistake in the whole document.
        if !is_key(&key) || !entry.starts_with(&key) || entries.insert(key, value).is_some() {
            return None;
        }
    }
    Some(entries)
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

/// A key of cloud-init: no quote, mark or directive.
fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "#cloud-config\nhostname: a\nbootcmd:\n- - sh\n  - -c\nwrite_files:\n- path: /a\n  content: |\n    - b\n\n    c\n- path: /d\n\
        users:\n  - default\nruncmd: [a,\n  b]\n";

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
        ];
        let mut whole = 0;
        for line in 1..=lines.len() {
            for more in odd {
                let text = [&lines[..line], &[more], &lines[line..]].concat().join("\n") + "\n";
                let Some(value) = by_parts(&text, &Memo::default()) else {
                    continue;
                };
                assert_eq!(
                    Ok(Value::Object(value)),
                    firelay_yaml::parse("document", &text).map_err(|why| why.to_string()),
                    "{text}"
                );
                whole += 1;
            }
        }
        assert!(whole > 40, "{whole}");
    }
}
