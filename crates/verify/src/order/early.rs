//! Waits that are too short.
//!
//! A wait for another machine must be longer than every deadline of the other machine's own steps. It must not be
//! shorter than the other machine's waits: otherwise the healthy machine reports a failure first. Both then start over,
//! so this is a warning. It is an error if the wait ends too early even when everything works.

use super::{
    super::{Finding, Level},
    chain::{Event, Wait},
    graph::{At, Graph, Need},
    run::Run,
    table::TABLE,
};

/// All such waits of a tree.
pub(super) fn check(graph: &Graph<'_>, run: &Run) -> Vec<Finding> {
    let findings = graph.waits().filter_map(|(place, wait, need)| {
        let limit = wait.limit?;
        let waited = run.waits.get(&place)?;
        let foreign = |by: &&At| by.machine != place.machine;
        let by: Vec<_> = waited.by.iter().filter(foreign).copied().collect();
        // An earlier wait has observed the condition already.
        let new = !known(graph, run, place, &by);
        let mut longest = by.iter().filter(|_| new).filter_map(|by| longest(graph, *by)).max();
        let mut expected = if new { waited.to - waited.from } else { 0 };
        if wait.rule.turn.is_some() && matches!(need, Need::Of { .. }) {
            longest = longest.max(queue(graph, place));
            expected = expected.max(waited.to - waited.from);
        }
        finding(graph, place, wait, limit, expected, longest)
    });
    findings.collect()
}

/// A deadline of another machine; it must be shorter than the wait, or may be equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Deadline {
    /// The least number of seconds that the wait has to have.
    least: u64,
    seconds: u64,
    machine: String,
    of: String,
}

fn finding(
    graph: &Graph<'_>,
    place: At,
    wait: &Wait,
    limit: u64,
    expected: u64,
    longest: Option<Deadline>,
) -> Option<Finding> {
    let name = graph.name(place.machine);
    let title = &wait.rule.title;
    let help = "raise join.waitTimeout, or lower kubernetes.timeouts";
    if limit <= expected {
        let message =
            format!("{name} gives up after {limit} s on {title}, which takes about {expected} s when all goes well");
        return Some(graph.finding(place, "FL1057", message).help(help));
    }
    let Deadline {
        seconds, machine, of, ..
    } = longest.filter(|longest| limit < longest.least)?;
    let message =
        format!("{name} gives up after {limit} s on {title}, before {machine} gives up after {seconds} s on {of}");
    let mut finding = graph.finding(place, "FL1057", message).help(help);
    finding.level = Level::Warning;
    Some(finding)
}

/// Whether a wait before this one on the same machine was ended by the same acts.
fn known(graph: &Graph<'_>, run: &Run, place: At, by: &[At]) -> bool {
    let earlier = graph.before(place).filter(|(earlier, _)| *earlier != place);
    let mut earlier = earlier.filter_map(|(earlier, _)| run.waits.get(&earlier));
    by.is_empty() || earlier.any(|waited| by.iter().all(|by| waited.by.contains(by)))
}

/// The longest deadline on the way to an act.
fn longest(graph: &Graph<'_>, act: At) -> Option<Deadline> {
    graph
        .before(act)
        .flat_map(|(place, event)| deadlines(graph, place, event))
        .max()
}

/// The longest deadline of another machine that has the turn.
fn queue(graph: &Graph<'_>, place: At) -> Option<Deadline> {
    let others = graph
        .waits()
        .filter(|(other, wait, _)| wait.rule.turn.is_some() && other.machine != place.machine);
    let held = others.flat_map(|(other, _, _)| {
        let step = &graph.chains[other.machine].steps[other.step];
        let after = step.events.iter().enumerate().skip(other.event + 1);
        after.flat_map(move |(event, what)| deadlines(graph, At { event, ..other }, what))
    });
    held.max()
}

fn deadlines(graph: &Graph<'_>, place: At, event: &Event) -> Vec<Deadline> {
    let machine = graph.name(place.machine).to_owned();
    match event {
        Event::Act(act) => {
            let deadline = |(key, seconds): &(&str, u64)| Deadline {
                least: seconds.saturating_add(1),
                seconds: *seconds,
                machine: machine.clone(),
                of: format!("{} ({key})", act.rule.title),
            };
            act.deadlines.iter().map(deadline).collect()
        }
        Event::Wait(wait) => {
            let own = wait.rule.given.iter().all(|given| TABLE.local.contains(given)) && wait.rule.outside.is_none();
            let deadline = |seconds: u64| Deadline {
                least: if own { seconds.saturating_add(1) } else { seconds },
                seconds,
                machine: machine.clone(),
                of: wait.rule.title.clone(),
            };
            wait.limit.map(deadline).into_iter().collect()
        }
    }
}
