//! The record before a render, compared with the bundle and with the tree in place.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use firelay_yaml::diagnostic::Diagnostic;
use time::{Duration, OffsetDateTime};

use super::{
    super::{
        failure::Failure,
        last_tree::{Damage, LastTree},
        streams,
    },
    Rendering, State, Update,
};
use crate::{
    record::{Edited, MachineRecord, Record, RecordText},
    secrets::Bundle,
    tree::{Manifest, ManifestFile, UPDATE, is_update},
};

/// The list of an update's steps.
pub const ORDER: &str = "ORDER";
/// A line of that list: no script brings another program, so that an upgrade does not depend on them. Scripts run in their order on
/// each machine.
pub const SETTINGS_ALONE: &str = "# settings alone: the next minor of Kubernetes does not wait for these scripts";

/// The name of the script that applies manifests; no machine has a name in capitals.
pub const MANIFESTS: &str = "MANIFESTS";

/// Findings of one kind that are shown.
const SHOWN: usize = 8;

/// Clocks of two machines may differ by this.
pub const AHEAD: Duration = Duration::hours(1);

/// A machine of which record and tree in place have different documents, with both generations.
pub(super) struct Contradiction {
    name: String,
    tree: u32,
    record: u32,
}

/// The contradiction about a machine. A machine that something else created has no document in the record.
pub(super) fn contradiction(
    tree: &BTreeMap<String, MachineRecord>,
    base: Option<&Record>,
    name: &str,
) -> Option<Contradiction> {
    let (tree, record) = tree.get(name).zip(base?.machines.get(name))?;
    let differs = tree.digest != record.digest && !record.is_adopted();
    differs.then(|| Contradiction {
        name: name.to_owned(),
        tree: tree.generation,
        record: record.generation,
    })
}

/// The contradiction about a machine that the tree has, and the record does not: a machine may have been created from its document.
pub(super) fn unrecorded(tree: &BTreeMap<String, MachineRecord>, name: &str) -> Option<Contradiction> {
    tree.get(name).map(|own| Contradiction {
        name: name.to_owned(),
        tree: own.generation,
        record: 0,
    })
}

