//! The plan for people, as JSON, and as SARIF.

use firelay_base::table::{bold, green, red, yellow};
use firelay_yaml::diagnostic::{self, Diagnostic, Source};
use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{
    super::{
        failure::Failure,
        project::{Project, print_findings},
        state::Update,
        streams::{self, counted},
    },
    route::{self, Upgrade},
};
use crate::{
    changes::{self, Action, Counts, FieldChange, FileChange, Handler, MachineChange, Member, Step},
    cli::Findings,
    record::listed,
    redact::redact_spec,
};

/// Steps that are listed for people.
const STEPS: usize = 30;
/// Files of a machine that are listed for people.
const FILES: usize = 12;

/// The plan for machines.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Report<'a> {
    cluster: &'a str,
    #[serde(with = "time::serde::rfc3339::option")]
    founded_at: Option<OffsetDateTime>,
    kubernetes: Versions,
    counts: Counts,
    machines: &'a [MachineChange],
    /// Files of manifests that a script applies.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    manifests: &'a [FileChange],
    steps: Vec<Step>,
    /// The updates of an upgrade over several minors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    upgrades: Vec<Upgrade>,
    findings: Value,
    /// Findings that flags of this run override.
    accepted: Value,
}

#[derive(Serialize)]
struct Versions {
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
    new: String,
}

/// Accepted findings are results that are suppressed: a code review shows neither an alarm nor that it was mended.
fn sarif(source: &Source, findings: &[Diagnostic], accepted: &[Diagnostic]) -> Value {
    let mut sarif = diagnostic::to_sarif(source, &[findings, accepted].concat());
    let results = sarif["runs"][0]["results"].as_array_mut();
    for result in results.into_iter().flatten().skip(findings.len()) {
        let code = result["ruleId"].as_str().unwrap_or_default();
        let justification = format!("--accept {code}");
        result["suppressions"] = json!([{ "kind": "external", "justification": justification }]);
    }
    sarif
}

/// Prints a plan that there is not, with the findings or the message of its failure, and returns the rest for stderr.
pub(super) fn print_failure(failure: Failure, output: Findings) -> Result<Failure, Failure> {
    let (source, findings, rest) = match failure {
        Failure::Found(found) => (found.source, found.findings, Failure::Refused(found.verdict)),
        failure => (Source::default(), of_text(&failure).into_iter().collect(), failure),
    };
    let text = rest.text().unwrap_or_default();
    match output {
        Findings::Text => {}
        Findings::Json => {
            streams::json(&json!({ "error": text, "findings": diagnostic::to_json(&source, &findings) }))?;
        }
        Findings::Sarif => {
            let mut sarif = diagnostic::to_sarif(&source, &findings);
            let notification = json!({ "level": "error", "message": { "text": text } });
            sarif["runs"][0]["invocations"] =
                json!([{ "executionSuccessful": false, "toolExecutionNotifications": [notification] }]);
            streams::json(&sarif)?;
        }
    }
    Ok(rest)
}

/// The finding of a message that has a code.
fn of_text(failure: &Failure) -> Option<Diagnostic> {
    let (message, help) = failure
        .text()?
        .split_once("\n  = help: ")
        .unwrap_or((failure.text()?, ""));
    let (message, code) = message.strip_suffix(')')?.rsplit_once(" (")?;
    let finding = Diagnostic::error(diagnostic::story(code)?.code, message);
    Some(finding.help(help.replace("\n  = help: ", "; ")))
}

impl<'a> Report<'a> {
    pub(in super::super) fn new(
        project: &'a Project,
        update: &Update<'_>,
        (changes, manifests): (&'a [MachineChange], &'a [FileChange]),
        counts: Counts,
    ) -> Self {
        let plan = &project.plan;
        // An order that leaves machines out would be wrong, and a refused change has none.
        let steps = match counts.unknown == 0 && !diagnostic::refuse(&update.findings) {
            true => changes::steps(changes, plan.max_unavailable, update.manifests_machine()),
            false => Vec::new(),
        };
        Self {
            cluster: &plan.name,
            founded_at: update.next.founded_at,
            kubernetes: Versions {
                old: update.base().map(|base| base.kubernetes.to_string()),
                new: plan.kubernetes.version.to_string(),
            },
            counts,
            machines: changes,
            manifests,
            steps,
            upgrades: Vec::new(),
            findings: diagnostic::to_json(&redact_spec(&project.spec), &update.findings),
            accepted: diagnostic::to_json(&redact_spec(&project.spec), &update.accepted),
        }
    }

