//! The changes since the last render, and the order in which the machines take them.

use serde::Serialize;

use super::{
    super::plan::{Report, file, machine, verb},
    names::Names,
};
use crate::changes::{Action, Counts, FileChange, MachineChange, Member, Step, alike};

/// Groups and steps that are shown; `plan` shows all.
const SHOWN: usize = 40;
/// Files of a machine that are shown.
const FILES: usize = 12;

#[derive(Clone, Serialize)]
pub(super) struct Changes {
    head: String,
    summary: String,
    #[serde(skip)]
    brief: String,
    machines: Vec<Machines>,
    steps: Vec<Turn>,
    hidden_machines: usize,
    hidden_steps: usize,
}

/// Machines with the same change.
#[derive(Clone, Serialize)]
struct Machines {
    names: Names,
    title: String,
    class: &'static str,
    reason: Option<String>,
    files: String,
    more: usize,
}

/// A step of the order.
#[derive(Clone, Serialize)]
struct Turn {
    names: Names,
    class: &'static str,
    verb: &'static str,
    of: &'static str,
}

impl Changes {
    pub(super) fn of(report: &Report<'_>, changes: &[MachineChange], counts: Counts) -> Self {
        let groups = alike(changes);
        let steps = report.steps();
        Self {
            head: report.head(),
            summary: report.summary(),
            brief: brief(counts),
            machines: groups.iter().take(SHOWN).map(Machines::of).collect(),
            steps: steps.iter().take(SHOWN).map(Turn::of).collect(),
            hidden_machines: groups.len().saturating_sub(SHOWN),
            hidden_steps: steps.len().saturating_sub(SHOWN),
        }
    }

    /// `2 to add, 1 to remove`.
    pub(super) fn brief(&self) -> &str {
        &self.brief
    }
}

fn brief(counts: Counts) -> String {
    let parts = [
        (counts.add, "to add"),
        (counts.in_place, "to update"),
        (counts.replace, "to replace"),
        (counts.unknown, "not known"),
        (counts.remove, "to remove"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let texts: Vec<_> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    if texts.is_empty() {
        "nothing to do".to_owned()
    } else {
        texts.join(", ")
    }
}

impl Machines {
    fn of((change, names): &(&MachineChange, Vec<&str>)) -> Self {
        let names = Names::of(names.iter().copied());
        let title = machine(change, &[&names.text]);
        let lines: Vec<_> = change.files.iter().take(FILES).flat_map(lines).collect();
        Self {
            title: title.trim().to_owned(),
            class: class(change.action),
            reason: change.reason.clone(),
            files: lines.join("\n"),
            more: change.files.len().saturating_sub(FILES),
            names,
        }
    }
}

/// The lines of a file, indented as below a heading.
fn lines(change: &FileChange) -> Vec<String> {
    let lines = file(change).into_iter();
    lines
        .map(|line| line.strip_prefix("        ").map_or(line.clone(), str::to_owned))
        .collect()
}

impl Turn {
    fn of(step: &Step) -> Self {
        let (verb, of) = match step.of {
            Member::Manifests => ("apply", "manifests on"),
            of => (verb(step.action), of.name()),
        };
        Self {
            names: Names::of(step.machines.iter().map(String::as_str)),
            class: class(step.action),
            verb,
            of,
        }
    }
}

fn class(action: Action) -> &'static str {
    match action {
        Action::Add => "add",
        Action::Remove => "remove",
        Action::Adopted => "none",
        Action::Replace => "replace",
        Action::InPlace | Action::Document | Action::Unknown | Action::None => "update",
    }
}
