//! One render of a cluster as its record sees it: the dates of machines before it, their digests after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use firelay_yaml::diagnostic::{self, Diagnostic};
use time::{Duration, OffsetDateTime};

use super::{
    super::{
        assembly::Assembly,
        failure::Failure,
        project::{Project, print_findings},
        streams,
    },
    State,
};
use crate::{
    changes::{Action, MachineChange},
    cli::StateArgs,
    plan::NodePlan,
    record::{self, Accepted, Change, MachineRecord, OVERRIDABLE, Record},
    redact::redact_spec,
    secrets::Bundle,
    tree::{Manifest, Role},
};

/// Findings that concern all machines: a render of some does not touch the others.
const OF_ALL: [&str; 3] = ["FL1215", "FL1216", "FL1218"];
/// Members of etcd of which one can be replaced without losing the quorum.
const MEMBERS: usize = 3;
/// The administrator's certificate is made anew when less of its life is left.
const SOON: Duration = Duration::days(30);

/// The inputs of a render.
#[derive(Clone, Copy)]
pub struct Render<'a> {
    /// Flags.
    pub args: &'a StateArgs,
    /// Where the tree is.
    pub out: &'a Path,
    /// The spec.
    pub project: &'a Project,
    /// Its bundle.
    pub bundle: &'a Bundle,
    /// The nodes that are rendered.
    pub nodes: &'a [NodePlan],
    /// All nodes are.
    pub whole: bool,
    /// The present.
    pub now: OffsetDateTime,
}

/// The record before and after a render.
pub struct Update<'a> {
    render: Render<'a>,
    state: &'a State,
    /// The record on the disk, with machines of which the tree has a newer document.
    base: Option<Record>,
    /// The machines of the tree in place.
    tree: BTreeMap<String, MachineRecord>,
    /// The record after this render.
    pub next: Record,
    /// Findings about the change, before any was accepted.
    pub findings: Vec<Diagnostic>,
}

impl<'a> Update<'a> {
    /// Compares record, the last tree and spec, and dates the machines. Nothing is refused that the spec causes: see
    /// [`Update::refuse_forbidden`].
    pub fn begin(render: Render<'a>, state: &'a State, last: Option<&Manifest>) -> Result<Self, Failure> {
        let Render { project, bundle, .. } = render;
        let last = last.filter(|last| last.files.iter().any(|file| file.node.is_some()));
        let tree = last
            .map(|last| record::machines_of_tree(bundle, last))
            .unwrap_or_default();
        refuse_foreign(state, bundle)?;
        let base = match (state.record(), last) {
            (Some(record), _) => Some(caught_up(record, last, &tree, &render)),
            (None, Some(last)) => Some(adopted(last, state, &render)?),
            (None, None) => None,
        };
        let mut update = Self {
            next: Record::new(&project.plan, bundle),
            findings: Vec::new(),
            render,
            state,
            base,
            tree,
        };
        update.found(last);
        update.date();
        update.next.founding = founding(&update)?;
        update.refuse_ended()?;
        update.findings = update.check();
        Ok(update)
    }

    /// Whether the cluster stands.
    pub fn is_founded(&self) -> bool {
        self.next.founded_at.is_some()
    }

    /// The record before this render, with machines of which the tree has a newer document.
    pub fn base(&self) -> Option<&Record> {
        self.base.as_ref()
    }