    /// The report with the updates that lead over several minors, each of which has steps of its own.
    pub(super) fn by_way_of(self, upgrades: Vec<Upgrade>) -> Self {
        let steps = if upgrades.is_empty() { self.steps } else { Vec::new() };
        Self {
            steps,
            upgrades,
            ..self
        }
    }

    pub(super) fn print(&self, project: &Project, update: &Update<'_>, output: Findings) -> Result<(), Failure> {
        let source: &Source = &redact_spec(&project.spec);
        match output {
            Findings::Json => streams::json(self),
            Findings::Sarif => streams::json(&sarif(source, &update.findings, &update.accepted)),
            Findings::Text => {
                print_findings(source, &update.findings);
                streams::text(&self.text())
            }
        }
    }

    pub(in super::super) fn text(&self) -> String {
        let mut lines = vec![bold(&self.head())];
        for (change, names) in changes::alike(self.machines) {
            lines.push(String::new());
            lines.push(coloured(change.action, &machine(change, &names)));
            lines.extend(change.reason.iter().map(|reason| format!("        {reason}")));
            lines.extend(files(&change.files));
        }
        if self.counts.manifests {
            lines.push(format!(
                "\n{}",
                yellow("  ~ manifests of plugins and add-ons: to apply")
            ));
            lines.extend(files(self.manifests));
        }
        lines.extend(self.order());
        lines.extend(route::text(&self.upgrades));
        lines.push(String::new());
        lines.push(bold(&self.summary()));
        lines.join("\n") + "\n"
    }

    /// The steps of a cluster that stands; there is no order in one that does not.
    pub(in super::super) fn steps(&self) -> &[Step] {
        self.founded_at.map_or(&[], |_| &self.steps)
    }

    pub(in super::super) fn head(&self) -> String {
        let founded = match self.founded_at {
            Some(at) => format!("founded {}", at.date()),
            None => "not founded yet".to_owned(),
        };
        let Versions { old, new } = &self.kubernetes;
        let version = match old.as_ref().filter(|old| *old != new) {
            Some(old) => format!("{old} → {new}"),
            None => new.clone(),
        };
        format!("cluster {}, {founded}, Kubernetes {version}", self.cluster)
    }

    fn order(&self) -> Vec<String> {
        if self.steps.is_empty() || self.founded_at.is_none() {
            return Vec::new();
        }
        let head = "Order; go on when all machines of a step are Ready:".to_owned();
        let steps = listed_steps(&self.steps);
        [String::new(), bold(&head)].into_iter().chain(steps).collect()
    }

    pub(in super::super) fn summary(&self) -> String {
        let Counts {
            add,
            replace,
            remove,
            in_place,
            document,
            adopted,
            unknown,
            ..
        } = self.counts;
        if self.counts.is_empty() {
            return match adopted {
                0 => "No changes: the documents are the same bytes.".to_owned(),
                _ => "No changes.".to_owned(),
            };
        }
        let manifests = if self.counts.manifests {
            " Manifests to apply."
        } else {
            ""
        };
        let document = match document {
            0 => String::new(),
            count => format!(
                " {} of {} on which nothing has to be done.",
                "New documents",
                counted(count, "machine")
            ),
        };
        let unknown = match unknown {
            0 => String::new(),
            count => format!(" {} with a change that is not known.", counted(count, "machine")),
        };
        format!(
            "Plan: {add} to add, {in_place} to update in place, {replace} to replace, {remove} to remove.{manifests}{document}{unknown}"
        )
    }
}

