//! `recover`: the commands by which this cluster comes back from a snapshot of etcd. The programs on the machines do the work, because a cluster
//! without a quorum takes no order from outside.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use serde::Serialize;
use time::OffsetDateTime;

use super::{
    command_line::{command_of_tree, done_command, publish_command},
    failure::{Failure, shell_word},
    plan::unpacked,
    project::{Project, did_you_mean},
    state::{State, earlier_scripts},
    streams,
};
use crate::{
    cli::Recover,
    plan::{EtcdBackupPlan, NodePlan, Plan},
    record::{self, MachineRecord, Record},
    tree::{Role, TreeReader},
};

/// The scheme of a snapshot in a bucket.
const BUCKET: &str = "s3://";
/// The length of `-20261123T030010Z.db`, with which the name of a snapshot ends.
const TIME: usize = 20;

/// Commands of one place. Each waits for the one before.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    /// The machine; where spec and bundle are if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    purpose: String,
    commands: Vec<String>,
}

#[derive(Serialize)]
struct Recovery<'a> {
    cluster: &'a str,
    snapshot: &'a str,
    steps: Vec<Step>,
}

/// Runs the verb.
pub fn run(args: &Recover) -> Result<(), Failure> {
    let project = Project::load(&args.spec)?;
    let plan = &project.plan;
    let state = State::open(args.state.as_deref(), &args.inputs())?;
    let last = TreeReader::open_last(&args.out)
        .ok()
        .flatten()
        .map(|tree| tree.manifest);
    let state = state.with_tree(&args.out, last.as_ref(), false)?;
    let backup = backup(plan, state.record())?;
    refuse_foreign(plan, &state)?;
    refuse_other_members(plan, &state)?;
    check_place(&args.snapshot, backup)?;
    let founder = founder(plan, args)?;
    for name in &args.lost {
        member(plan, "--lost", name)?;
    }
    let lost = |node: &NodePlan| args.lost.contains(&node.name);
    if lost(founder) {
        let (name, help) = (
            &founder.name,
            "name a member that runs with --on, and copy the snapshot to it",
        );
        return Err(Failure::Refused(format!(
            "{name} is lost, and cannot found etcd anew\n  = help: {help}"
        )));
    }
    let running: Vec<_> = members(plan).filter(|node| !lost(node)).collect();
    refuse_adopted(state.record(), running.iter().copied())?;
    refuse_unrendered(&args.out, &running)?;
    warn_of_quorum(plan, args, running.len());
    if let Some(folders) = earlier_scripts(last.as_ref(), &args.out) {
        streams::tell(format_args!(
            "scripts of earlier updates are in {folders}: run those that have not run when the recovery is over, then firelay update --done; \
             where {} does not have firelay-recover yet, run the script of that machine first",
            founder.name
        ));
    }
    let recovery = Recovery {
        cluster: &plan.name,
        snapshot: &args.snapshot,
        steps: steps(plan, args, (founder, state.record()), |node| {
            lost(node) || has_ended(plan, state.record(), node, OffsetDateTime::now_utc())
        }),
    };
    streams::report(args.output, &recovery, || recovery.text())
}

/// A majority that runs goes on by itself, and a recovery would throw away what it wrote since the snapshot.
fn warn_of_quorum(plan: &Plan, args: &Recover, running: usize) {
    let all = members(plan).count();
    if !args.lost.is_empty() && running > all / 2 {
        streams::tell(format_args!(
            "warning: {running} of {all} members of etcd are not lost: if they run, etcd has a quorum, and a recovery forgets what was written \
             since the snapshot\n  = help: replace {} instead: docs/day-two.md, Replace a dead machine",
            args.lost.join(", ")
        ));
    }
}

/// The members of etcd.
fn members(plan: &Plan) -> impl Iterator<Item = &NodePlan> {
    let is_member = |node: &&NodePlan| match plan.etcd.external {
        true => node.roles.etcd,
        false => node.roles.control_plane,
    };
    plan.nodes.iter().filter(is_member)
}

