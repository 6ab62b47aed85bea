//! `certs`: every certificate and credential of a cluster, with the day on which it ends.

mod calendar;
mod credential;
mod inventory;
mod report;

use firelay_yaml::duration;
use time::{Duration, OffsetDateTime};

pub(super) use self::{
    credential::{Credential, Group, groups},
    inventory::{Dates, Inventory, of_tree},
    report::{left, place},
};
use super::{
    bundle::{bundle_path, refuse_lost},
    clock,
    failure::Failure,
    progress,
    project::Project,
    state::{State, refuse_foreign, same_cluster, whole_second},
    streams,
};
use crate::{
    cli::{Certs, CertsOutput},
    secrets::Bundle,
    tree::{Manifest, TreeReader},
};

/// Runs the verb.
pub fn run(args: &Certs) -> Result<(), Failure> {
    let within = args.within.as_deref().map(within).transpose()?;
    let project = Project::load(&args.inputs.spec)?;
    let state = State::open(args.state.as_deref(), &args.inputs)?;
    let path = bundle_path(&args.inputs);
    refuse_lost(&path, &args.out, &project.plan.name)?;
    state.refuse_lost(&path, &project.plan.name)?;
    let bundle = project.bundle(&args.inputs, "certs")?;
    refuse_foreign(&state, &bundle)?;
    let tree = TreeReader::open_last(&args.out)?.map(|tree| tree.manifest);
    same_cluster(&args.out, tree.as_ref(), &project.plan.name, &bundle)?;
    let dates = Dates::of(state.record(), tree.as_ref(), &bundle);
    let list = || Inventory::of(&project.plan, &bundle, &dates);
    let inventory = progress::during("listing the certificates", list)?;
    tell_differences(args, &inventory, tree.as_ref());
    let now = whole_second(clock::now()?);
    report(args, &bundle, &inventory.credentials, now)?;
    let ends = |credential: &Credential| within.is_some_and(|within| credential.needs_work_before(now + within));
    match inventory.credentials.iter().any(ends) {
        true => Err(Failure::Changes),
        false => Ok(()),
    }
}

/// `30d`, or as Go writes durations.
fn within(text: &str) -> Result<Duration, Failure> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u16>().ok());
    let within = days.map(|days| Duration::days(days.into()));
    let longest = Duration::days(u16::MAX.into());
    let within = within.or_else(|| duration::parse(text).filter(|within| *within <= longest));
    within.ok_or_else(|| Failure::Usage(format!("--within {text:?} is not a duration such as 30d or 720h")))
}

/// Warns of documents whose certificates end on another day than those that spec, bundle and record make.
fn tell_differences(args: &Certs, inventory: &Inventory, tree: Option<&Manifest>) {
    let differ = tree.map(|tree| inventory.differences(tree)).unwrap_or_default();
    if !differ.is_empty() {
        let names: Vec<_> = differ.iter().map(String::as_str).collect();
        streams::tell(format_args!(
            "warning: certificates of {} in {} end on another day than the spec makes them\n  \
             = help: the dates below are those of the spec; firelay plan shows the difference",
            crate::record::listed(&names),
            args.out.display()
        ));
    }
}

fn report(args: &Certs, bundle: &Bundle, credentials: &[Credential], now: OffsetDateTime) -> Result<(), Failure> {
    match args.output {
        CertsOutput::Text => streams::text(&report::text(&bundle.cluster, credentials, now)),
        CertsOutput::Json => streams::json(&report::Report::new(&bundle.cluster, credentials, now)),
        CertsOutput::Ics => streams::data(&calendar::render(bundle, credentials, now)),
    }
}