    /// The stages with the dates of this render.
    pub fn assembly(&self) -> Result<Assembly<'a>, Failure> {
        let Render { project, bundle, .. } = self.render;
        let assembly = Assembly::new(project, bundle, self.is_founded())?;
        Ok(assembly.dated(self.next.generations(bundle.issued_at), self.next.administrator))
    }

    /// The bundle.
    pub fn bundle(&self) -> &'a Bundle {
        self.render.bundle
    }

    /// The date of a machine's certificates.
    pub fn issued_at(&self, node: &NodePlan) -> OffsetDateTime {
        let own = self.next.machines.get(&node.name);
        own.map_or(self.render.bundle.issued_at, |own| own.issued_at)
    }

    fn found(&mut self, last: Option<&Manifest>) {
        let Render { args, now, .. } = self.render;
        let recorded = self.base.as_ref().and_then(|base| base.founded_at);
        let now = whole_second(now);
        let by_tree = last.is_some_and(|last| last.founded).then_some(now);
        self.next.founded_at = match (args.refound, args.founded) {
            (true, _) => None,
            (_, true) => Some(recorded.unwrap_or(now)),
            _ => recorded.or(by_tree),
        };
    }

    /// Tells that the cluster stands, where no flag of this run says so.
    pub fn tell_founded(&self) {
        if self.is_founded() && !self.render.args.founded {
            streams::tell(format_args!(
                "{} is of a cluster that stands: no document has kubeadm init (--refound writes it again)",
                self.render.out.display()
            ));
        }
    }

    /// A machine of the record keeps its date. One that is added to a cluster that stands gets certificates of today.
    fn date(&mut self) {
        let Render {
            args,
            bundle,
            nodes,
            now,
            whole,
            ..
        } = self.render;
        let base = self.base.as_ref();
        let known = base.map(|base| base.machines.clone()).unwrap_or_default();
        let stood = base.is_some() && self.is_founded();
        let fresh = if stood { whole_second(now) } else { bundle.issued_at };
        let dated = nodes.iter().map(|node| {
            let last = known.get(&node.name).filter(|_| !args.replace.contains(&node.name));
            let issued_at = match (last, args.replace.contains(&node.name)) {
                (Some(last), _) => last.issued_at,
                (None, true) => whole_second(now),
                (None, false) => fresh,
            };
            (node.name.clone(), record::unrendered(node, issued_at))
        });
        let dated: BTreeMap<_, _> = dated.collect();
        self.next.machines = match whole {
            true => dated,
            false => known.into_iter().chain(dated).collect(),
        };
        self.next.accepted = base.map(|base| base.accepted.clone()).unwrap_or_default();
        self.next.administrator = base.and_then(|base| base.administrator);
        let ends = self.next.administrator.unwrap_or(bundle.issued_at) + self.render.project.plan.pki.leaf_validity;
        if whole && stood && ends - SOON <= now {
            self.next.administrator = Some(whole_second(now));
        }
    }

    fn change(&self) -> Option<Change<'_>> {
        let (base, text) = (self.base.as_ref()?, self.state.text.as_ref()?);
        let Render { project, now, .. } = self.render;
        let profile = project.profiles.kubernetes(&base.kubernetes);
        Some(Change {
            text,
            record: base,
            fixed: &self.next.fixed,
            founding: &self.next.founding,
            plan: &project.plan,
            spec: project.spec.root(),
            running: profile.map(|profile| &**profile),
            founded_at: self.next.founded_at.unwrap_or(now),
            now,
        })
    }

    fn check(&self) -> Vec<Diagnostic> {
        let Some(change) = self.change() else {
            return Vec::new();
        };
        if !self.is_founded() {
            for value in record::changed_values(&change) {
                streams::tell(format_args!(
                    "warning: {value}; a machine that booted from an earlier document belongs to another cluster"
                ));
            }
            return Vec::new();
        }
        let mut findings = record::check(&change);
        findings.retain(|finding| self.render.whole || !OF_ALL.contains(&finding.code));
        findings.extend(self.ended());
        diagnostic::sort(&mut findings);
        findings
    }

    /// The end of a machine's certificates by their own date.
    fn end(&self, node: &NodePlan) -> OffsetDateTime {
        self.issued_at(node) + self.render.project.plan.pki.leaf_validity
    }

    /// A node waits for a clock inside its certificates' validity: with ones that have ended it would wait for ever.
    fn refuse_ended(&self) -> Result<(), Failure> {
        let Render { nodes, now, .. } = self.render;
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

    /// Machines of a cluster that stands, in whose documents the certificates have ended.
    fn ended(&self) -> Option<Diagnostic> {
        let Render { nodes, now, .. } = self.render;
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
            "a running machine renews its own and needs nothing; when you create one of them anew, render with --replace NAME, \
             which dates its certificates anew",
        ))
    }

    /// Refuses a change that the running cluster cannot take, unless somebody accepts it.
    pub fn refuse_forbidden(&mut self) -> Result<(), Failure> {
        self.accept();
        let findings = std::mem::take(&mut self.findings);
        print_findings(&redact_spec(&self.render.project.spec), &findings);
        self.verdict(&findings)
    }

    /// Takes the findings out that `--accept` overrides, and notes them in the record.
    pub fn accept(&mut self) {
        let args = self.render.args;
        let is_accepted = |finding: &Diagnostic| args.accept.iter().any(|code| code == finding.code);
        let findings = std::mem::take(&mut self.findings);
        let (accepted, open): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_accepted);
        for finding in &accepted {
            streams::tell(format_args!("accepted {}: {}", finding.code, finding.message));
            self.next.accepted.push(Accepted {
                code: finding.code.to_owned(),
                at: whole_second(self.render.now),
                finding: finding.message.clone(),
            });
        }
        self.findings = open;
    }

    /// Exit code 3 for an error that nobody accepted.
    pub fn verdict(&self, findings: &[Diagnostic]) -> Result<(), Failure> {
        match diagnostic::refuse(findings) {
            true => Err(Failure::Refused(self.forbidden(findings))),
            false => Ok(()),
        }
    }

    /// Judges the changes of members of etcd: without a third member a quorum does not bear the loss of one.
    pub fn check_members(&mut self, changes: &[MachineChange]) {
        let Some(base) = self.base.as_ref().filter(|_| self.is_founded()) else {
            return;
        };
        let members = changes.iter().filter(|change| self.is_member(&change.roles));
        let added = members.clone().filter(|change| change.action == Action::Add).count();
        let replaced = members.filter(|change| change.replaced_today);
        let replaced: Vec<_> = replaced.map(|change| change.name.as_str()).collect();
        let before = base.machines.values().filter(|own| self.is_member(&own.roles)).count();
        let Some(first) = replaced.first().filter(|_| before + added < MEMBERS) else {
            return;
        };
        let message = match before {
            1 => format!("{first} would be replaced, and it is the only member of etcd: the cluster would be lost"),
            _ => format!(
                "{} would be replaced, and etcd has {before} members: it would lose its quorum",
                replaced.join(", ")
            ),
        };
        let text = self.state.text.as_ref();
        let label = text.map(|text| format!("the record has {first} ({})", text.line(&["machines", first])));
        let spec = self.render.project.spec.root();
        let at = spec.and_then(|root| root.get("nodes")).map(|nodes| nodes.span);
        let finding = Diagnostic::error("FL1217", message)
            .at(at)
            .label(label.unwrap_or_default());
        self.findings.push(finding.help(
            "add members first, so that there are three, and replace afterwards; or undo the change of this machine",
        ));
    }

    fn is_member(&self, roles: &[Role]) -> bool {
        let external = self.render.project.plan.etcd.external;
        roles.contains(if external { &Role::Etcd } else { &Role::ControlPlane })
    }

    /// The members of etcd, where they are so few that [`Update::check_members`] has to look at their changes.
    pub fn endangered(&self) -> Vec<&'a NodePlan> {
        let nodes = self.render.project.plan.nodes.iter();
        let members: Vec<_> = nodes
            .filter(|node| self.is_member(&crate::delivery::roles(node)))
            .collect();
        match members.len() < MEMBERS && self.is_founded() {
            true => members,
            false => Vec::new(),
        }
    }

    /// The change of a machine with this digest; `None` where its files have to be compared.
    pub fn change_of(&self, node: &NodePlan, digest: &str) -> Option<MachineChange> {
        let change = MachineChange::none(&node.name, &crate::delivery::roles(node), node.pool);
        let Some(base) = self.base.as_ref().and_then(|base| base.machines.get(&node.name)) else {
            return Some(change.whole(Action::Add, None));
        };
        if base.digest == digest {
            return Some(change);
        }
        if self.render.args.replace.contains(&node.name) {
            return Some(change.whole(Action::Replace, "--replace asks for it".to_owned()));
        }
        let in_tree = self.tree.get(&node.name).is_some_and(|own| own.digest == base.digest);
        let out = self.render.out.display();
        let reason =
            format!("{out} has not the document that the record tells of: the files that differ are not known");
        (!in_tree).then(|| change.whole(Action::Replace, reason))
    }

    /// Machines and pools of the record that the spec no longer has.
    pub fn removed(&self) -> Vec<MachineChange> {
        let nodes: BTreeSet<_> = self
            .render
            .project
            .plan
            .nodes
            .iter()
            .map(|node| node.name.as_str())
            .collect();
        let machines = self.base.iter().flat_map(|base| &base.machines);
        let gone = machines.filter(|(name, _)| !nodes.contains(name.as_str()));
        let change = |(name, own): (&String, &MachineRecord)| {
            let line = self.state.text.as_ref().map(|text| text.line(&["machines", name]));
            let reason = line.map(|line| format!("{line} has it, and the spec does not"));
            MachineChange::none(name, &own.roles, false).whole(Action::Remove, reason)
        };
        gone.map(change).collect()
    }

    fn forbidden(&self, findings: &[Diagnostic]) -> String {
        let errors = findings
            .iter()
            .filter(|finding| finding.severity == diagnostic::Severity::Error);
        let codes: BTreeSet<_> = errors
            .map(|finding| finding.code)
            .filter(|code| OVERRIDABLE.contains(code))
            .collect();
        let flags: Vec<_> = codes.iter().map(|code| format!("--accept {code}")).collect();
        let help = match flags.is_empty() {
            true => String::new(),
            false => format!(
                "\n  = help: `firelay plan` shows the whole change; {} overrides, and is written to the record",
                flags.join(" ")
            ),
        };
        let name = self.render.project.spec.name();
        format!("{name} is refused: the running cluster cannot take this change; nothing was written{help}")
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

    /// Completes the record and the manifest by the files that were rendered.
    pub fn settle(&mut self, mut manifest: Manifest) -> Result<Manifest, Failure> {
        let (bundle, founded) = (self.render.bundle, self.is_founded());
        manifest.generations = self.next.generations(bundle.issued_at);
        let rendered = record::machines_of_tree(bundle, &manifest);
        let mut stale = Vec::new();
        for (name, own) in &mut self.next.machines {
            let base = self.base.as_ref().and_then(|base| base.machines.get(name));
            let Some(new) = rendered.get(name) else { continue };
            let changed = base.is_some_and(|base| base.digest != new.digest);
            let last = self
                .tree
                .get(name)
                .zip(base)
                .filter(|(tree, base)| tree.digest != base.digest);
            if changed && let Some((tree, base)) = last {
                stale.push((name.clone(), tree.generation, base.generation));
            }
            own.digest.clone_from(&new.digest);
            own.generation = match base.filter(|_| founded) {
                Some(base) => base.generation + u32::from(changed),
                None => 1,
            };
        }
        if founded && !stale.is_empty() {
            return Err(self.state.refuse(&self.stale(&stale)));
        }
        manifest.generations = self.next.generations(bundle.issued_at);
        Ok(manifest)
    }

    /// The tree in place is not what the record says, and this render is neither.
    fn stale(&self, machines: &[(String, u32, u32)]) -> Vec<Diagnostic> {
        let out = self.render.out.display();
        let text = self.state.text.as_ref();
        let one = |(name, tree, record): &(String, u32, u32)| {
            let at = text.map(|text| text.span(&["machines", name]));
            let finding = match tree.cmp(record) {
                std::cmp::Ordering::Less => {
                    let message = format!(
                        "{out} is older than the record: {name} is of generation {tree} there, and of {record} here"
                    );
                    Diagnostic::error("FL1205", message).label("somebody else rendered since").help(format!(
                        "bring the spec to what was committed with this record, and render; or remove {out}, which holds nothing \
                         that a render does not make again"
                    ))
                }
                _ => {
                    let message = format!(
                        "{out} has another document of {name} than the record says, both of generation {record}"
                    );
                    let finding = Diagnostic::error("FL1206", message).label("this digest is not that of the tree");
                    finding.help(format!(
                        "bring the record back from version control; if it is right, remove {out} and render again"
                    ))
                }
            };
            finding.at(at)
        };
        machines.iter().take(8).map(one).collect()
    }

    /// Tells of a record that is new.
    pub fn tell(&self) {
        if self.state.text.is_none() {
            streams::tell(format_args!(
                "wrote {}: commit it with the spec; it holds no secret",
                self.state.path.display()
            ));
        }
    }
}

