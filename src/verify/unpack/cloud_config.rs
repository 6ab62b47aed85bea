//! What cloud-init makes of a `#cloud-config` (modules `bootcmd`, `write_files`, `users_groups`, `mounts`, `runcmd`).

use serde::Deserialize;
use serde_json::Value;

use super::{Building, Laid, encoding};
use crate::verify::What;

/// Keys that lay something, as cloud-init reads them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CloudConfig {
    bootcmd: Vec<Value>,
    write_files: Vec<WriteFile>,
    users: Vec<Value>,
    mounts: Vec<Vec<Value>>,
    runcmd: Vec<Value>,
}

/// One of `write_files` (cc_write_files).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WriteFile {
    path: String,
    content: String,
    encoding: Option<String>,
    owner: Option<String>,
    permissions: Option<Value>,
    append: bool,
}

/// What a file has that says nothing of it (cc_write_files, DEFAULT_PERMS and DEFAULT_OWNER).
const MODE: u32 = 0o644;
const OWNER: &str = "root:root";

/// Lays what a document says.
pub(super) fn lay(building: &mut Building<'_>, document: &str, config: &Value) {
    let read: CloudConfig = match serde_json::from_value(config.clone()) {
        Ok(read) => read,
        // serde's words repeat the value, which may be secret; the check against the schema says which it is.
        Err(_) => return building.fault("FL1003", document, "", "a value of another kind than cloud-init takes"),
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

fn write(building: &mut Building<'_>, document: &str, place: &str, file: &WriteFile) {
    let bytes = match decoded(file) {
        Ok(bytes) => bytes,
        Err(why) => return building.fault("FL1003", document, place, &why),
    };
    let Some(mode) = permissions(file.permissions.as_ref()) else {
        return building.fault("FL1003", document, place, "permissions that are no octal number");
    };
    building.lay(Laid {
        path: &file.path,
        what: What::File(building.pool.share(&bytes)),
        mode,
        owner: file.owner.as_deref().unwrap_or(OWNER),
        place,
        append: file.append,
    });
}

/// `encoding` (cc_write_files.canonicalize_extraction); an unknown one is taken as plain text there, too.
fn decoded(file: &WriteFile) -> Result<Vec<u8>, String> {
    let bytes = file.content.as_bytes();
    let encoding = file.encoding.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
    match encoding.as_str() {
        "gz" | "gzip" => encoding::gunzip(bytes),
        "gz+base64" | "gzip+base64" | "gz+b64" | "gzip+b64" => encoding::gunzip(&encoding::base64(bytes)?),
        "b64" | "base64" => encoding::base64(bytes),
        "" | "text/plain" => Ok(bytes.to_vec()),
        other => Err(format!("encoding {other:?}, which cloud-init does not know")),
    }
}

/// A text is octal, a number is taken as it is (cc_write_files.decode_perms).
fn permissions(said: Option<&Value>) -> Option<u32> {
    match said {
        None | Some(Value::Null) => Some(MODE),
        Some(Value::Number(number)) => number.as_u64()?.try_into().ok(),
        Some(Value::String(text)) => u32::from_str_radix(text.trim_start_matches("0o"), 8).ok(),
        Some(_) => None,
    }
}

/// A command: a list of words, or a line for the shell.
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
        ["ln", target, path] => building.lay(Laid {
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
pub(super) fn parse(document: &str, text: &str) -> Result<Value, String> {
    firelay_yaml::parse(document, text).map_err(|error| error.to_string())
}
