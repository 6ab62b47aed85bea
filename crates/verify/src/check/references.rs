//! Paths in scripts. The check reads the script's text, not its effects: a path that a script only tests, removes or
//! writes need not exist.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use regex_lite::Regex;

use super::{Known, scripts::is_shell};
use crate::{Bytes, Finding, Machine, provided::PROVIDED};

/// A variable that is a path wherever it is used.
static CONSTANT: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"(?m)^\s*(?:readonly |local |export )?([A-Za-z_]+)=["']?(/[A-Za-z0-9_./-]+)["']?$"#));

/// A path in a script, with the text before it on its line, and whether its end is a variable.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"(?:^|[\s=(<>])["']?(/[A-Za-z0-9_@+.-]+(?:/[A-Za-z0-9_@+.-]*)*)([*$?{\[]?)"#));

/// A path that is given a name, and is a reference only where that is used.
static NAMED: LazyLock<Regex> = LazyLock::new(|| expression(r#"(?:^|\s)[A-Za-z_][A-Za-z0-9_]*=["']?$"#));

/// Aliases before a path that does not have to be there.
static OPTIONAL: LazyLock<Regex> = LazyLock::new(|| {
    expression(r#"(?:(?:^|\s)-[a-zA-Z] "?|>\|?\s*"?|\brm (?:[^;&|]*\s)?"?|\b(?:mkdir|rmdir|mktemp)\b[^;&|]*|^\s*#.*)$"#)
});

/// A directory that a script makes.
static MADE: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"(?m)^[^#\n]*\bmkdir (?:-[a-z]+ )*"?(/[A-Za-z0-9_@+./-]+)"?(?:[\s;&|]|$)"#));

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("an expression that is built in")
}

/// Files to which scripts refer; each script is read once.
#[derive(Debug, Default)]
pub(crate) struct Read(Mutex<HashMap<Script, Arc<Vec<Reference>>>>);

/// A script, and the library that it reads first.
type Script = (Bytes, Option<Bytes>);

/// A path that a script needs.
#[derive(Debug, PartialEq, Eq)]
struct Reference {
    path: String,
    /// It continues with a variable or a pattern.
    open: bool,
    line: usize,
}

/// Every script that is not the user's own.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let scripts = machine
        .root
        .files()
        .filter(|(path, _, bytes)| is_shell(path, bytes) && !PROVIDED.is_foreign(path));
    for (path, _, bytes) in scripts {
        for reference in known.read.of(bytes, library(machine)).iter() {
            if !is_there(machine, reference) {
                let message = format!(
                    "line {} refers to {}, which nothing puts there",
                    reference.line, reference.path
                );
                let finding = machine.error("FL1022", path, message);
                findings.push(finding.help("write the file, or let a step make it"));
            }
        }
    }
    findings
}

fn is_there(machine: &Machine, reference: &Reference) -> bool {
    if reference.open {
        PROVIDED.has_some(machine, &reference.path)
    } else {
        PROVIDED.has(machine, reference.path.trim_end_matches("/."))
    }
}

/// The files that every step reads first.
fn library(machine: &Machine) -> Option<&Bytes> {
    machine
        .root
        .files()
        .find(|(path, ..)| path.ends_with("/lib.sh"))
        .map(|(_, _, bytes)| bytes)
}

impl Read {
    fn of(&self, script: &Bytes, library: Option<&Bytes>) -> Arc<Vec<Reference>> {
        let key = (script.clone(), library.cloned());
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let text = |bytes: Option<&Bytes>| {
            bytes
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
                .unwrap_or_default()
        };
        let found = Arc::new(references(&text(Some(script)), &text(library)));
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, found.clone());
        found
    }
}

/// The paths that a script needs, each once. What is in a directory that it makes need not be there.
fn references(script: &str, library: &str) -> Vec<Reference> {
    let script = with_constants(script, &format!("{library}\n{script}"));
    let made: Vec<_> = { MADE.captures_iter(&script) }
        .map(|captures| captures[1].trim_end_matches('/').to_owned() + "/")
        .collect();
    let mut asked: BTreeSet<String> = BTreeSet::new();
    let mut found: Vec<Reference> = Vec::new();
    for (number, line) in script.lines().enumerate() {
        let mut at = 0;
        while let Some(captures) = line.get(at..).and_then(|rest| PATH.captures(rest)) {
            let (Some(path), Some(open)) = (captures.get(1), captures.get(2)) else {
                break;
            };
            let before = &line[..at + path.start()];
            at += path.end();
            if NAMED.is_match(before) {
                continue;
            }
            // A path that is tested anywhere may be missing everywhere.
            if OPTIONAL.is_match(before) {
                asked.insert(path.as_str().to_owned());
            } else if !found.iter().any(|reference| reference.path == path.as_str()) {
                found.push(Reference {
                    path: path.as_str().to_owned(),
                    open: !open.as_str().is_empty(),
                    line: number + 1,
                });
            }
        }
    }
    let is_made = |path: &str| made.iter().any(|directory| path.starts_with(directory));
    found.retain(|reference| !asked.contains(&reference.path) && !is_made(&reference.path));
    found
}

/// The text with its variables for paths put in. Longer names first: one may begin as another does.
fn with_constants(script: &str, assignments: &str) -> String {
    let mut constants: Vec<_> = CONSTANT
        .captures_iter(assignments)
        .map(|captures| (captures[1].to_owned(), captures[2].to_owned()))
        .collect();
    constants.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let mut text = script.to_owned();
    for (name, path) in constants {
        text = text
            .replace(&format!("${{{name}}}"), &path)
            .replace(&format!("${name}/"), &format!("{path}/"))
            .replace(&format!("${name}."), &format!("{path}."))
            .replace(&format!("mkdir -p \"${name}\""), &format!("mkdir -p \"{path}\""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(script: &str) -> Vec<String> {
        references(script, "STATE=/var/lib/x\n")
            .into_iter()
            .map(|reference| reference.path)
            .collect()
    }

    #[test]
    fn paths_are_words() {
        assert_eq!(
            found(". /etc/a.env\ncat \"/etc/b\" </proc/c\n"),
            ["/etc/a.env", "/etc/b", "/proc/c"]
        );
        assert_eq!(
            found("A=/etc/a\ncat $A/b ${A}/c $STATE/d\n"),
            ["/etc/a/b", "/etc/a/c", "/var/lib/x/d"]
        );
        assert!(found("cat \"$B\"/c \"$B\"/d/*\n").is_empty());
        assert!(found("curl https://a/b $url/readyz unix:///run/a\n").is_empty());
    }

    #[test]
    fn what_is_asked_about_removed_or_written_may_be_missing() {
        let script =
            "[ ! -e /etc/a ] || cat /etc/a\nrm -rf /etc/b /etc/c\necho >/etc/d\nmkdir -p /etc/e\n# see /etc/f\n";
        assert!(found(script).is_empty(), "{:?}", found(script));
    }

    #[test]
    fn a_script_may_fill_a_directory_that_it_makes() {
        let script = "TO=/srv/snapshots\nrun mkdir -p \"$TO\"\nls \"$TO/new\" /srv/snapshots/a/*\n";
        assert!(found(script).is_empty(), "{:?}", found(script));
        assert_eq!(found("# mkdir -p /srv/a\ncat /srv/a/b\n"), ["/srv/a/b"]);
        assert_eq!(found("mkdir -p /srv/a\ncat /srv/ab\n"), ["/srv/ab"]);
    }
}