/// What a founder would apply today. A render of some machines leaves it to one of all.
fn founding(update: &Update<'_>) -> Result<BTreeMap<String, String>, Failure> {
    let Render {
        project, bundle, whole, ..
    } = update.render;
    if let Some(base) = update.base.as_ref().filter(|_| !whole) {
        return Ok(base.founding.clone());
    }
    let assembly = Assembly::new(project, bundle, false)?;
    let founder = project.plan.founder();
    let files = assembly.files(founder, &assembly.pki(founder)?)?;
    Ok(record::founding(bundle, &files.files))
}

/// Certificates and RFC 3339 texts carry no fractions.
pub fn whole_second(moment: OffsetDateTime) -> OffsetDateTime {
    let utc = moment.to_offset(time::UtcOffset::UTC);
    utc.replace_nanosecond(0).unwrap_or(utc)
}

/// A record of another cluster or bundle, or one whose fixed values were edited.
fn refuse_foreign(state: &State, bundle: &Bundle) -> Result<(), Failure> {
    let Some(text) = &state.text else { return Ok(()) };
    let record = &text.record;
    if !record.is_of(bundle) {
        let (key, own, new) = match record.cluster == bundle.cluster {
            true => ("bundle", record.bundle.clone(), bundle.fingerprint()),
            false => ("cluster", record.cluster.clone(), bundle.cluster.clone()),
        };
        let finding = Diagnostic::error("FL1202", "this is the record of another cluster").at(text.span(&[key]));
        let finding = finding.label(format!("it is of {own}, the secrets are of {new}"));
        return Err(
            state.refuse(&[finding.help(
            "name the right bundle with --secrets, or the right record with --state; a new bundle is a new cluster, which gets a \
             record of its own",
        )])
        );
    }
    if !record.is_genuine(bundle) {
        let finding =
            Diagnostic::error("FL1203", "values in this record were edited by hand").at(text.span(&["fixed"]));
        let finding = finding.label("the digest below is not of these values");
        return Err(
            state.refuse(&[finding.help("bring the record back from version control; firelay alone writes it")])
        );
    }
    Ok(())
}