impl Update<'_> {
    /// Refuses a tree in place that is not what the record says of machines that this render changes.
    pub(super) fn refuse_contradictions(&self, mut machines: Vec<Contradiction>) -> Result<(), Failure> {
        machines.sort_by(|one, other| one.name.cmp(&other.name));
        machines.dedup_by(|one, other| one.name == other.name);
        match self.is_founded() && !machines.is_empty() {
            true => Err(self.state.refuse(&self.stale(&machines))),
            false => Ok(()),
        }
    }

    /// Machines with documents that the record discards, in a tree with scripts that bring them.
    pub(super) fn discarded(&self) -> Vec<Contradiction> {
        let names = self.tree.keys().filter(|_| !self.scripts.is_empty());
        let all = names.filter_map(|name| contradiction(&self.tree, self.base.as_ref(), name));
        all.filter(|own| own.tree >= own.record).collect()
    }

    /// Refuses to compare documents that are not as the last render left them: no machine has an edited one.
    pub fn refuse_damaged(&self, last: Option<&LastTree<'_>>) -> Result<(), Failure> {
        let Some(last) = last.filter(|_| self.is_founded()) else {
            return Ok(());
        };
        match self.of_damaged(last.root, &last.damaged()) {
            findings if findings.is_empty() => Ok(()),
            findings => Err(self.state.refuse(&findings)),
        }
    }

    fn of_damaged(&self, root: &Path, damaged: &BTreeSet<Damage>) -> Vec<Diagnostic> {
        let text = self.state.text.as_ref();
        let one = |Damage { node, path, is_missing }: &Damage| {
            let file = root.join(path);
            let message = match is_missing {
                true => format!("{} of the last render is missing", file.display()),
                false => format!(
                    "{} is not the file that the last render wrote: its SHA-256 differs",
                    file.display()
                ),
            };
            let finding = Diagnostic::error("FL1206", message).at(text.map(|text| text.span(&["machines", node])));
            finding.label(format!("without it nobody knows what differs on {node}")).help(format!(
                "bring the spec to what was committed with this record, and render into {}: the file is made again, to the same bytes; then make \
                 this change",
                root.display()
            ))
        };
        damaged.iter().take(SHOWN).map(one).collect()
    }

    /// Tells of scripts that have to run before those of a later update.
    pub fn tell_earlier_scripts(&self, folders: &str) {
        let first = match self.state.is_of_other_clone() {
            true => format!(
                "another clone wrote {} since then: if this record has their changes, run them first; if not, delete them",
                self.state.path.display()
            ),
            false => "run them first".to_owned(),
        };
        streams::tell(format_args!(
            "scripts of earlier updates are in {folders}: {first}; `firelay update --done` removes them when all have run"
        ));
    }

    /// The tree may have scripts that have not run: its replacement would lose them.
    fn scripts_first(&self) -> String {
        self.scripts.first().map_or_else(String::new, |script| {
            format!(
                "first run the scripts in this directory (such as {script}), because no render writes them again; then "
            )
        })
    }

    /// The same where the record does not have the changes of some scripts.
    fn kept_scripts_first(&self) -> String {
        let founding = self.state.copy().map(|copy| copy.record.founding);
        let has_settings = founding == self.base.as_ref().map(|base| base.founding.clone());
        let is_kept = |script: &&String| {
            let name = Path::new(script)
                .file_stem()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            has_settings && (name == MANIFESTS || self.has_recorded_document(name))
        };
        let (kept, discarded): (Vec<_>, Vec<_>) = self.scripts.iter().partition(is_kept);
        let no = discarded
            .last()
            .map(|script| format!("do not run scripts whose changes this record does not have (such as {script}); "));
        let yes = { kept.first() }
            .map(|script| format!("run the others (such as {script}), because no render writes them again; "));
        no.into_iter().chain(yes).collect()
    }

    fn stale(&self, machines: &[Contradiction]) -> Vec<Diagnostic> {
        let out = self.render.out.display();
        let text = self.state.text.as_ref();
        let one = |Contradiction { name, tree, record }: &Contradiction| {
            let at = text.map(|text| text.span(&["machines", name]));
            let finding = match tree.cmp(record) {
                std::cmp::Ordering::Less => {
                    let message = format!(
                        "{out} is older than the record: {name} is of generation {tree} there, and of {record} here"
                    );
                    let first = self.scripts_first();
                    Diagnostic::error("FL1205", message)
                        .label("somebody else rendered since")
                        .help(format!(
                            "{first}restore the spec that was committed with this record, and render; then make the change again"
                        ))
                }
                std::cmp::Ordering::Greater => {
                    let message = match record {
                        0 => format!("{out} has a document of {name}, and the record does not have this machine"),
                        _ => format!(
                            "{out} is newer than the record: {name} is of generation {tree} there, and of {record} here"
                        ),
                    };
                    let finding = Diagnostic::error("FL1206", message).label("another render wrote this record");
                    finding.help(format!(
                        "restore the record of the last render into {out} from version control, or merge both; if no machine has the \
                         documents of {out}, move it away, and render the spec that was committed with this record"
                    ))
                }
                std::cmp::Ordering::Equal => {
                    let message = format!(
                        "{out} has another document of {name} than the record says, both of generation {record}"
                    );
                    let finding = Diagnostic::error("FL1206", message).label("this digest is not that of the tree");
                    finding.help(format!(
                        "restore the record from version control; or, if this record is right: {}move {out} away, and render the spec that was committed with \
                         it",
                        self.kept_scripts_first()
                    ))
                }
            };
            finding.at(at)
        };
        machines.iter().take(SHOWN).map(one).collect()
    }
}

