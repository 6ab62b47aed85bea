//! The scripts that change running machines in place, which a render for `update` writes.

mod carried;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use semver::Version;
use serde::Serialize;

use super::{
    assembly::for_each_node,
    failure::Failure,
    last_tree::LastTree,
    plan::{self, Pair},
    project::Project,
    state::{
        Apply, Applying, MANIFESTS, ORDER, SETTINGS_ALONE, Update, copied, earlier_scripts, earlier_updates,
        same_cluster, update_directory,
    },
    streams::{self, counted},
};
use crate::{
    changes::{Action, Counts, FileChange, Handler, MachineChange, Member, Step, steps},
    cli,
    plan::NodePlan,
    record::{self, MINOR_STEPS},
    tree::{Manifest, ManifestFile, TreeReader, TreeWriter, is_update},
    update::{Change, manifests_script, script},
};

/// Settings of the founder that the scripts apply.
pub(super) fn applying(args: &cli::Update) -> Applying {
    let apply = |is_asked| match is_asked {
        true => Apply::Always,
        false => Apply::IfChanged,
    };
    Applying {
        configuration: apply(args.configuration),
        manifests: apply(args.manifests),
    }
}

/// Keeps the scripts of earlier updates that nobody has removed.
pub(super) fn keep(tree: &TreeWriter, out: &Path) -> Result<(), Failure> {
    Ok(tree.keep(|file| is_update(&file.path) && out.join(&file.path).exists())?)
}

/// The tree that the running machines have.
pub(super) struct Base<'a> {
    args: &'a cli::Update,
    manifest: Manifest,
    root: PathBuf,
}

impl<'a> Base<'a> {
    /// The tree in place, or the one that a flag names.
    pub(super) fn open(
        args: &'a cli::Update,
        project: &Project,
        tree: &TreeWriter,
        update: &Update<'_>,
    ) -> Result<Self, Failure> {
        if !update.is_founded() {
            return Err(Failure::Refused(format!(
                "cluster {} is not founded: its machines take the new documents at their first boot\n  \
                 = help: firelay render writes them; if the cluster runs, say so first: firelay founded",
                project.plan.name
            )));
        }
        let Some(from) = &args.from else {
            let manifest = tree.last().cloned().unwrap_or_else(|| update.empty_manifest());
            let root = args.out.clone();
            return Ok(Self { args, manifest, root });
        };
        let reader = TreeReader::open(from)?;
        same_cluster(from, Some(&reader.manifest), &project.plan.name, update.bundle())?;
        let plan = &project.plan;
        let kubernetes = reader.manifest.kubernetes_version.parse().ok();
        refuse_skipped(from, "Kubernetes", kubernetes.as_ref(), &plan.kubernetes.version)?;
        let etcd = copied(from, &reader.manifest)?.filter(|_| plan.etcd.external);
        refuse_skipped(
            from,
            "etcd",
            etcd.as_ref().map(|text| &text.record.etcd),
            &plan.etcd.version,
        )?;
        Ok(Self {
            args,
            manifest: reader.manifest,
            root: reader.root,
        })
    }

    /// Puts scripts and their order into the new tree.
    pub(super) fn write(
        &self,
        project: &Project,
        update: &Update<'_>,
        tree: &TreeWriter,
        manifest: &Manifest,
    ) -> Result<Written, Failure> {
        let mut changes = self.changes(project, update, tree, manifest)?;
        let first = first_of(&changes);
        let wanted = |name: &str| self.args.node.is_empty() || self.args.node.iter().any(|own| own == name);
        changes.retain(|(change, _)| wanted(&change.name));
        let (bundle, version) = (update.bundle(), project.plan.kubernetes.version.to_string());
        let upgrades = first.is_some() && self.manifest.kubernetes_version != version;
        let machines = |manifest| record::machines_of_tree(bundle, manifest);
        let (old, new) = (machines(&self.manifest), machines(manifest));
        let generation = |machines: &BTreeMap<String, record::MachineRecord>, name: &str| {
            machines.get(name).map_or(1, |machine| machine.generation)
        };
        let last = earlier_updates(tree.last(), &self.args.out).last().copied();
        let directory = update_directory(last.unwrap_or_default() + 1);
        let mut count = 0;
        for (change, pair) in &changes {
            let (Some(pair), Ok(node)) = (pair.as_ref().filter(|_| change.in_place()), project.node(&change.name))
            else {
                continue;
            };
            let own = Change {
                plan: &project.plan,
                node,
                old: &pair.old,
                new: &pair.new,
                change,
                generations: (generation(&old, &node.name), generation(&new, &node.name)),
                configuration: update.configuration(),
                upgrades,
                leads: first.as_ref() == Some(&node.name),
            };
            tree.put(
                described(&directory, node, &script_name(&node.name)),
                script(&own)?.as_bytes(),
            )?;
            count += 1;
        }
        if let Some((files, node)) = update.applied_manifests().zip(update.manifests_node()) {
            let script = manifests_script(&project.plan, node, files)?;
            tree.put(described(&directory, node, &script_name(MANIFESTS)), script.as_bytes())?;
            count += 1;
        }
        let changes: Vec<_> = changes.into_iter().map(|(change, _)| change).collect();
        let steps = steps(&changes, project.plan.max_unavailable, update.manifests_machine());
        if count > 0 {
            let order = ManifestFile::new(format!("{directory}/{ORDER}"));
            let is_settings_alone = self.manifest.kubernetes_version == version
                && update.applied_manifests().is_none()
                && changes.iter().all(MachineChange::keeps_programs);
            tree.put(order, order_text(&steps, is_settings_alone).as_bytes())?;
        }
        let carried = carried::Written::write(project, tree, &directory, &steps)?;
        let directory = (count > 0).then_some(directory);
        Ok(Written {
            manifests: plan::manifests(project, update, Some((&self.manifest, &self.root)))?,
            changes,
            directory,
            count,
            carried,
            earlier: earlier_scripts(tree.last(), &self.args.out),
        })
    }

