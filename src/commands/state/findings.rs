//! Findings about a change of a running cluster: which are refused, and which `--accept` overrides.

use std::path::Path;

use firelay_yaml::diagnostic::{self, Diagnostic};
use time::OffsetDateTime;

use super::{
    super::{failure::Failure, project::print_findings, streams},
    Apply, Rendering, Update, whole_second,
};
use crate::{
    changes::{Action, MachineChange},
    plan::NodePlan,
    record::{self, Accepted, Applied, Change},
    redact::redact_spec,
    secrets::KeyKind,
};

/// How the last documents are made again.
const RENDER_FORMER: &str = "restore spec, bundle and --set values of the last render (git stash, if these were committed), and render into this directory; \
     then make the change again (git stash pop), and call `firelay update`";
/// A change of a machine whose last document is not there.
const UNKNOWN: &str = "FL1207";

impl Update<'_> {
    fn change(&self) -> Option<Change<'_>> {
        let (base, text) = (self.base.as_ref()?, self.state.text.as_ref()?);
        let Rendering {
            project,
            bundle,
            nodes,
            whole,
            now,
            ..
        } = self.render;
        let pending = base.pending_kubernetes();
        let profile = project.profiles.kubernetes(pending.unwrap_or(&base.kubernetes));
        Some(Change {
            text,
            record: base,
            fixed: &self.next.fixed,
            founding: &self.next.founding,
            differing: &self.differing,
            applied: Applied {
                configuration: self.render.applying.configuration != Apply::Never,
                manifests: self.render.applying.manifests != Apply::Never && self.manifests_node().is_some(),
            },
            plan: &project.plan,
            rendered: nodes,
            whole,
            pending: self.scripts.first().map(String::as_str),
            behind: self.behind.as_deref(),
            rotating: bundle.other_authorities().is_some(),
            spec: project.spec.root(),
            running: profile.map(|profile| &**profile),
            token_since: bundle.token_since(self.next.founded_at.unwrap_or(now)),
            now,
        })
    }

    pub(super) fn check(&self) -> Vec<Diagnostic> {
        let even: Vec<_> = self.even_members().into_iter().collect();
        let Some(change) = self.change() else {
            return even;
        };
        if !self.is_founded() {
            for value in record::changed_values(&change) {
                streams::tell(format_args!(
                    "warning: {value}; a machine that booted from an earlier document belongs to another cluster"
                ));
            }
            return even;
        }
        let mut findings = record::check(&change);
        findings.extend(even);
        findings.extend(self.ended());
        findings.extend(self.unbrought());
        diagnostic::sort(&mut findings);
        findings
    }

    /// The end of a machine's certificates by their own date.
    fn end(&self, node: &NodePlan) -> OffsetDateTime {
        self.issued_at(node) + self.render.project.plan.pki.leaf_validity
    }

    /// A node waits for a clock inside its certificates' validity: with ones that have ended it would wait for ever.
    pub(super) fn refuse_ended(&self) -> Result<(), Failure> {
        let Rendering { nodes, now, .. } = self.render;
        let ends = nodes.iter().map(|node| self.end(node));
        let ended = ends.filter(|end| *end <= now).min().filter(|_| !self.is_founded());
        ended.map_or(Ok(()), |end| {
            Err(Failure::Secrets(format!(
                "the certificates of this bundle ended on {}, pki.leafValidity after it was made\n  \
                 = help: a longer pki.leafValidity makes new ones of the same keys; every node then gets a new document",
                end.date()
            )))
        })
    }

    /// Machines of a founded cluster, in whose documents the certificates have ended.
    fn ended(&self) -> Option<Diagnostic> {
        let Rendering { nodes, now, .. } = self.render;
        let ended = nodes.iter().filter(|node| !node.pool && self.end(node) <= now);
        let ended: Vec<_> = ended.collect();
        let names: Vec<_> = ended.iter().map(|node| node.name.as_str()).collect();
        let first = ended.first()?;
        let message = format!(
            "the certificates in the documents of {} have ended, those of {} on {}",
            record::listed(&names),
            first.name,
            self.end(first).date()
        );
        Some(Diagnostic::warning("FL1220", message).help(
            "`firelay certs` says what renews those of running machines; when you create one of them anew, render with --replace NAME, \
             which dates its certificates anew",
        ))
    }

    /// A step of keys that control planes share. After a plain render it counts as rendered, and no script brings it to those that run.
    fn unbrought(&self) -> Option<Diagnostic> {
        let Rendering { bundle, applying, .. } = self.render;
        let keys = bundle.rotating().filter(|keys| keys.kind() != KeyKind::Token)?;
        let text = self.state.text.as_ref()?;
        let is_new = applying.manifests == Apply::Never && bundle.is_step_after(&text.record.bundle);
        let finding = is_new.then(|| {
            let (step, line) = (keys.last_step(), text.line(&["bundle"]));
            let message =
                format!("render alone brings {step}, to no control plane that runs: {line} is of the step before");
            Diagnostic::error("FL1222", message)
        })?;
        Some(finding.help(
            "firelay update writes the scripts; render with --accept FL1222 if you create all control planes anew, one after the other, \
             before the next step",
        ))
    }

    /// Judges changes of machines whose last documents the tree does not have: no script would bring these changes. Returns whether the
    /// changes of other machines can be judged.
    pub fn check_unknown(&mut self, root: &Path, changes: &[MachineChange]) -> bool {
        let names = changes.iter().filter(|change| change.action == Action::Unknown);
        let names: Vec<_> = names.map(|change| change.name.as_str()).collect();
        let Some(first) = names.first().filter(|_| self.is_founded()) else {
            return true;
        };
        let message = format!(
            "{} does not have the last documents of {}, which this change concerns",
            root.display(),
            record::listed(&names)
        );
        let label = format!(
            "the record has only their digests ({}): firelay cannot compare the documents",
            self.line(first)
        );
        let out = self.render.out;
        let help = match root == out {
            true => format!(
                "{RENDER_FORMER}; for a machine that is created anew: --replace {first}; with --accept {UNKNOWN} running machines keep their \
                 old documents"
            ),
            false => format!(
                "name the directory of the last render with --from; without --from it is {}",
                out.display()
            ),
        };
        self.findings
            .push(Diagnostic::error(UNKNOWN, message).label(label).help(help));
        self.accepts(UNKNOWN)
    }

    /// Whether `--accept` names a code.
    pub(super) fn accepts(&self, code: &str) -> bool {
        self.render.args.accept.iter().any(|own| own == code)
    }

    /// Refuses a change that the running cluster cannot take, unless somebody accepts it.
    pub fn refuse_forbidden(&mut self) -> Result<(), Failure> {
        self.accept();
        let findings = std::mem::take(&mut self.findings);
        if !findings.is_empty() {
            print_findings(&redact_spec(&self.render.project.spec), &findings);
        }
        self.verdict_with("\n  = help: `firelay plan` shows the whole change", &findings)
    }

    /// Takes the findings out that `--accept` overrides, and notes them in the record.
    pub fn accept(&mut self) {
        let findings = std::mem::take(&mut self.findings);
        let is_accepted = |finding: &Diagnostic| self.accepts(finding.code);
        let (accepted, open): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_accepted);
        for finding in &accepted {
            let told = match finding.label.as_str() {
                "" => finding.message.clone(),
                label => format!("{}: {label}", finding.message),
            };
            streams::tell(format_args!("accepted {}: {told}", finding.code));
            self.next.accepted.push(Accepted {
                code: finding.code.to_owned(),
                at: whole_second(self.render.now),
                finding: told,
            });
        }
        self.findings = open;
        self.accepted.extend(accepted);
    }

    /// Exit code 3 for an error that nobody accepted.
    pub fn verdict(&self, findings: &[Diagnostic]) -> Result<(), Failure> {
        self.verdict_with("", findings)
    }

    fn verdict_with(&self, help: &str, findings: &[Diagnostic]) -> Result<(), Failure> {
        let name = self.render.project.spec.name();
        let reason = match self.is_founded() {
            true => "the running cluster cannot take this change",
            false => "a new cluster should not begin so",
        };
        match diagnostic::refuse(findings) {
            true => Err(Failure::Refused(format!(
                "{name} is refused: {reason}; nothing was written{help}"
            ))),
            false => Ok(()),
        }
    }

    /// Refuses to print a document whose date would be in no record, since the next one would have another date.
    pub fn refuse_undated(&self) -> Result<(), Failure> {
        let Some(base) = self.base.as_ref().filter(|_| self.is_founded()) else {
            return Ok(());
        };
        let replaced = &self.render.args.replace;
        let is_new = |node: &&NodePlan| !base.machines.contains_key(&node.name) || replaced.contains(&node.name);
        match self.render.nodes.iter().find(is_new) {
            None => Ok(()),
            Some(node) => Err(Failure::Refused(format!(
                "{} gets certificates of today, and the record has to keep their date\n  \
                 = help: render it into a directory first: firelay render --node {}",
                node.name, node.name
            ))),
        }
    }
}