/// Numbers of earlier updates whose scripts are there. Scripts run in the order of their folders.
pub fn earlier_updates(last: Option<&Manifest>, out: &Path) -> BTreeSet<u32> {
    let files = last.into_iter().flat_map(|last| &last.files);
    let there = files.filter(|file| is_update(&file.path) && out.join(&file.path).exists());
    let number = |file: &ManifestFile| file.path[UPDATE.len()..].split('/').next()?.parse::<u32>().ok();
    there.filter_map(number).collect()
}

/// `update/1`.
pub fn update_directory(number: u32) -> String {
    format!("{UPDATE}{number}")
}

/// Folders with scripts of earlier updates that are still in the tree, as a list; `None` where there are none.
pub fn earlier_scripts(last: Option<&Manifest>, out: &Path) -> Option<String> {
    let folders = earlier_updates(last, out).into_iter().map(update_directory);
    let folders: Vec<_> = folders.map(|own| out.join(own).display().to_string()).collect();
    (!folders.is_empty()).then(|| folders.join(", "))
}

/// A script of an update that nobody has said is done.
pub fn pending(out: &Path, tree: &Manifest) -> Option<String> {
    scripts(out, tree).into_iter().next()
}

/// The first of them after which a machine may have another version of a program.
pub(super) fn behind(out: &Path, tree: &Manifest) -> Option<String> {
    let is_settings_alone = |script: &String| {
        let order = fs::read_to_string(Path::new(script).with_file_name(ORDER)).unwrap_or_default();
        order.lines().any(|line| line == SETTINGS_ALONE)
    };
    let mut scripts = scripts(out, tree).into_iter();
    scripts.find(|script| !is_settings_alone(script))
}

/// The scripts of updates that nobody has said are done.
pub(super) fn scripts(out: &Path, tree: &Manifest) -> Vec<String> {
    let paths = tree.files.iter().map(|file| &file.path).filter(|path| is_update(path));
    let scripts = paths.filter(|path| path.ends_with(".sh")).map(|path| out.join(path));
    let there = scripts.filter(|path| path.exists());
    there.map(|path| path.display().to_string()).collect()
}

/// A record of another cluster or bundle, or one whose values were edited.
pub fn refuse_foreign(state: &State, bundle: &Bundle) -> Result<(), Failure> {
    let Some(text) = &state.text else { return Ok(()) };
    let record = &text.record;
    if !record.is_of(bundle) {
        let (key, own, new) = match record.cluster == bundle.cluster {
            true => ("bundle", record.bundle.clone(), bundle.fingerprint()),
            false => ("cluster", record.cluster.clone(), bundle.cluster.clone()),
        };
        let (message, help) = match key {
            "cluster" => (
                "this is the record of another cluster",
                "name the right bundle with --secrets, or the right record with --state",
            ),
            _ => (
                "this is the record of another bundle, or of an earlier step of a rotation",
                "bring the newest record back from version control and the newest bundle from its backup, or name them with --state and \
                 --secrets; a new bundle is a new cluster, which gets a record of its own",
            ),
        };
        let finding = Diagnostic::error("FL1202", message).at(text.span(&[key]));
        let finding = finding.label(format!("it is of {own}, the secrets are of {new}"));
        return Err(state.refuse(&[finding.help(help)]));
    }
    match edited(record, bundle) {
        None => Ok(()),
        Some(edited) => Err(state.refuse(&[of_edited(text, state.copy().as_ref(), &edited)])),
    }
}

/// An edited value, and what the copy in the tree has in its place.
fn of_edited(text: &RecordText, copy: Option<&RecordText>, edited: &Edited) -> Diagnostic {
    let path: Vec<_> = edited.path.iter().map(String::as_str).collect();
    let compared = match path.as_slice() {
        own @ (["fixed"] | ["machines", _]) => own,
        _ => &[],
    };
    let difference = copy.and_then(|copy| text.difference(copy, compared));
    let (at, reason) = match difference {
        Some((at, theirs)) => (
            at.unwrap_or_else(|| text.span(&path)),
            format!("{}; {theirs}", edited.reason),
        ),
        None => (text.span(&path), edited.reason.to_owned()),
    };
    let finding = Diagnostic::error("FL1203", "values in this record were edited by hand").at(at);
    finding.label(reason).help(
        "bring the record back from version control; firelay alone writes it. After a merge keep the lines of both sides; those of \
         a machine that both have, and the versions, of one",
    )
}