    /// The files of a machine before and after; `None` if a document cannot be unpacked.
    fn pair(
        &self,
        node: &NodePlan,
        last: &LastTree<'_>,
        (tree, manifest): (&TreeWriter, &Manifest),
    ) -> Result<Option<Pair>, Failure> {
        let old = plan::last_machines(last, &[node])?.remove(&node.name);
        let new = plan::unpacked(manifest, &[node], &|path| tree.content(path), &self.args.out)?.remove(&node.name);
        Ok(old.zip(new).map(|(old, new)| Pair { old, new }))
    }

    /// The change of a machine that the tree of before does not have. One that the record has may run.
    fn change_of_missing(&self, update: &Update<'_>, node: &NodePlan, digest: &str) -> MachineChange {
        let change = MachineChange::none(&node.name, &crate::delivery::roles(node), node.pool);
        let Some(known) = update.change_of(node, digest) else {
            return change.whole(Action::Unknown, None);
        };
        match (known.action, &self.args.from) {
            // The record has it since that tree.
            (Action::None, Some(_)) => change.whole(Action::Add, None),
            _ => known,
        }
    }

    /// The change of every machine, with its files before and after where it takes the change in place.
    fn changes(
        &self,
        project: &Project,
        update: &Update<'_>,
        tree: &TreeWriter,
        manifest: &Manifest,
    ) -> Result<Vec<(MachineChange, Option<Pair>)>, Failure> {
        let bundle = update.bundle();
        let old = record::machines_of_tree(bundle, &self.manifest);
        let new = record::machines_of_tree(bundle, manifest);
        let secrets = plan::Secrets::of(project, bundle).and_of(Some((&self.manifest, &self.root)));
        let last = LastTree::new(&self.manifest, &self.root);
        let mut changes = for_each_node(&project.plan.nodes, |node| {
            let whole = |action, reason: Option<String>| {
                let change = MachineChange::none(&node.name, &crate::delivery::roles(node), node.pool);
                (change.whole(action, reason), None)
            };
            if let Some(change) = update.decided(node) {
                return Ok((change, None));
            }
            let digest = |machines: &BTreeMap<String, record::MachineRecord>| {
                machines.get(&node.name).map(|machine| machine.digest.clone())
            };
            let Some(after) = digest(&new) else {
                return Ok(whole(Action::Add, None));
            };
            let Some(before) = digest(&old) else {
                return Ok((self.change_of_missing(update, node, &after), None));
            };
            if self.args.from.is_some() && update.is_between(node, &before, &after) {
                let reason = format!(
                    "{} has a document that is older than the one in the record",
                    self.root.display()
                );
                return Ok(whole(Action::Unknown, Some(reason)));
            }
            if before == after {
                return Ok(whole(Action::None, None));
            }
            // Whether the tree in place is that of the record, or whether --replace asks for it.
            let change = update
                .change_of(node, &after)
                .filter(|change| change.action == Action::Replace);
            let pair = self.pair(node, &last, (tree, manifest))?;
            let (old, new) = pair.as_ref().map(|pair| (&pair.old, &pair.new)).unzip();
            if let Some(change) = change.filter(|_| self.args.from.is_none()) {
                let moves = plan::moves(old, new);
                return Ok((MachineChange { moves, ..change }, None));
            }
            let change = update.compared(node, &after, plan::changed(node, old, new, &secrets));
            let pair = pair.filter(|_| change.in_place());
            Ok((change, pair))
        })?;
        update.refuse_damaged(Some(&last))?;
        let mut explained: Vec<_> = changes.iter().map(|(change, _)| change.clone()).collect();
        plan::configure(project, update, Some((&self.manifest, &self.root)), &mut explained);
        plan::explain(project, &mut explained)?;
        for (own, change) in changes.iter_mut().zip(explained) {
            own.0 = change;
            // The documents of a machine that only applies kubeadm's configuration are the same.
            if own.1.is_none() && own.0.in_place() {
                own.1 = self.pair(project.node(&own.0.name)?, &last, (tree, manifest))?;
            }
        }
        update.refuse_damaged(Some(&last))?;
        changes.extend(update.removed().into_iter().map(|change| (change, None)));
        Ok(changes)
    }
}

