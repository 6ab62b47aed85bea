//! `plan`: what a render would change, machine by machine, and the order in which a cluster takes it.

mod alike;
mod compare;
mod founding;
mod report;
mod route;

use firelay_yaml::diagnostic::{Diagnostic, Source};
use time::OffsetDateTime;

use super::{
    adopt::read_cluster,
    bundle::{bundle_path, refuse_lost},
    failure::Failure,
    measure::{self, Basis},
    project::{Project, print_findings, refusal},
    state::{Applying, Rendering, State, Update, earlier_scripts, same_cluster},
};
use crate::{
    adopt::{Objects, living},
    changes::Counts,
    cli::{Findings, Plan},
    tree::TreeReader,
};

pub(super) use compare::{
    Pair, Secrets, assembled, changed, changed_machines, explain, last_machines, manifests, moves, rendered_changes,
    unpacked,
};
pub(super) use founding::configure;
pub(super) use report::{Report, field, file, listed_steps, machine, verb};

/// Runs the verb.
pub fn run(args: &Plan) -> Result<(), Failure> {
    match (print(args), args.output) {
        (Ok(verdict), _) => verdict,
        (Err(failure), Findings::Text) => Err(failure),
        (Err(failure), output) => Err(report::print_failure(failure, output)?),
    }
}

/// The machines that run, compared with the record. Nobody else knows what is in the cluster.
fn drift(args: &Plan, project: &Project, update: &Update<'_>) -> Result<Vec<Diagnostic>, Failure> {
    let kubeconfig = args.kubeconfig.as_deref().map(|path| (path, args.context.as_deref()));
    if kubeconfig.is_none() && args.from.is_empty() {
        return Ok(Vec::new());
    }
    let Some(record) = update.base() else {
        return Err(Failure::Usage(
            "there is no record that could be compared with the cluster\n  = help: firelay adopt, or firelay render, writes it".to_owned(),
        ));
    };
    let mut source = Source::default();
    read_cluster(&args.from, kubeconfig, &mut source)?;
    let (objects, broken) = Objects::read(&source, 0);
    let removed = update.removed();
    let has_namesake = |name: &str| project.plan.nodes.iter().any(|node| node.name == name);
    let gone: Vec<_> = { removed.iter() }
        .filter(|own| !own.pool && !has_namesake(&own.name))
        .map(|own| own.name.as_str())
        .collect();
    match broken.is_empty() {
        true => {
            let stays = living::removed(&objects, &gone, |name| update.line(name));
            Ok([living::compare(&objects, record), stays].concat())
        }
        false => {
            print_findings(&source, &broken);
            Err(Failure::Refused(refusal("the cluster", &broken)))
        }
    }
}

/// Prints what `check` says of a document that is too large, before the failure.
fn explained(project: &Project, update: &Update<'_>, failure: Failure) -> Failure {
    match update.assembly() {
        Ok(assembly) => measure::explained(project, Basis::of(&assembly), failure),
        Err(failure) => failure,
    }
}

/// Prints the plan; the verdict about it, or the reason why there is none.
fn print(args: &Plan) -> Result<Result<(), Failure>, Failure> {
    let (project, state) = rayon::join(
        || Project::load(&args.inputs.spec),
        || State::open(args.state.file.as_deref(), &args.inputs),
    );
    let (project, state) = (project?, state?);
    let path = bundle_path(&args.inputs);
    refuse_lost(&path, &args.out, &project.plan.name)?;
    state.refuse_lost(&path, &project.plan.name)?;
    let bundle = project.bundle(&args.inputs, "plan")?;
    let last = TreeReader::open_last(&args.out)?;
    let manifest = last.as_ref().map(|last| &last.manifest);
    same_cluster(&args.out, manifest, &project.plan.name, &bundle)?;
    let state = state.with_tree(&args.out, manifest, args.state.adopt_tree)?;
    let rendering = Rendering {
        args: &args.state,
        out: &args.out,
        project: &project,
        bundle: &bundle,
        nodes: &project.plan.nodes,
        whole: true,
        applying: Applying::IF_CHANGED,
        now: OffsetDateTime::now_utc(),
    };
    let mut update = Update::begin(rendering, &state, manifest)?;
    let changes = compare::changes(&project, &update, manifest);
    let changes = changes.map_err(|failure| explained(&project, &update, failure))?;
    update.refuse_stale(&changes)?;
    update.tell_unrecorded();
    update.tell_founded_anew();
    update.tell_administrator();
    if update.check_unknown(&args.out, &changes) {
        update.check_members(&changes);
    }
    update.check_upgrade(&changes);
    update.check_configuration(&changes);
    update.findings.extend(drift(args, &project, &update)?);
    update.accept();
    let counts = Counts::of(&changes, update.applied_manifests().is_some());
    let upgrades = route::upgrades(&project, &update, args);
    let manifests = manifests(&project, &update, manifest.map(|last| (last, args.out.as_path())))?;
    let report = Report::new(&project, &update, (&changes, &manifests), counts).by_way_of(upgrades);
    report.print(&project, &update, args.output)?;
    match earlier_scripts(manifest, &args.out) {
        Some(folders) => update.tell_earlier_scripts(&folders),
        None => update.tell_pending(),
    }
    if !counts.is_empty() {
        update.tell_unfounded();
    }
    let changes = args.detailed_exitcode && !counts.is_empty();
    Ok(match update.verdict(&update.findings) {
        Ok(()) if changes => Err(Failure::Changes),
        verdict => verdict,
    })
}