/// The record with machines of which the tree has a newer document: a render ended before it wrote the record.
fn caught_up(
    record: &Record,
    last: Option<&Manifest>,
    tree: &BTreeMap<String, MachineRecord>,
    render: &Render<'_>,
) -> Record {
    let mut base = record.clone();
    let is_newer = |(name, own): &(&String, &MachineRecord)| {
        record
            .machines
            .get(*name)
            .is_none_or(|recorded| recorded.generation < own.generation)
    };
    let newer: Vec<_> = tree.iter().filter(is_newer).collect();
    if let Some((first, _)) = newer.first() {
        streams::tell(format_args!(
            "{} is newer than the record ({}{}): a render ended between the two; this one goes on from the tree",
            render.out.display(),
            first,
            if newer.len() > 1 { " and others" } else { "" }
        ));
    }
    base.machines
        .extend(newer.into_iter().map(|(name, own)| (name.clone(), own.clone())));
    if let Some(last) = last {
        base.administrator = base.administrator.max(last.administrator_issued_at);
    }
    base
}

/// The record of a tree that has none, if that is wanted.
fn adopted(last: &Manifest, state: &State, render: &Render<'_>) -> Result<Record, Failure> {
    let (path, out) = (state.path.display(), render.out.display());
    if !render.args.adopt_tree {
        return Err(Failure::Refused(format!(
            "{out} was rendered before, and its record {path} is missing (FL1204)\n  \
             = help: bring {path} back from version control, or name it with --state\n  \
             = help: if there never was one, --adopt-tree makes it of this tree and of the values of today's spec"
        )));
    }
    let (plan, now) = (&render.project.plan, whole_second(render.now));
    streams::tell(format_args!(
        "{path} is made of {out}; ranges, domain and topology are those of today's spec{}",
        match last.founded {
            true => ", and the founding has today's date: `firelay founded --at TIME` corrects it",
            false => "",
        }
    ));
    Ok(Record::of_tree(plan, render.bundle, last, now))
}
