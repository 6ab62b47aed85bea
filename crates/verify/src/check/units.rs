//! Programs, files and other units that units name, and the start of the chain.

use super::{
    Known,
    unit_facts::{FACTS, holds},
};
use crate::{
    Finding, Format, Machine, What,
    provided::{PROVIDED, has_step},
    unit::{Assignment, assignments, words},
};

/// The directory for units.
pub(super) const UNITS: &str = "/etc/systemd/system/";

/// Every unit, every drop-in, and every program among the files.
pub(super) fn check(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let units = machine.root.files().filter(|(path, ..)| path.starts_with(UNITS));
    for (path, entry, bytes) in units {
        let document = machine
            .layer(entry)
            .map_or(machine.document.as_str(), |layer| &layer.document);
        let at = Unit {
            machine,
            path,
            document,
        };
        let text = String::from_utf8_lossy(bytes);
        findings.extend(
            assignments(&text)
                .iter()
                .flat_map(|assignment| at.assignment(assignment)),
        );
    }
    findings.extend(machine.enabled.iter().filter_map(|unit| enabled(machine, unit)));
    findings.extend(beginning(machine));
    findings.extend(programs(machine));
    findings
}

/// A unit or drop-in.
struct Unit<'a> {
    machine: &'a Machine,
    path: &'a str,
    document: &'a str,
}

impl Unit<'_> {
    fn finding(&self, code: &'static str, message: String) -> Finding {
        Finding::error(code, self.document, message).at(self.path)
    }

    fn assignment(&self, assignment: &Assignment<'_>) -> Vec<Finding> {
        let Assignment { section, key, value } = assignment;
        match (*section, *key) {
            (_, key) if key.starts_with("Exec") => self.command(key, value),
            (_, "EnvironmentFile") => self.file(key, value).into_iter().collect(),
            ("Unit", key)
                if key.starts_with("ConditionPath")
                    || key.starts_with("ConditionFile")
                    || key.starts_with("AssertPath") =>
            {
                self.condition(key, value).into_iter().collect()
            }
            (
                "Unit",
                "Requires" | "Requisite" | "BindsTo" | "OnSuccess" | "OnFailure" | "After" | "Before" | "Wants"
                | "PartOf" | "Upholds",
            )
            | ("Timer" | "Path" | "Socket", "Unit" | "Service")
            | ("Install", "WantedBy" | "RequiredBy") => self.units(key, value),
            _ => Vec::new(),
        }
    }

    /// The program of a command, and the files among its arguments.
    fn command(&self, key: &str, value: &str) -> Vec<Finding> {
        let words = words(value.trim_start_matches(['@', '-', ':', '+', '!', '|']));
        let Some((program, arguments)) = words.split_first() else {
            return Vec::new();
        };
        let mut findings = Vec::new();
        findings.extend(self.relative(key, program));
        if program.starts_with('/') && !PROVIDED.has(self.machine, program) {
            let message = format!("{key} starts {program}, which nothing puts there");
            let help = "write the program, let the step artifacts fetch it, or name the one that the image has";
            findings.push(self.finding("FL1016", message).help(help));
        }
        if let Some(message) = not_executable(self.machine, program) {
            findings.push(self.finding("FL1017", format!("{key} starts {program}, {message}")));
        }
        let paths = arguments
            .iter()
            .map(|argument| argument.split_once('=').map_or(argument.as_str(), |(_, value)| value));
        let missing = paths.filter(|path| is_path(path) && !PROVIDED.has(self.machine, path));
        findings.extend(
            missing.map(|path| self.finding("FL1018", format!("{key} names {path}, which nothing puts there"))),
        );
        findings
    }

    /// systemd accepts a name, which it searches by itself, or an absolute path (systemd.service(5), "Command lines").
    fn relative(&self, key: &str, program: &str) -> Option<Finding> {
        let starts = |sign: char| program.starts_with(sign);
        if program.is_empty() || starts('/') || starts('%') || starts('$') {
            return None;
        }
        if program.contains('/') {
            let message = format!("{key} starts {program}, which is neither a name nor a whole path");
            return Some(self.finding("FL1016", message).help("write the whole path"));
        }
        // firelay's units use absolute paths; a patch may rely on the image.
        PROVIDED.is_own(self.path).then(|| {
            let message = format!("{key} starts {program}, which only the image could have");
            Finding::warning("FL1016", self.document, message)
                .at(self.path)
                .help("write the whole path")
        })
    }

    /// A file without a hyphen is required.
    fn file(&self, key: &str, value: &str) -> Option<Finding> {
        (is_path(value) && !PROVIDED.has(self.machine, value)).then(|| {
            let message = format!("{key}={value}: nothing puts the file there, and the unit fails without it");
            self.finding("FL1018", message)
                .help("write the file, or a hyphen before the path")
        })
    }

    /// A condition that is never true prevents the unit from starting, without a message.
    fn condition(&self, key: &str, value: &str) -> Option<Finding> {
        let path = value.trim_start_matches('|');
        (is_path(path) && !PROVIDED.has(self.machine, path)).then(|| {
            self.finding(
                "FL1018",
                format!("{key}={value}: nothing ever puts it there, so the unit never starts"),
            )
        })
    }

    /// The image may have the unit: this is never more than a warning.
    fn units(&self, key: &str, value: &str) -> Vec<Finding> {
        let missing = words(value).into_iter().filter(|name| !has_unit(self.machine, name));
        missing
            .map(|name| {
                let message = format!("{key} names {name}, which neither the documents nor systemd nor the image have");
                Finding::warning("FL1019", self.document, message).at(self.path)
            })
            .collect()
    }
}