/// Only machines with snapshots have the program that recovers.
fn backup<'p>(plan: &'p Plan, record: Option<&Record>) -> Result<&'p EtcdBackupPlan, Failure> {
    if record.is_some_and(|record| record.founded_at.is_none()) {
        return Err(Failure::Refused(format!(
            "the record says that cluster {} is not founded: there is nothing to recover\n  = help: if it runs, say so first: firelay \
             founded",
            plan.name
        )));
    }
    plan.etcd.backup.as_ref().ok_or_else(|| {
        Failure::Refused(
            "the spec has no etcd.backup, so no machine has firelay-recover\n  = help: restore by hand as etcd's page on disaster recovery \
             says, or write etcd.backup into the spec and create a machine with its new document"
                .to_owned(),
        )
    })
}

/// The record is of another cluster, or of another topology.
fn refuse_foreign(plan: &Plan, state: &State) -> Result<(), Failure> {
    let Some(record) = state.record() else { return Ok(()) };
    let path = state.path.display();
    if record.cluster != plan.name {
        return Err(Failure::Refused(format!(
            "{path} is of cluster {}, and the spec of {}\n  = help: name the record of this cluster with --state",
            record.cluster, plan.name
        )));
    }
    let external = record.fixed.etcd.name() == "external";
    if external == plan.etcd.external {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "{path} has {} etcd, and the spec another\n  = help: bring the spec back that the machines have",
        record.fixed.etcd.name()
    )))
}

fn check_place(snapshot: &str, backup: &EtcdBackupPlan) -> Result<(), Failure> {
    let folder = snapshot.rsplit_once('/').map_or("", |(folder, _)| folder);
    let refused = match (snapshot.starts_with(BUCKET), &backup.s3) {
        (false, _) if snapshot.starts_with('/') => return Ok(()),
        (false, _) => "is no absolute path: it is a file on the machine that founds etcd anew".to_owned(),
        (true, Some(bucket)) if folder == bucket.place => return Ok(()),
        (true, Some(bucket)) => format!("is not in {}, the bucket of etcd.backup", bucket.place),
        (true, None) => format!("is in a bucket, and snapshots of this cluster are in {}", backup.to),
    };
    Err(Failure::Usage(format!("--snapshot {snapshot} {refused}")))
}

fn member<'p>(plan: &'p Plan, flag: &str, name: &str) -> Result<&'p NodePlan, Failure> {
    let names = members(plan).map(|node| node.name.as_str()).collect::<Vec<_>>();
    let found = members(plan).find(|node| node.name == name);
    found.ok_or_else(|| {
        let hint = did_you_mean(name, names.iter().copied());
        Failure::Usage(format!(
            "{flag} {name} is no member of etcd, which are {}{hint}",
            names.join(", ")
        ))
    })
}

/// The member that `--on` names, or the one whose name the snapshot has.
fn founder<'p>(plan: &'p Plan, args: &Recover) -> Result<&'p NodePlan, Failure> {
    if let Some(name) = &args.on {
        return member(plan, "--on", name);
    }
    taken_by(plan, &args.snapshot).ok_or_else(|| {
        let file = args.snapshot.rsplit('/').next().unwrap_or_default();
        Failure::Usage(format!(
            "{file} does not name a member of etcd: name the one that founds etcd anew with --on"
        ))
    })
}

/// The member whose name the snapshot's file has.
fn taken_by<'p>(plan: &'p Plan, snapshot: &str) -> Option<&'p NodePlan> {
    let file = snapshot.rsplit('/').next().unwrap_or_default();
    let rest = file.strip_prefix("etcd-")?;
    let name = rest.get(..rest.len().checked_sub(TIME)?)?;
    members(plan).find(|node| node.name == name)
}

