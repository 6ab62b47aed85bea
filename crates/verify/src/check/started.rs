//! Programs of the chain's units: each unit starts its own, with the settings without which the chain does not go on.

use super::{
    Known,
    unit_facts::{FACTS, Program},
    units::UNITS,
};
use crate::{
    Finding, Level, Machine,
    unit::{Assignment, assignments, words},
};

/// Each unit of the chain that has a file in the documents.
pub(super) fn check(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    FACTS.programs.iter().flat_map(|program| of(machine, program)).collect()
}

fn path_of(unit: &str) -> String {
    format!("{UNITS}{unit}")
}

fn of(machine: &Machine, program: &Program) -> Vec<Finding> {
    let path = path_of(&program.unit);
    let texts = texts(machine, &path);
    if texts.is_empty() {
        return Vec::new();
    }
    let settings: Vec<_> = texts.iter().flat_map(|text| assignments(text)).collect();
    let finding = |code, level, message: String| machine.error(code, &path, message).level(level);
    // A patch may start the program by another, or settle something in its own way.
    let level = Level::error_if(program.fixed);
    let Some(command) = command(&settings) else {
        // The image's own unit may have it.
        if !machine.root.has(&path) {
            return Vec::new();
        }
        let message = format!("{} starts nothing: it has no ExecStart", program.unit);
        return vec![finding("FL1020", Level::Error, message)];
    };
    let mut findings = Vec::new();
    let is_program = |word: &String| word.rsplit('/').next() == Some(program.starts.as_str());
    if !command.iter().any(is_program) {
        let message = format!("{} does not start {}", program.unit, program.starts);
        findings.push(finding("FL1027", level, message));
    }
    let arguments = program.arguments.iter().filter(|argument| !command.contains(argument));
    findings.extend(arguments.map(|argument| {
        let message = format!("{} starts {} without {argument}", program.unit, program.starts);
        finding("FL1027", level, message)
    }));
    let has_unit = machine.root.has(&path);
    let lacking = program
        .settings
        .iter()
        .filter(|wanted| has_unit && !settings.iter().any(|has| is(has, wanted)));
    findings.extend(lacking.map(|wanted| {
        let message = format!("{} lacks {wanted}", program.unit);
        finding("FL1027", level, message)
    }));
    findings
}

/// The unit, and its drop-ins in the order of their names.
fn texts<'a>(machine: &'a Machine, path: &str) -> Vec<&'a str> {
    let directory = format!("{path}.d");
    let dropins = machine.root.below(&directory).map(|(path, _)| path);
    let dropins = dropins.filter(|path| path.ends_with(".conf"));
    let unit = machine.text(path).into_iter();
    unit.chain(dropins.filter_map(|path| machine.text(path))).collect()
}

/// The arguments of the command that is started: an empty assignment removes earlier ones.
fn command(settings: &[Assignment<'_>]) -> Option<Vec<String>> {
    let mut commands = settings
        .iter()
        .filter(|setting| (setting.section, setting.key) == ("Service", "ExecStart"));
    let last = commands.next_back().filter(|last| !last.value.is_empty())?;
    Some(words(last.value.trim_start_matches(['@', '-', ':', '+', '!', '|'])))
}

/// Whether an assignment has this value; a hyphen marks an optional file.
fn is(setting: &Assignment<'_>, wanted: &str) -> bool {
    let Some((key, value)) = wanted.split_once('=') else {
        return false;
    };
    setting.key == key && setting.value.trim_start_matches('-') == value
}