/// A plain path, without specifiers and variables.
fn is_path(text: &str) -> bool {
    text.starts_with('/') && !text.contains(['%', '$', '*', '?', '['])
}

pub(super) fn has_unit(machine: &Machine, name: &str) -> bool {
    let other = [".mount", ".device", ".slice", ".scope", ".swap"];
    let template = name.split_once('@').map(|(start, rest)| {
        let ending = rest.rsplit_once('.').map_or("service", |(_, ending)| ending);
        format!("{UNITS}{start}@.{ending}")
    });
    name.contains('%')
        || other.iter().any(|ending| name.ends_with(ending))
        || PROVIDED.has_unit(name)
        || machine.root.has(&format!("{UNITS}{name}"))
        || template.is_some_and(|path| machine.root.has(&path))
}

/// An enabled unit has to exist, not be masked, and have an `[Install]` section.
fn enabled(machine: &Machine, unit: &str) -> Option<Finding> {
    let path = format!("{UNITS}{unit}");
    let document = machine.document_of(&path);
    let wrong = match machine.text(&path) {
        _ if machine.masked.contains(unit) => "it is enabled and masked".to_owned(),
        Some(text) if !text.lines().any(|line| line.trim() == "[Install]") => {
            "it is enabled and has no [Install] section, so nothing ever starts it".to_owned()
        }
        None if !has_unit(machine, unit) => "it is enabled, and there is no such unit".to_owned(),
        _ => return None,
    };
    Some(Finding::error("FL1020", document, wrong).at(path))
}

/// The unit that begins the chain is enabled and started, and nothing is masked that a step starts.
fn beginning(machine: &Machine) -> Vec<Finding> {
    // Another check reports documents that cannot be read.
    if machine.layers.is_empty() || !machine.faults.is_empty() {
        return Vec::new();
    }
    let begin = FACTS.begin.iter();
    let begin = begin.filter(|begin| begin.with.as_ref().is_none_or(|file| machine.root.has(file)));
    let units: Vec<_> = begin.map(|begin| begin.unit.as_str()).collect();
    let steps = FACTS.steps.iter().filter(|started| {
        has_step(machine, &started.step) && holds(machine, started.with.as_ref(), started.unless.as_ref())
    });
    let steps = steps.filter(|started| machine.masked.contains(&started.unit));
    let masked = steps.map(|started| (started.unit.as_str(), "a step starts it, and the document masks it"));
    let idle = units.iter().enumerate().filter_map(|(number, unit)| {
        let is_masked = machine.masked.contains(*unit);
        let is_enabled = machine.enabled.contains(*unit);
        let is_started = number > 0 || machine.format == Format::Ignition || starts(machine, unit);
        match (is_masked, is_enabled, is_started) {
            (true, false, _) => Some((*unit, "it begins the chain, and the document masks it")),
            (false, false, _) => Some((*unit, "it begins the chain, and nothing enables it")),
            (_, _, false) => Some((*unit, "it begins the chain, and no command of the first boot starts it")),
            _ => None,
        }
    });
    let finding = |(unit, message): (&str, &str)| {
        Finding::error("FL1020", &machine.document, message)
            .at(format!("{UNITS}{unit}"))
            .help("render the document again: without it the machine boots and does nothing more")
    };
    masked.chain(idle).map(finding).collect()
}

/// `systemctl start` or `systemctl enable --now`.
fn starts(machine: &Machine, unit: &str) -> bool {
    machine.commands.iter().any(|words| {
        let has = |word: &str| words.iter().any(|own| own == word);
        has("systemctl") && has(unit) && (has("start") || has("restart") || (has("enable") && has("--now")))
    })
}

/// Files that begin with `#!` must be executable.
fn programs(machine: &Machine) -> Vec<Finding> {
    let scripts = machine.root.files().filter_map(|(path, entry, bytes)| {
        let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let interpreter = String::from_utf8_lossy(line).split_whitespace().next()?.to_owned();
        Some((path, entry, interpreter))
    });
    let mut findings = Vec::new();
    for (path, entry, interpreter) in scripts.filter(|(path, ..)| !PROVIDED.is_foreign(path)) {
        let finding = |code, message: String| machine.error(code, path, message);
        if !PROVIDED.has(machine, &interpreter) {
            findings.push(finding(
                "FL1016",
                format!("its interpreter {interpreter} is put there by nothing"),
            ));
        }
        // The argument of an interpreter needs no such bit; its name ends in `.sh`.
        if entry.mode & 0o111 == 0 && !path.ends_with(".sh") {
            findings.push(finding(
                "FL1017",
                format!("a program of mode {:04o}, which nobody may run", entry.mode),
            ));
        }
    }
    findings
}

fn not_executable(machine: &Machine, program: &str) -> Option<String> {
    let entry = machine.root.find(program)?;
    match &entry.what {
        What::File(_) if entry.mode & 0o111 == 0 => {
            Some(format!("which has mode {:04o} and cannot be run", entry.mode))
        }
        What::File(bytes) if !bytes.starts_with(b"#!") && !bytes.starts_with(b"\x7fELF") => {
            Some("which is neither a script nor a program".to_owned())
        }
        What::Directory => Some("which is a directory".to_owned()),
        _ => None,
    }
}
