//! One render of a cluster as its record sees it: the dates of machines before it, their digests after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use firelay_yaml::diagnostic::Diagnostic;
use time::{Duration, OffsetDateTime};

use super::{
    super::{
        assembly::Assembly,
        documents::{self, Documents, described},
        failure::Failure,
        last_tree::settings,
        project::Project,
        streams,
    },
    State,
    base::{
        before, behind, contradiction, refuse_foreign, refuse_part_of_step, refuse_unrecorded, scripts, unrecorded,
    },
};
use crate::{
    changes::{Action, Configuration, Handler, MachineChange, founding::Applied},
    cli::StateArgs,
    node::{NodeFile, kubeadm::INIT},
    plan::NodePlan,
    record::{self, Differing, Founding, MachineRecord, Record},
    secrets::Bundle,
    tree::{Manifest, Role},
};

/// The administrator's certificate is made anew when less of its life is left.
const SOON: Duration = Duration::days(30);

/// Whether scripts apply settings of the founder to a cluster that runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Apply {
    /// No, and FL1221 warns of changed ones.
    Never,
    /// If they have changed.
    IfChanged,
    /// In any case.
    Always,
}

/// The settings of the founder that scripts apply.
#[derive(Clone, Copy)]
pub struct Applying {
    /// kubeadm's configuration.
    pub configuration: Apply,
    /// Manifests.
    pub manifests: Apply,
}

impl Applying {
    /// No setting: no script is written.
    pub const NEVER: Self = Self {
        configuration: Apply::Never,
        manifests: Apply::Never,
    };
    /// Settings that have changed.
    pub const IF_CHANGED: Self = Self {
        configuration: Apply::IfChanged,
        manifests: Apply::IfChanged,
    };
}

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
    /// Settings of the founder that scripts apply.
    pub applying: Applying,
    /// The present.
    pub now: OffsetDateTime,
}