/// The members that run are those of the record: a spec that has changed since the last render would leave one with its old data.
fn refuse_other_members(plan: &Plan, state: &State) -> Result<(), Failure> {
    let path = state.path.display();
    let Some(record) = state.record() else {
        streams::tell(format_args!(
            "there is no record {path}: the members of etcd are those of the spec"
        ));
        return Ok(());
    };
    let role = if plan.etcd.external {
        Role::Etcd
    } else {
        Role::ControlPlane
    };
    let recorded = { record.machines.iter() }.filter(|(_, own)| own.roles.contains(&role));
    let recorded: BTreeSet<_> = recorded.map(|(name, _)| name.as_str()).collect();
    let planned: BTreeSet<_> = members(plan).map(|node| node.name.as_str()).collect();
    if recorded == planned {
        return Ok(());
    }
    let listed = |names: BTreeSet<&str>| record::listed(&names.into_iter().collect::<Vec<_>>());
    Err(Failure::Refused(format!(
        "etcd has the members {} in {path}, and {} in the spec\n  \
         = help: bring the spec of the last render back, and change the members when etcd runs again",
        listed(recorded),
        listed(planned)
    )))
}

/// Machines that something else created have no firelay-recover.
fn refuse_adopted<'p>(record: Option<&Record>, running: impl Iterator<Item = &'p NodePlan>) -> Result<(), Failure> {
    let is_adopted = |node: &&NodePlan| {
        record.is_some_and(|record| record.machines.get(&node.name).is_some_and(MachineRecord::is_adopted))
    };
    let names: Vec<_> = running.filter(is_adopted).map(|node| node.name.as_str()).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(Failure::Refused(format!(
            "firelay did not create {}, so that firelay-recover is not there\n  = help: recover with the tool that created them, or replace \
             them: --lost NAME counts a machine as gone",
            names.join(", ")
        ))),
    }
}

/// Documents of the last render without firelay-recover: `etcd.backup` came into the spec after it. A tree that cannot be read, or lacks
/// documents, says nothing about the machines, and hinders no recovery.
fn refuse_unrendered(out: &Path, running: &[&NodePlan]) -> Result<(), Failure> {
    let Ok(Some(tree)) = TreeReader::open_last(out) else {
        return Ok(());
    };
    let read = |path: &str| fs::read(tree.root.join(path));
    let machines = unpacked(&tree.manifest, running, &read, &tree.root).unwrap_or_default();
    let lacks = |node: &&&NodePlan| {
        let program = format!("{}/firelay-recover", node.bin_dir);
        let machine = machines.get(&node.name);
        machine.is_some_and(|machine| {
            let entries = &machine.root.entries;
            !entries.is_empty() && !entries.contains_key(&program)
        })
    };
    let names: Vec<_> = running.iter().filter(lacks).map(|node| node.name.as_str()).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(Failure::Refused(format!(
            "the documents of {} in {} have no firelay-recover: the spec got etcd.backup after that render\n  = help: restore by hand as \
             etcd's page on disaster recovery says; if the machines have it, name their tree with --out",
            names.join(", "),
            out.display()
        ))),
    }
}

/// Whether the certificates in the document of a control plane have ended. After firelay-reset it joins with these, and not with those that
/// it has renewed.
fn has_ended(plan: &Plan, record: Option<&Record>, node: &NodePlan, now: OffsetDateTime) -> bool {
    let own = record.and_then(|record| record.machines.get(&node.name));
    !plan.etcd.external && own.is_some_and(|own| own.issued_at + plan.pki.leaf_validity <= now)
}

