//! The entries of `.gitignore` that keep a cluster's secrets out of a repository.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    path::Path,
};

use crate::{
    commands::{bundle::is_sealed, failure::Failure, git, streams},
    secrets,
};

const FILE: &str = ".gitignore";
/// The rendered tree, whose name is the default of `--out`.
const TREE: &str = "/out/";

/// Adds the missing entries beside a spec.
pub(super) fn add(spec: &Path) -> Result<(), Failure> {
    let path = spec.parent().unwrap_or(Path::new("")).join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| Failure::file("read", &path, &error))?,
    };
    let more = missing(&text);
    if !more.is_empty() {
        append(&path, &more)?;
    }
    let tracked = tracked(spec);
    if !more.is_empty() && !tracked {
        streams::tell(format_args!(
            "{} keeps the secrets and the documents out of git",
            path.display()
        ));
    }
    Ok(())
}

/// Warns of what git has already; a sealed bundle may be there.
fn tracked(spec: &Path) -> bool {
    let bundle = spec.with_file_name(secrets::FILE);
    let tree = spec.with_file_name(TREE.trim_matches('/'));
    let bundle = !is_sealed(&bundle) && git::warn_of_tracked(&bundle);
    git::warn_of_tracked(&tree) || bundle
}

fn append(path: &Path, more: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(more.as_bytes()))
        .map_err(|error| Failure::file("write", path, &error))
}

/// The lines that a text still lacks.
fn missing(text: &str) -> String {
    let bundle = format!("/{}", secrets::FILE);
    let entries = [bundle.as_str(), TREE];
    let entries = entries
        .into_iter()
        .filter(|entry| text.lines().all(|line| line.trim() != *entry));
    let lines: String = entries.map(|entry| format!("{entry}\n")).collect();
    match text.is_empty() || text.ends_with('\n') || lines.is_empty() {
        true => lines,
        false => format!("\n{lines}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_added() {
        assert_eq!(missing(""), "/firelay.secrets.yaml\n/out/\n");
        assert_eq!(missing("*.log"), "\n/firelay.secrets.yaml\n/out/\n");
        assert_eq!(missing("/out/\n"), "/firelay.secrets.yaml\n");
        assert_eq!(missing("/firelay.secrets.yaml\n/out/"), "");
    }
}