pub(in super::super) fn verb(action: Action) -> &'static str {
    match action {
        Action::Add => "add",
        Action::InPlace => "update",
        _ => "replace",
    }
}

/// Steps for people, a line each; the first of many.
pub(in super::super) fn listed_steps(steps: &[Step]) -> Vec<String> {
    let line = |(number, one): (usize, &Step)| format!("  {}. {}", number + 1, step(one));
    let more = steps.len().checked_sub(STEPS + 1);
    let more = more.map(|more| format!("  and {} more steps", more + 1));
    steps.iter().enumerate().take(STEPS).map(line).chain(more).collect()
}

/// A step for people, without its number.
fn step(step: &Step) -> String {
    let names: Vec<_> = step.machines.iter().map(String::as_str).collect();
    if step.of == Member::Manifests {
        return format!("apply manifests on {}", listed(&names));
    }
    let of = counted(names.len(), step.of.name());
    let of = of.strip_prefix("1 ").unwrap_or(&of);
    format!("{} {of} {}", verb(step.action), listed(&names))
}

/// A line about a machine, in the colour of its change.
pub(in super::super) fn coloured(action: Action, line: &str) -> String {
    match action {
        Action::Add => green(line),
        Action::InPlace | Action::Document | Action::Unknown => yellow(line),
        Action::Remove | Action::Replace => red(line),
        _ => line.to_owned(),
    }
}

pub(in super::super) fn machine(change: &MachineChange, names: &[&str]) -> String {
    let names = listed(names);
    let in_place = change.actions.join(", ");
    let (sign, words) = match change.action {
        Action::Add => ("  +", "to add".to_owned()),
        Action::Remove => ("  -", "to remove".to_owned()),
        Action::InPlace => ("  ~", format!("to update in place: {in_place}")),
        Action::Document => ("  =", "nothing to do on the machine".to_owned()),
        Action::Unknown => (
            "  ?",
            "its document changes, and what that asks of the machine is not known".to_owned(),
        ),
        Action::Adopted => ("  .", "created by something else, stays as it is".to_owned()),
        _ => ("-/+", "to replace".to_owned()),
    };
    format!("{sign} {names}: {words}")
}

/// Files for people, the first of many. Those that no running machine takes come first.
fn files(files: &[FileChange]) -> Vec<String> {
    let more = files.len().checked_sub(FILES + 1);
    let more = more.map(|more| format!("        and {} more files", more + 1));
    let (forcing, others): (Vec<_>, Vec<_>) = files.iter().partition(|file| forces(file));
    let listed = forcing.into_iter().chain(others).take(FILES);
    listed.flat_map(marked).chain(more).collect()
}

fn marked(change: &FileChange) -> Vec<String> {
    let mut lines = file(change);
    if forces(change) {
        lines[0] += "  # forces replacement";
    }
    lines
}

/// Whether the change of a file alone asks for a new machine.
fn forces(file: &FileChange) -> bool {
    file.handlers.contains(&Handler::Replace)
}

pub(in super::super) fn file(file: &FileChange) -> Vec<String> {
    let from = match file.spec.is_empty() {
        true => String::new(),
        false => format!("{} → ", file.spec.join(", ")),
    };
    let kind = match file.kind {
        "changed" => String::new(),
        kind => format!(" ({kind})"),
    };
    let mut lines = vec![format!("        {from}{}{kind}", file.path)];
    lines.extend(file.fields.iter().map(field));
    lines
}

/// A field before and now.
pub(in super::super) fn field(change: &FieldChange) -> String {
    let FieldChange {
        field,
        old,
        new,
        hidden,
        note,
    } = change;
    if let Some(note) = note {
        return format!("          {field}: {note}");
    }
    if *hidden {
        return format!("          {field}: (not shown)");
    }
    let shown = |value: &Option<String>| {
        value
            .as_ref()
            .map_or_else(|| "(none)".to_owned(), |value| format!("{value:?}"))
    };
    format!("          {field}: {} → {}", shown(old), shown(new))
}