/// One member is founded from the snapshot, those that run join it, and those that cannot are created anew.
fn steps(
    plan: &Plan,
    args: &Recover,
    (founder, record): (&NodePlan, Option<&Record>),
    is_anew: impl Fn(&NodePlan) -> bool,
) -> Vec<Step> {
    let on = |node: &NodePlan, purpose: &str, commands: &[&str]| Step {
        machine: Some(node.name.clone()),
        purpose: purpose.to_owned(),
        commands: commands.iter().map(|&command| command.to_owned()).collect(),
    };
    let snapshot = &args.snapshot;
    let recover = format!("firelay-recover {snapshot} --yes");
    let elsewhere = taken_by(plan, snapshot).filter(|node| node.name != founder.name && !snapshot.starts_with(BUCKET));
    let copied = elsewhere.map(|node| {
        let purpose = format!(
            "copy the snapshot to this path, from the disk of {} or from your backup",
            node.name
        );
        on(founder, &purpose, &[&format!("ls -l {snapshot}")])
    });
    let mut steps: Vec<_> = copied.into_iter().collect();
    steps.push(on(
        founder,
        "found etcd anew, with this machine as its only member",
        &[&recover],
    ));
    let others = || members(plan).filter(|node| node.name != founder.name);
    let purpose = match plan.etcd.external {
        true => "join it without the former data; go on when it is ready",
        false => {
            "join it without the former data; where firelay-reset asks for a reboot, reboot instead; go on when it is ready"
        }
    };
    let join: &[&str] = match plan.etcd.external {
        true => &["firelay-recover --join --yes", "firelay-status"],
        false => &["firelay-reset --yes", "systemctl start firelay", "firelay-status"],
    };
    let running = others().filter(|node| !is_anew(node));
    steps.extend(running.map(|node| on(node, purpose, join)));
    steps.extend(anew(plan, args, record, others().filter(|node| is_anew(node))));
    let machine = if plan.etcd.external { plan.founder() } else { founder };
    steps.push(on(machine, "see that all is well", &["firelay-status --cluster"]));
    let has_anew = others().any(is_anew);
    steps.extend(has_anew.then(|| Step {
        machine: None,
        purpose: "say that all machines have joined, and commit the record".to_owned(),
        commands: vec![done_command(&args.inputs(), &args.out, args.state.as_deref())],
    }));
    steps
}

/// Etcd was founded anew: that machines of an earlier render may not have joined its members of before is no reason to wait.
fn anew<'p>(
    plan: &Plan,
    args: &Recover,
    record: Option<&Record>,
    lost: impl Iterator<Item = &'p NodePlan>,
) -> Option<Step> {
    let lost: Vec<_> = lost.collect();
    let names: Vec<_> = lost.iter().map(|node| node.name.as_str()).collect();
    let all_joined = members(plan).all(|node| record.is_none_or(|record| record.has_joined(&node.name)));
    let accept = if all_joined { "" } else { " --accept FL1217" };
    let render = format!(
        "{} --founded --replace {}{accept}",
        command_of_tree("render", &args.inputs(), &args.out, args.state.as_deref()),
        names.join(" --replace ")
    );
    let may_fetch = lost.iter().any(|node| node.delivery.pointer.is_some());
    let publish = may_fetch.then(|| publish_command(&args.out) + " | sh -e");
    let kubectl = format!(
        "kubectl --kubeconfig {}",
        shell_word(&args.out.join("admin.kubeconfig"))
    );
    let nodes = (!plan.etcd.external).then(|| format!("{kubectl} delete node {}", names.join(" ")));
    (!names.is_empty()).then(|| Step {
        machine: None,
        purpose: "render machines that are lost or whose documents have ended, delete their Nodes, and create them anew, one after the other"
            .to_owned(),
        // An admin.kubeconfig that has ended comes anew with the render.
        commands: [Some(render), publish, nodes].into_iter().flatten().collect(),
    })
}

impl Recovery<'_> {
    fn text(&self) -> String {
        let mut text = format!(
            "cluster {}, from {}\n\nOne step after the other, as root on the machines:\n",
            self.cluster, self.snapshot
        );
        for (at, step) in self.steps.iter().enumerate() {
            let place = step
                .machine
                .as_deref()
                .map_or_else(|| "beside spec and bundle: ".to_owned(), |name| format!("on {name}: "));
            let _ = writeln!(text, "\n{}. {place}{}", at + 1, step.purpose);
            for command in &step.commands {
                let _ = writeln!(text, "     {command}");
            }
        }
        text
    }
}