/// The first control plane on which kubeadm does something: it upgrades the cluster, and uploads the configuration.
fn first_of(changes: &[(MachineChange, Option<Pair>)]) -> Option<String> {
    let upgrades = |change: &&MachineChange| {
        change.in_place()
            && Member::of(&change.roles) == Member::ControlPlane
            && change
                .handlers()
                .iter()
                .any(|own| matches!(own, Handler::Kubeadm | Handler::Configure))
    };
    let mut changes = changes.iter().map(|(change, _)| change);
    changes.find(upgrades).map(|change| change.name.clone())
}

/// Kubernetes and etcd go neither back nor over a minor; the record checks this for the tree in place.
fn refuse_skipped(from: &Path, program: &str, old: Option<&Version>, new: &Version) -> Result<(), Failure> {
    let goes = |old: &&Version| old.major == new.major && *old <= new && new.minor - old.minor <= MINOR_STEPS;
    match old.filter(|old| !goes(old)) {
        None => Ok(()),
        Some(old) => Err(Failure::Refused(format!(
            "{} is of {program} {old}, and the spec of {new}: {program} goes neither back nor over a minor\n  \
             = help: write an update for each minor, and run them one after the other",
            from.display(),
        ))),
    }
}

fn script_name(name: &str) -> String {
    format!("{name}.sh")
}

fn described(directory: &str, node: &NodePlan, file: &str) -> ManifestFile {
    ManifestFile {
        node: Some(node.name.clone()),
        pool: node.pool,
        roles: crate::delivery::roles(node),
        ..ManifestFile::new(format!("{directory}/{file}"))
    }
}

/// A line for each script or machine: `STEP ACTION KIND NAME [SCRIPT]`.
fn order_text(steps: &[Step], is_settings_alone: bool) -> String {
    let mut text = "# step action kind machine script: go on when all machines of a step are done\n".to_owned();
    if is_settings_alone {
        text += &format!("{SETTINGS_ALONE}\n");
    }
    for (at, step) in steps.iter().enumerate() {
        let kind = step.of.name().replace(' ', "-");
        for name in &step.machines {
            let (verb, script) = match (step.of, step.action) {
                (Member::Manifests, _) => ("apply", format!(" {MANIFESTS}.sh")),
                (_, Action::InPlace) => (plan::verb(step.action), format!(" {name}.sh")),
                (_, action) => (plan::verb(action), String::new()),
            };
            text += &format!("{} {verb} {kind} {name}{script}\n", at + 1);
        }
    }
    text
}

/// The result of a run.
pub(super) struct Written {
    changes: Vec<MachineChange>,
    manifests: Vec<FileChange>,
    directory: Option<String>,
    count: usize,
    carried: Option<carried::Written>,
    /// Folders with scripts of earlier updates, as a list.
    earlier: Option<String>,
}

#[derive(Serialize)]
struct Scripts<'a> {
    #[serde(flatten)]
    plan: plan::Report<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scripts: Option<String>,
}

impl Written {
    /// The changes of members of etcd, which only a replacement endangers.
    pub(super) fn changes(&self) -> &[MachineChange] {
        &self.changes
    }

    /// Prints the changes, and where the scripts are.
    pub(super) fn print(&self, args: &cli::Update, project: &Project, update: &Update<'_>) -> Result<(), Failure> {
        let counts = Counts::of(&self.changes, update.applied_manifests().is_some());
        let report = plan::Report::new(project, update, (&self.changes, &self.manifests), counts);
        let scripts = self
            .directory
            .as_ref()
            .map(|own| args.out.join(own).display().to_string());
        if args.output == cli::OutputFormat::Json {
            return streams::json(&Scripts { plan: report, scripts });
        }
        streams::text(&report.text())?;
        if let Some(folders) = &self.earlier {
            update.tell_earlier_scripts(folders);
        }
        let Some(scripts) = scripts else {
            streams::tell(match counts.replace {
                0 => "no script was written: no machine takes a change in place".to_owned(),
                count => format!(
                    "no script was written: create {} anew from the new documents, in this order",
                    counted(count, "machine")
                ),
            });
            return Ok(());
        };
        streams::tell(format_args!(
            "wrote {} to {scripts}: run them as root on their machines, in the order of {scripts}/{ORDER}; they may hold secrets\n\
             when all machines of the order are done: firelay update --done",
            counted(self.count, "script")
        ));
        if let Some(carried) = &self.carried {
            streams::tell(carried.text(&scripts));
        }
        Ok(())
    }
}
