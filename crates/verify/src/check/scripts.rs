//! Shell scripts, as bash reads them.

use std::{
    collections::HashMap,
    io::{self, Write},
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::Known;
use crate::{Bytes, Finding, Machine, provided::PROVIDED};

/// bash, which reads each script once, on however many machines it is.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    said: Mutex<HashMap<Bytes, Option<String>>>,
    missing: AtomicBool,
}

impl Shell {
    /// The reason for which bash refuses a script.
    fn read(&self, script: &Bytes) -> Option<String> {
        if is_plain(script) {
            return None;
        }
        if let Some(said) = self.said.lock().unwrap_or_else(PoisonError::into_inner).get(script) {
            return said.clone();
        }
        let said = bash(script).unwrap_or_else(|_| {
            self.missing.store(true, Ordering::Relaxed);
            None
        });
        let mut known = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(script.clone(), said.clone());
        said
    }

    /// A note if bash could not be run.
    pub(crate) fn note(&self) -> Option<Finding> {
        self.missing.load(Ordering::Relaxed).then(|| {
            let message = "bash cannot be run here, so no script was read by it";
            Finding::note("FL1008", crate::MANIFEST, message).help("install bash")
        })
    }
}

/// It has only comments and plain assignments, which bash never refuses. Each machine has such a file, with its own values.
fn is_plain(script: &[u8]) -> bool {
    script
        .split(|byte| *byte == b'\n')
        .all(|line| line.is_empty() || line[0] == b'#' || is_assignment(line))
}

/// `NAME=WORD` or `NAME='TEXT'`.
fn is_assignment(line: &[u8]) -> bool {
    let Some(equals) = line.iter().position(|byte| *byte == b'=') else {
        return false;
    };
    let (name, value) = (&line[..equals], &line[equals + 1..]);
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./:@%+,=-".contains(byte);
    let quoted = value.strip_prefix(b"'").and_then(|rest| rest.strip_suffix(b"'"));
    let fits = match quoted {
        Some(text) => !text.contains(&b'\''),
        None => value.iter().all(is_word),
    };
    fits && name.iter().all(is_name) && name.first().is_some_and(|first| !first.is_ascii_digit())
}

/// A word in scripts that enable further patterns at run time; bash -n does not do that.
const PATTERNS: &str = "extglob";

/// The reason for which bash refuses a script with every setting of its patterns.
fn bash(script: &[u8]) -> io::Result<Option<String>> {
    let said = refusal(&["-n"], script)?;
    let mut words = script.windows(PATTERNS.len());
    if said.is_some() && words.any(|word| word == PATTERNS.as_bytes()) {
        let other = refusal(&["-O", PATTERNS, "-n"], script)?;
        return Ok(other.and(said));
    }
    Ok(said)
}

/// bash parses a script without running it. Its messages may quote a line, so only the position is reported.
fn refusal(arguments: &[&str], script: &[u8]) -> io::Result<Option<String>> {
    let mut child = Command::new("bash")
        .args(arguments)
        .env("LC_ALL", "C")
        .env_remove("BASH_ENV")
        .env_remove("SHELLOPTS")
        .env_remove("BASHOPTS")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // bash stops reading where it finds a mistake.
        let _ = input.write_all(script);
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said
        .lines()
        .find_map(|line| line.split_once(": line ")?.1.split_once(':'));
    Ok(Some(match line {
        Some((number, words)) => format!(
            "line {number}: {}",
            words.split(['`', '\'']).next().unwrap_or_default().trim()
        ),
        None => "bash ends with an error".to_owned(),
    }))
}

/// Every shell script among the files, and every line for a shell among the commands.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let scripts = machine
        .root
        .files()
        .filter(|(path, _, bytes)| is_shell(path, bytes) || PROVIDED.sourced.iter().any(|own| own == path));
    let mut findings: Vec<_> = scripts
        .filter_map(|(path, _, bytes)| {
            let said = known.shell.read(bytes)?;
            let message = format!("bash cannot read the script: {said}");
            Some(machine.error("FL1021", path, message))
        })
        .collect();
    for (number, command) in machine.commands.iter().enumerate() {
        let [shell, option, line, ..] = command.as_slice() else {
            continue;
        };
        if matches!(shell.as_str(), "sh" | "bash" | "/bin/sh" | "/bin/bash") && option == "-c" {
            let line = known.tree.pool().share(line.as_bytes());
            findings.extend(known.shell.read(&line).map(|said| {
                let message = format!("bash cannot read command {} of the first boot: {said}", number + 1);
                Finding::error("FL1021", &machine.document, message)
            }));
        }
    }
    findings
}

/// Its first line names a shell, or another program passes it to a shell.
pub(super) fn is_shell(path: &str, bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let by_line = match line.strip_prefix("#!") {
        Some(program) => program
            .split_whitespace()
            .any(|word| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "dash"))),
        None => line.contains("shellcheck shell=") || PROVIDED.shell.iter().any(|start| path.starts_with(start)),
    };
    by_line || (path.ends_with(".sh") && !line.starts_with("#!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_takes_every_plain_file() {
        let plain = ["", "# it's\nA=\nB_1=x:/y.z,%+@=-\nC='a b $(c) \"'\n", "A=''"];
        for text in plain {
            assert!(is_plain(text.as_bytes()), "{text}");
            assert_eq!(bash(text.as_bytes()).ok(), Some(None), "{text}");
        }
    }

    #[test]
    fn bash_judges_all_other_files() {
        let others = [
            "A='",
            "A='b\nC=d'",
            "A='b'c'",
            "A=$(",
            "A=\"",
            "1A=b",
            "=b",
            "A=b c",
            "fi",
            "A=b\r\n",
            " A=b",
        ];
        for text in others {
            assert!(!is_plain(text.as_bytes()), "{text}");
        }
    }
}
