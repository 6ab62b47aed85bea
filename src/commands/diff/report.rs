//! The differences for people and as JSON.

use firelay_base::table::{bold, green, red, yellow};
use serde::Serialize;

use super::super::{
    failure::Failure,
    plan,
    streams::{self, counted},
};
use crate::{
    changes::{self, Action, FieldChange, FileChange, MachineChange},
    cli::OutputFormat,
    record::listed,
};

pub(super) struct Report {
    /// Fields of the specs.
    pub(super) fields: Vec<FieldChange>,
    /// Every machine, also those without a difference.
    pub(super) machines: Vec<MachineChange>,
    /// Files of the trees that belong to no document.
    pub(super) files: Vec<File>,
}

/// A file of a tree that differs.
#[derive(Serialize)]
pub(super) struct File {
    pub(super) path: String,
    /// `added`, `removed` or `changed`.
    pub(super) kind: &'static str,
}

/// The differences for programs.
#[derive(Serialize)]
struct Differences<'a> {
    spec: &'a [FieldChange],
    machines: Vec<MachineDifference<'a>>,
    files: &'a [File],
}

#[derive(Serialize)]
struct MachineDifference<'a> {
    name: &'a str,
    pool: bool,
    kind: &'static str,
    files: &'a [FileChange],
}

impl Report {
    /// There is no difference.
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.differing().next().is_none() && self.files.is_empty()
    }

    pub(super) fn print(&self, output: OutputFormat) -> Result<(), Failure> {
        streams::report(output, &self.for_programs(), || self.text())
    }

    fn differing(&self) -> impl Iterator<Item = &MachineChange> {
        self.machines.iter().filter(|change| change.action != Action::None)
    }

    fn for_programs(&self) -> Differences<'_> {
        let machine = |change| MachineDifference::of(change);
        Differences {
            spec: &self.fields,
            machines: self.differing().map(machine).collect(),
            files: &self.files,
        }
    }

    fn text(&self) -> String {
        if self.is_empty() {
            return "No differences.\n".to_owned();
        }
        let mut lines = Vec::new();
        section(&mut lines, "Spec", self.fields.iter().map(field).collect());
        let alike = changes::alike(&self.machines).into_iter();
        section(
            &mut lines,
            "Machines",
            alike.flat_map(|(change, names)| machine(change, &names)).collect(),
        );
        let file = |file: &File| signed(file.kind, &file.path);
        section(
            &mut lines,
            "Other files of the tree",
            self.files.iter().map(file).collect(),
        );
        lines.push(format!(
            "{} of {} {}.",
            self.differing().count(),
            counted(self.machines.len(), "machine"),
            if self.differing().count() == 1 {
                "differs"
            } else {
                "differ"
            }
        ));
        lines.join("\n") + "\n"
    }
}

impl<'a> MachineDifference<'a> {
    fn of(change: &'a MachineChange) -> Self {
        Self {
            name: &change.name,
            pool: change.pool,
            kind: kind(change.action),
            files: &change.files,
        }
    }
}

fn field(change: &FieldChange) -> String {
    format!("  {}", plan::field(change).trim_start())
}

/// A title with lines, and a blank line behind; nothing without lines.
fn section(lines: &mut Vec<String>, title: &str, own: Vec<String>) {
    if !own.is_empty() {
        lines.push(bold(&format!("{title}:")));
        lines.extend(own);
        lines.push(String::new());
    }
}

/// Machines with the same differences.
fn machine(change: &MachineChange, names: &[&str]) -> Vec<String> {
    let head = signed(kind(change.action), &listed(names));
    let reason = change.reason.iter().map(|reason| format!("        {reason}"));
    let files = change.files.iter().flat_map(plan::file);
    std::iter::once(head).chain(reason).chain(files).collect()
}

fn kind(action: Action) -> &'static str {
    match action {
        Action::Add => "added",
        Action::Remove => "removed",
        _ => "changed",
    }
}

/// A line with the sign of a kind, in its colour.
fn signed(kind: &str, text: &str) -> String {
    match kind {
        "added" => green(&format!("  + {text}")),
        "removed" => red(&format!("  - {text}")),
        _ => yellow(&format!("  ~ {text}")),
    }
}