/// The record before and after a render.
pub struct Update<'a> {
    pub(super) render: Render<'a>,
    pub(super) state: &'a State,
    /// The record before this render.
    pub(super) base: Option<Record>,
    /// The machines of the tree in place.
    pub(super) tree: BTreeMap<String, MachineRecord>,
    /// The scripts of earlier updates that nobody has said are done.
    pub(super) scripts: Vec<String>,
    /// The first of them after which a machine may have another version of a program.
    pub(super) behind: Option<String>,
    /// The record after this render.
    pub next: Record,
    /// Findings about the change, before any was accepted.
    pub findings: Vec<Diagnostic>,
    /// Those of them that a flag has overridden.
    pub accepted: Vec<Diagnostic>,
    /// Files that the founder would have.
    founder: Vec<NodeFile>,
    /// kubeadm's configuration, if machines apply it.
    configuration: Option<Configuration>,
    /// What differs from the settings of the founder that the tree in place keeps, without values.
    pub(super) differing: Differing,
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
        refuse_replaced(&render)?;
        refuse_unrecorded(&render, state, last)?;
        refuse_part_of_step(&render, state, last)?;
        let base = match (state.record(), last) {
            (Some(record), _) => Some(before(record, &tree, &render)),
            (None, Some(_)) => return Err(state.missing(render.out)),
            (None, None) => None,
        };
        let mut update = Self {
            next: Record::new(&project.plan, bundle),
            findings: Vec::new(),
            accepted: Vec::new(),
            founder: Vec::new(),
            configuration: None,
            differing: Differing::default(),
            render,
            state,
            base,
            tree,
            scripts: last.map(|last| scripts(render.out, last)).unwrap_or_default(),
            behind: None,
        };
        if let Some(base) = update.base.as_ref().filter(|_| !render.whole) {
            update.next = update.next.kept_from(base);
        }
        // The scripts of a tree that the record does not know bring other documents: FL1206 says so.
        let base = update.base.as_ref();
        let is_known = !update
            .tree
            .keys()
            .any(|name| contradiction(&update.tree, base, name).is_some());
        update.behind = last.filter(|_| is_known).and_then(|last| behind(render.out, last));
        update.refuse_part_of_change()?;
        update.found(last);
        update.date();
        update.next.founding = update.founding()?;
        update.configuration = update.changed_configuration();
        update.differing = update.differing(last);
        update.refuse_ended()?;
        update.findings = update.check();
        Ok(update)
    }

    /// Whether the cluster is founded.
    pub fn is_founded(&self) -> bool {
        self.next.founded_at.is_some()
    }

    /// The record before this render.
    pub fn base(&self) -> Option<&Record> {
        self.base.as_ref()
    }

    /// The files of a founder whose manifests a script applies, if one has to.
    pub fn applied_manifests(&self) -> Option<&[NodeFile]> {
        let applies = self.applies(self.render.applying.manifests, Founding::Manifests);
        (applies && self.manifests_node().is_some()).then_some(&self.founder)
    }

    /// Whether scripts of this run apply a setting of the founder.
    fn applies(&self, apply: Apply, setting: Founding) -> bool {
        let Some(base) = self.base.as_ref().filter(|_| self.render.whole && self.is_founded()) else {
            return false;
        };
        match apply {
            Apply::Never => false,
            Apply::IfChanged => base.applies_otherwise(&self.next.founding, setting),
            Apply::Always => true,
        }
    }

    fn changed_configuration(&self) -> Option<Configuration> {
        let apply = self.render.applying.configuration;
        let parts = Founding::KUBEADM.into_iter().filter(|part| self.applies(apply, *part));
        let init = self.founder.iter().find(|file| file.path == INIT)?;
        Configuration::of(parts.collect(), &init.content)
    }

    /// kubeadm's configuration, if running machines have to apply it.
    pub fn configuration(&self) -> Option<&Configuration> {
        self.configuration.as_ref()
    }

    /// The files that a founder would have; none in a render of some machines.
    pub fn founder(&self) -> &[NodeFile] {
        &self.founder
    }

    /// The settings of the founder that the tree in place keeps, as far as they are those of the record.
    pub fn applied(&self, last: &Manifest) -> Option<Applied> {
        let recorded = &self.base.as_ref()?.founding;
        Some(settings(last, self.render.out)?.recorded_in(recorded))
    }

    fn differing(&self, last: Option<&Manifest>) -> Differing {
        let changed = !self.founder.is_empty() && !self.changed_settings().is_empty();
        let applied = last.filter(|_| changed).and_then(|last| self.applied(last));
        let new = || documents::applied(self.render.bundle, &self.founder);
        applied
            .map(|applied| applied.changes(&new(), &|_, _| true).names())
            .unwrap_or_default()
    }

    /// Settings of the founder that a render of some machines leaves as they are.
    pub fn left_settings(&self) -> Result<Vec<Founding>, Failure> {
        let Render {
            project, bundle, whole, ..
        } = self.render;
        let Some(base) = self.base.as_ref().filter(|_| !whole && self.is_founded()) else {
            return Ok(Vec::new());
        };
        let founding = record::founding(bundle, &documents::founder_files(project, bundle)?);
        Ok(base.changed_settings(&founding))
    }

    /// The parts of the founder's settings that are not those of the record.
    pub fn changed_settings(&self) -> Vec<Founding> {
        let base = self.base.as_ref();
        base.map_or_else(Vec::new, |base| base.changed_settings(&self.next.founding))
    }

    /// Without a control plane that runs, nobody applies the configuration, and the record keeps that of before.
    pub fn check_configuration(&mut self, changes: &[MachineChange]) {
        let is_applied = changes
            .iter()
            .any(|change| change.handlers().contains(&Handler::Configure));
        let (Some(_), Some(base), false) = (&self.configuration, &self.base, is_applied) else {
            return;
        };
        for part in Founding::KUBEADM {
            let last = base.founding.get(part.name()).cloned();
            self.next
                .founding
                .extend(last.map(|last| (part.name().to_owned(), last)));
        }
        let message =
            "kubeadm's configuration of the cluster has changed, and no control plane takes this change in place";
        let servers = changes
            .iter()
            .filter(|change| change.roles.contains(&Role::ControlPlane));
        let mut replaced = servers.filter(|change| change.action == Action::Replace).peekable();
        let needs_leaves = |change: &MachineChange| change.needs_new_leaves() && !self.changes_fixed_value();
        let help = match (replaced.peek().is_some(), replaced.all(needs_leaves)) {
            (true, true) => {
                "run firelay secrets rotate leaves first: with new keys and certificates the control planes take this change in place, by \
                 firelay update (docs/rotate.md)"
            }
            (true, false) => {
                "undo what creates the control planes anew, and run firelay update for the rest first; \
                 a control plane that is created anew joins with the configuration that the cluster has"
            }
            (false, _) => {
                "firelay did not create the control planes, and changes none of them: change the configuration with the tool that did; or \
                 keep that of the cluster, have one of them created anew by firelay, and make the change then (docs/adopt.md)"
            }
        };
        let label = self.differing.label(Founding::Cluster);
        let finding = Diagnostic::warning("FL1221", message).label(label);
        self.findings.push(finding.help(help));
    }

    /// The machine on which they are applied.
    pub fn manifests_machine(&self) -> Option<&'a str> {
        let node = self.manifests_node().filter(|_| self.applied_manifests().is_some());
        node.map(|node| node.name.as_str())
    }

    /// The founder, or another control plane that has firelay's programs.
    pub fn manifests_node(&self) -> Option<&'a NodePlan> {
        let plan = &self.render.project.plan;
        let mut nodes = std::iter::once(plan.founder()).chain(plan.control_planes());
        nodes.find(|node| !self.stays_adopted(&node.name))
    }

    /// The stages with the dates of this render.
    pub fn assembly(&self) -> Result<Assembly<'a>, Failure> {
        let Render { project, bundle, .. } = self.render;
        let assembly = Assembly::new(project, bundle, self.is_founded())?;
        Ok(assembly.dated(self.next.generations(bundle.issued_at), self.next.administrator))
    }

    /// The directory of the tree.
    pub fn out(&self) -> &'a Path {
        self.render.out
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

    /// Whether the record has the digest of each document that this render keeps. Only the bundle can make such a digest.
    pub fn knows_kept_documents(&self) -> bool {
        let is_kept = |name: &str| self.render.nodes.iter().all(|node| node.name != name);
        let recorded = |name: &str| self.base.as_ref()?.machines.get(name);
        let mut kept = self.tree.iter().filter(|(name, _)| is_kept(name));
        let is_known = |record: &MachineRecord, own: &MachineRecord| record.is_adopted() || record.digest == own.digest;
        self.render.whole || kept.all(|(name, own)| recorded(name).is_some_and(|record| is_known(record, own)))
    }

    /// Whether the tree in place has the document of a machine that the record has.
    pub fn has_recorded_document(&self, name: &str) -> bool {
        let base = self.base.as_ref().and_then(|base| base.machines.get(name));
        base.zip(self.tree.get(name))
            .is_some_and(|(base, own)| base.digest == own.digest)
    }

    /// The change of a machine that keeps the document of the record.
    pub fn unchanged(&self, node: &NodePlan) -> Option<MachineChange> {
        let base = self.base.as_ref()?.machines.get(&node.name)?;
        self.change_of(node, &base.digest)
    }

    /// A founded cluster goes to another version of Kubernetes, and takes a step of encryption, as a whole: both have an order.
    fn refuse_part_of_change(&self) -> Result<(), Failure> {
        let base = self.base.as_ref().filter(|base| base.founded_at.is_some());
        let Some(base) = base.filter(|_| !self.render.whole && !self.render.args.refound) else {
            return Ok(());
        };
        let (old, new) = (&base.kubernetes, &self.render.project.plan.kubernetes.version);
        let encryption = Record::new(&self.render.project.plan, self.render.bundle).encrypts_otherwise(base);
        let has = match (old == new, encryption) {
            (true, false) => return Ok(()),
            (false, _) => format!(
                "Kubernetes {old} ({}), and the spec {new}",
                self.recorded_line(&["kubernetes"])
            ),
            (true, true) => format!(
                "other keys or resources of encryption ({}) than the spec",
                self.recorded_line(&["encryption"])
            ),
        };
        Err(Failure::Refused(format!(
            "the cluster has {has}: --node would bring one machine to it alone\n  \
             = help: leave --node out: firelay update writes the scripts of all machines and their order, control planes first"
        )))
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

    /// Tells whether the cluster is founded, where the flags of this run leave it open or change it.
    pub fn tell_founded(&self) {
        self.tell_founded_anew();
        if self.is_founded() && !self.render.args.founded {
            streams::tell(format_args!(
                "{} is of a founded cluster: no document has kubeadm init (--refound writes it again)",
                self.state.path.display()
            ));
        }
    }

    /// Warns of a second founding.
    pub fn tell_founded_anew(&self) {
        let recorded = self.base.as_ref().and_then(|base| base.founded_at);
        if let Some(at) = recorded.filter(|_| !self.is_founded()) {
            streams::tell(format_args!(
                "warning: {} had the cluster founded on {}: it is no longer, and {} gets kubeadm init, which founds it anew",
                self.state.path.display(),
                at.date(),
                self.render.project.plan.founder().name
            ));
        }
    }

    /// Tells that neither record nor tree is there, of secrets that are older than this run: nobody knows whether machines run with them.
    pub fn tell_unrecorded(&self) {
        if self.base.is_none() && !self.is_founded() && !self.render.args.refound {
            streams::tell(format_args!(
                "warning: without a record {} the cluster counts as not founded, and {} gets kubeadm init\n  \
                 = help: if the cluster runs, create no machine from these documents, which would found it a second time: bring the \
                 record back from version control, or render with --founded",
                self.state.path.display(),
                self.render.project.plan.founder().name
            ));
        }
    }

    /// Tells that a cluster with a record is not founded: no script brings a change to its machines.
    pub fn tell_unfounded(&self) {
        if self.base.is_some() && self.next.founded_at.is_none() && !self.render.args.refound {
            streams::tell(format_args!(
                "{} is not founded yet: machines take their documents at the first boot; if the cluster runs, say so first: firelay founded",
                self.render.project.plan.name
            ));
        }
    }

    /// Tells of an upgrade that nobody has said is over, where no script is left that shows it.
    pub fn tell_pending(&self) {
        let Some(base) = &self.base else { return };
        let joining = base.pending().into_iter().flat_map(|own| &own.joining);
        let joining: Vec<_> = joining.map(String::as_str).collect();
        if !joining.is_empty() {
            streams::tell(format_args!(
                "{}: {} may not have joined yet: firelay update --done when all machines are Ready",
                self.recorded_line(&["pending"]),
                record::listed(&joining)
            ));
        }
        if let Some(old) = base.pending_kubernetes() {
            streams::tell(format_args!(
                "{}: machines may still have Kubernetes {old}, and no script is left here: firelay update --done when all have {}",
                self.recorded_line(&["pending"]),
                base.kubernetes
            ));
        }
    }

    /// Tells of the administrator's certificate, which no machine has: the next render dates it anew in its last days.
    pub fn tell_administrator(&self) {
        let before = self
            .base
            .as_ref()
            .filter(|base| base.administrator != self.next.administrator);
        if before.is_some() && self.is_founded() {
            streams::tell(
                "the next render makes admin.kubeconfig anew: its certificate has ended or ends within 30 days, or has older keys",
            );
        }
    }

    /// Digests of the settings that only a founder applies. A render of some machines keeps the recorded ones.
    fn founding(&mut self) -> Result<BTreeMap<String, String>, Failure> {
        let Render {
            project, bundle, whole, ..
        } = self.render;
        if let Some(base) = self.base.as_ref().filter(|_| !whole) {
            return Ok(base.founding.clone());
        }
        self.founder = documents::founder_files(project, bundle)?;
        Ok(record::founding(bundle, &self.founder))
    }

    /// A machine of the record keeps its date. One that is added to a founded cluster gets certificates of today.
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
        let mut known = base.map(|base| base.machines.clone()).unwrap_or_default();
        for (name, own) in &mut known {
            own.renewed_at = base.and_then(|base| base.renewed_at(name));
        }
        let stood = base.is_some() && self.is_founded();
        let fresh = if stood { whole_second(now) } else { bundle.issued_at };
        let dated = nodes.iter().map(|node| {
            let last = known.get(&node.name).filter(|_| !args.replace.contains(&node.name));
            let issued_at = match (last, args.replace.contains(&node.name)) {
                (Some(last), _) => last.issued_at,
                (None, true) => whole_second(now),
                (None, false) => fresh,
            };
            let rotated = bundle.leaves_of(&node.name).map(|own| own.issued_at);
            let issued_at = rotated.map_or(issued_at, |rotated| issued_at.max(rotated));
            let machine = MachineRecord {
                versions: self.next.further_versions(&self.render.project.plan, node),
                renewed_at: last.and_then(|last| last.renewed_at),
                ..record::unrendered(node, issued_at)
            };
            (node.name.clone(), machine)
        });
        let dated: BTreeMap<_, _> = dated.collect();
        self.next.machines = match whole {
            true => dated,
            false => known.into_iter().chain(dated).collect(),
        };
        self.next.accepted = base.map(|base| base.accepted.clone()).unwrap_or_default();
        let rotated = bundle.leaves().map(|own| own.issued_at);
        self.next.administrator = base.and_then(|base| base.administrator).max(rotated);
        let ends = self.next.administrator.unwrap_or(bundle.issued_at) + self.render.project.plan.pki.leaf_validity;
        if whole && stood && ends - SOON <= now {
            self.next.administrator = Some(whole_second(now));
        }
    }

    /// The change of a machine with this digest; `None` where its files have to be compared.
    pub fn change_of(&self, node: &NodePlan, digest: &str) -> Option<MachineChange> {
        if let Some(change) = self.decided(node) {
            return Some(change);
        }
        let change = MachineChange::none(&node.name, &crate::delivery::roles(node), node.pool);
        let Some(base) = self.base.as_ref().and_then(|base| base.machines.get(&node.name)) else {
            return Some(change.whole(Action::Add, None));
        };
        if base.digest == digest {
            return (!self.is_behind(node, digest)).then_some(change);
        }
        if self.render.args.replace.contains(&node.name) {
            return Some(change.whole(Action::Replace, "--replace asks for it".to_owned()));
        }
        let in_tree = self.tree.get(&node.name).is_some_and(|own| own.digest == base.digest);
        if !in_tree
            && self
                .founding_digest(node)
                .is_ok_and(|own| own.as_ref() == Some(&base.digest))
        {
            let reason = "its document has no kubeadm init since the founding";
            return Some(change.whole(Action::Document, reason.to_owned()));
        }
        (!in_tree).then(|| change.whole(Action::Unknown, self.unknown_reason()))
    }

    /// Why a change is not known.
    pub fn unknown_reason(&self) -> String {
        let out = self.render.out.display();
        format!("{out} does not have the document of the record: the files that differ are not known")
    }

    /// Whether the record has a third document of a machine between that of a former tree and the new one: the machine may have it.
    pub fn is_between(&self, node: &NodePlan, former: &str, new: &str) -> bool {
        let base = self.base.as_ref().and_then(|base| base.machines.get(&node.name));
        base.is_some_and(|base| !base.is_adopted() && base.digest != former && base.digest != new)
    }

    /// The manifest of a tree without documents.
    pub fn empty_manifest(&self) -> Manifest {
        let Render { project, bundle, .. } = self.render;
        let running = self.base.as_ref().map(|base| &base.kubernetes);
        let version = running.unwrap_or(&project.plan.kubernetes.version).to_string();
        Manifest::new(&project.plan.name, &version, &bundle.fingerprint())
    }

    /// The digest of the founder's document before the founding, which a record without a render since then has.
    fn founding_digest(&self, node: &NodePlan) -> Result<Option<String>, Failure> {
        let Render { project, bundle, .. } = self.render;
        if !node.founder {
            return Ok(None);
        }
        let assembly = Assembly::new(project, bundle, false)?;
        let assembly = assembly.dated(self.next.generations(bundle.issued_at), self.next.administrator);
        let documents = Documents::of(&assembly, node)?;
        let files = documents.files().into_iter().map(described);
        let files: Vec<_> = files.map(|(file, _)| file).collect();
        let files: Vec<_> = files.iter().collect();
        Ok(Some(record::machine_digest(
            bundle,
            &node.name,
            self.issued_at(node),
            &files,
        )))
    }

    /// Whether the record has this document of a machine, and the tree in place an older one.
    fn is_behind(&self, node: &NodePlan, digest: &str) -> bool {
        let has = |machine: &MachineRecord| machine.digest == digest;
        let base = self.base.as_ref().and_then(|base| base.machines.get(&node.name));
        base.is_some_and(has) && self.tree.get(&node.name).is_some_and(|own| !has(own))
    }

    /// Whether the spec changes a value that a running cluster cannot change: new keys and certificates do not help.
    fn changes_fixed_value(&self) -> bool {
        self.findings.iter().any(|finding| finding.code == "FL1211")
    }

    /// A change with files that were compared; it says so where another render made the same document.
    pub fn compared(&self, node: &NodePlan, digest: &str, mut change: MachineChange) -> MachineChange {
        if self.changes_fixed_value() && change.needs_new_leaves() {
            change.reason = None;
        }
        if !self.is_behind(node, digest) {
            return change;
        }
        let reason = format!(
            "{} has this document already: another render made it, and {} is older; a machine that has it takes nothing anew",
            self.line(&node.name),
            self.render.out.display()
        );
        MachineChange {
            known: true,
            reason: Some(reason),
            ..change
        }
    }

    /// The change of a machine whose record alone decides it: nobody compares its files.
    pub fn decided(&self, node: &NodePlan) -> Option<MachineChange> {
        let change = |action, reason: String| {
            let change = MachineChange::none(&node.name, &crate::delivery::roles(node), node.pool);
            Some(change.whole(action, reason))
        };
        let was_founded = self.base.as_ref().is_some_and(|base| base.founded_at.is_some());
        if was_founded && !self.is_founded() && self.base.as_ref()?.machines.contains_key(&node.name) {
            let reason = "--refound founds the cluster anew: its machines are created anew, and lose what they have";
            return change(Action::Replace, reason.to_owned());
        }
        if self.stays_adopted(&node.name) {
            let reason = "firelay did not create it: `firelay render --replace NAME` does when you want it";
            return change(Action::Adopted, reason.to_owned());
        }
        let base = self.base.as_ref()?.machines.get(&node.name)?;
        if self.is_other(&node.name, base) {
            let reason = match (base.pool, node.pool) {
                (true, false) => "it was a pool: create it when the machines of the pool are gone",
                (false, true) => "it was a machine: create machines of the pool when that one is gone",
                _ => "it has another role: create it anew when it has left the cluster",
            };
            return change(Action::Add, reason.to_owned());
        }
        let old = base.arch.filter(|old| *old != node.arch)?;
        change(
            Action::Replace,
            format!(
                "its architecture is {old} in {}, and {} here",
                self.line(&node.name),
                node.arch
            ),
        )
    }

    /// Whether a machine that stays loses the role of a control plane or of a member of etcd, or has the name of a pool, or a pool that of a
    /// machine.
    fn is_other(&self, name: &str, base: &MachineRecord) -> bool {
        let mut nodes = self.render.project.plan.nodes.iter();
        let Some(node) = nodes.find(|node| node.name == name).filter(|_| self.is_founded()) else {
            return false;
        };
        let roles = crate::delivery::roles(node);
        let lost = |role: &Role| base.roles.contains(role) && !roles.contains(role);
        [Role::ControlPlane, Role::Etcd].iter().any(lost) || base.pool != node.pool
    }

    /// The line of the record that has a machine.
    pub fn line(&self, name: &str) -> String {
        self.recorded_line(&["machines", name])
    }

    /// The line of the record that has the value at a path.
    pub(super) fn recorded_line(&self, path: &[&str]) -> String {
        let text = self.state.text.as_ref();
        text.map_or_else(|| "the record".to_owned(), |text| text.line(path))
    }

    fn stays_adopted(&self, name: &str) -> bool {
        let base = self.base.as_ref().and_then(|base| base.machines.get(name));
        let is_replaced = self.render.args.replace.iter().any(|own| own == name);
        base.is_some_and(MachineRecord::is_adopted) && !is_replaced
    }

    /// Machines and pools of the record that the spec no longer has, or has as another kind.
    pub fn removed(&self) -> Vec<MachineChange> {
        let plan = &self.render.project.plan;
        let nodes: BTreeMap<_, _> = plan.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        let machines = self.base.iter().flat_map(|base| &base.machines);
        let left = if self.accepts("FL1218") {
            "; --accept FL1218 says that it has left"
        } else {
            ""
        };
        let gone = machines.filter(|(name, own)| !nodes.contains_key(name.as_str()) || self.is_other(name, own));
        let change = |(name, own): (&String, &MachineRecord)| {
            let namesake = nodes.get(name.as_str()).copied();
            let lost = match (namesake.map(|node| node.pool), own.pool) {
                (None, _) => "has it, and the spec does not",
                (Some(_), true) => "has it as a pool",
                (Some(true), false) => "has it as a machine",
                (Some(false), false) => "has it with a role that the spec takes from it",
            };
            let reason = format!("{} {lost}{left}", self.line(name));
            MachineChange::none(name, &own.roles, own.pool).whole(Action::Remove, reason)
        };
        gone.map(change).collect()
    }

    /// Refuses to plan a change of machines of which the tree in place is not what the record says.
    pub fn refuse_stale(&self, changes: &[MachineChange]) -> Result<(), Failure> {
        let changed = changes
            .iter()
            .filter(|change| !change.known && matches!(change.action, Action::Replace | Action::Unknown));
        let stale = changed.filter_map(|change| contradiction(&self.tree, self.base.as_ref(), &change.name));
        let is_new = |change: &&MachineChange| {
            self.base
                .as_ref()
                .is_some_and(|base| !base.machines.contains_key(&change.name))
        };
        let new = changes
            .iter()
            .filter(is_new)
            .filter_map(|change| unrecorded(&self.tree, &change.name));
        self.refuse_contradictions(stale.chain(new).chain(self.discarded()).collect())
    }

    /// Takes the files that were rendered into the record and the manifest.
    pub fn settle(&mut self, mut manifest: Manifest) -> Result<Manifest, Failure> {
        let (bundle, founded) = (self.render.bundle, self.is_founded());
        let names: Vec<_> = self.next.machines.keys().cloned().collect();
        let adopted: BTreeSet<_> = names.into_iter().filter(|name| self.stays_adopted(name)).collect();
        manifest.generations = self.next.generations(bundle.issued_at);
        let rendered = record::machines_of_tree(bundle, &manifest);
        let mut stale = Vec::new();
        for (name, own) in &mut self.next.machines {
            let base = self.base.as_ref().and_then(|base| base.machines.get(name));
            let Some(new) = rendered.get(name).filter(|_| !adopted.contains(name)) else {
                continue;
            };
            if let (true, Some(_), None) = (founded, &self.base, base) {
                stale.extend(unrecorded(&self.tree, name));
            }
            let changed = base.is_some_and(|base| base.digest != new.digest);
            if changed {
                stale.extend(contradiction(&self.tree, self.base.as_ref(), name));
            }
            own.digest.clone_from(&new.digest);
            own.generation = match base.filter(|_| founded) {
                Some(base) => base.generation.saturating_add(u32::from(changed)),
                None => 1,
            };
        }
        stale.extend(self.discarded());
        self.refuse_contradictions(stale)?;
        manifest.generations = self.next.generations(bundle.issued_at);
        Ok(manifest)
    }

    /// Completes the record by what machines may not have yet.
    pub fn note_pending(&mut self, changes: &[MachineChange]) {
        self.note_changes(changes);
        self.next.set_digests(self.render.bundle);
    }

    /// A cluster that runs has the new state when somebody says so. A render of some machines leaves the versions of the record.
    fn note_changes(&mut self, changes: &[MachineChange]) {
        let Render {
            project,
            bundle,
            whole,
            now,
            ..
        } = self.render;
        let base = self.base.as_ref().filter(|base| base.founded_at.is_some());
        let Some(base) = base.filter(|_| self.next.founded_at.is_some()) else {
            return;
        };
        // An unknown change may ask for a new machine.
        let is_created = |action: Action| matches!(action, Action::Replace | Action::Unknown);
        let created = { changes.iter() }.filter(|change| is_created(change.action) && !change.known);
        let created = created.map(|change| change.name.as_str()).collect();
        match whole {
            true => self
                .next
                .note_pending(base, (bundle, &project.plan), &created, whole_second(now)),
            false => self.next.note_machines(base, &project.plan, &created),
        }
    }

    /// Tells of a record that is new.
    pub fn tell(&self) {
        if self.state.is_new() {
            streams::tell(format_args!(
                "wrote {}: commit it with the spec; it holds no secret",
                self.state.path.display()
            ));
        }
    }
}

/// Machines that `--replace` names and that this run does not render.
fn refuse_replaced(render: &Render<'_>) -> Result<(), Failure> {
    for name in &render.args.replace {
        let node = render.project.node(name)?;
        if render.nodes.iter().all(|own| own.name != node.name) {
            return Err(Failure::Usage(format!(
                "--replace {name} has no effect: this run renders other machines alone\n  = help: name it with --node, too"
            )));
        }
    }
    Ok(())
}

/// Certificates and RFC 3339 texts carry no fractions.
pub fn whole_second(moment: OffsetDateTime) -> OffsetDateTime {
    let utc = moment.to_offset(time::UtcOffset::UTC);
    utc.replace_nanosecond(0).unwrap_or(utc)
}