fn edited(record: &Record, bundle: &Bundle) -> Option<Edited> {
    let is_ahead = |at: OffsetDateTime| at > OffsetDateTime::now_utc() + AHEAD;
    let ahead = record.founded_at.is_some_and(is_ahead).then(|| Edited {
        path: vec!["foundedAt".to_owned()],
        reason: "it is in the future, or the clock of this computer is wrong",
    });
    ahead.or_else(|| record.edited(bundle))
}

/// Record and tree have one fingerprint for all machines: after a render of some, the others would count as rendered.
pub(super) fn refuse_part_of_step(
    render: &Rendering<'_>,
    state: &State,
    last: Option<&Manifest>,
) -> Result<(), Failure> {
    let record = state.record().map(|record| &record.bundle);
    let tree = last.map(|last| &last.bundle_fingerprint);
    let before = |fingerprint: &String| render.bundle.is_step_after(fingerprint);
    match !render.whole && record.into_iter().chain(tree).any(before) {
        false => Ok(()),
        true => Err(Failure::Refused(format!(
            "the bundle took a step of a rotation, and no render of all machines followed: --node would leave the others behind, and \
             {} would not show it\n  \
             = help: leave --node out; machines whose documents do not change are not touched",
            state.path.display()
        ))),
    }
}

/// The record before a render, with what this bundle and the tree know of it.
pub(super) fn before(record: &Record, tree: &BTreeMap<String, MachineRecord>, render: &Rendering<'_>) -> Record {
    let mut base = record.clone();
    // A record of an earlier version does not know which ones are pools.
    for (name, own) in &mut base.machines {
        own.pool |= tree.get(name).is_some_and(|last| last.pool);
    }
    // The bundle names the step before this one, so its CAs were those of this cluster.
    if render.bundle.other_authorities().is_some() && render.bundle.is_step_after(&record.bundle) {
        base.fixed.authorities = Record::new(&render.project.plan, render.bundle).fixed.authorities;
    }
    base
}

/// The bundle of a cluster that exists, without a record: a render would found it a second time. Only keys of a founded cluster rotate.
pub fn refuse_unrecorded(render: &Rendering<'_>, state: &State, last: Option<&Manifest>) -> Result<(), Failure> {
    let says = render.args.founded || render.args.refound;
    let exists = render.bundle.adopted || (render.bundle.rotation.is_some() && last.is_none());
    if !exists || state.record().is_some() || says {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "the secrets are of a cluster that exists, and there is no record of it at {}\n  \
         = help: bring the record back, or name it with --state; if there never was one: firelay render --founded",
        state.path.display()
    )))
}

/// A tree of another cluster, or of the same name with other secrets, is not replaced: its machines would be, too.
pub fn same_cluster(out: &Path, last: Option<&Manifest>, cluster: &str, bundle: &Bundle) -> Result<(), Failure> {
    let Some(last) = last else { return Ok(()) };
    let out = out.display();
    if last.cluster != cluster {
        return Err(Failure::Secrets(format!(
            "{out} holds the documents of cluster {}, the spec describes cluster {cluster}: name another directory with --out",
            last.cluster
        )));
    }
    if !bundle.continues(&last.bundle_fingerprint) {
        return Err(Failure::Secrets(format!(
            "{out} was rendered with the secrets {}, these are {}: another bundle is another cluster, and in one of the same \
             cluster a token, a key, epoch or issuedAt was changed\n  \
             = help: bring the bundle back as it was; if all machines are to be replaced, name another directory with --out",
            last.bundle_fingerprint,
            bundle.fingerprint()
        )));
    }
    Ok(())
}
