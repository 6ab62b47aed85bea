//! The machines that end a wait, as text, and groups of machines that do the same and are drawn as one.

use std::collections::BTreeMap;

use super::{
    chain::{Event, Wait},
    graph::{At, Graph, Need},
    names::{natural, together},
    run::Run,
};

/// The text for a wait that the machine ends by itself.
pub(super) const ITSELF: &str = "itself";

/// The acts that end a wait: the first ones, or all that might.
pub(super) fn ends(graph: &Graph<'_>, run: &Run, at: At) -> Vec<At> {
    match (run.waits.get(&at), graph.need(at)) {
        (_, Some(Need::Of { from, enough })) if *enough > 1 => from.clone(),
        (Some(waited), _) => waited.by.clone(),
        (None, Some(Need::Of { from, .. })) => from.clone(),
        _ => Vec::new(),
    }
}

/// The machines that end a wait, as text.
pub(super) fn who(graph: &Graph<'_>, run: &Run, at: At, wait: &Wait) -> String {
    match graph.need(at) {
        Some(Need::Outside(who)) if wait.at.is_empty() => who.clone(),
        Some(Need::Outside(who)) => format!("{who} ({})", wait.at.join(", ")),
        Some(Need::Of { enough, .. }) => {
            let ends = ends(graph, run, at);
            let mut names: Vec<_> = ends.iter().map(|end| graph.name(end.machine)).collect();
            names.sort_by_key(|name| natural(name));
            names.dedup();
            match (&names[..], *enough) {
                ([], _) => "nobody".to_owned(),
                ([one], _) if *one == graph.name(at.machine) => ITSELF.to_owned(),
                (names, 1) => together(names),
                (names, enough) => format!("{enough} of {}", together(names)),
            }
        }
        None => "nobody".to_owned(),
    }
}

/// The key by which machines are drawn as one: steps, and waits with the machines that end them.
pub(super) fn likeness(graph: &Graph<'_>, run: &Run, machine: usize) -> Vec<String> {
    let steps = graph.chains[machine].steps.iter().enumerate();
    steps
        .flat_map(|(number, step)| {
            let events = step.events.iter().enumerate().map(move |(event, what)| match what {
                Event::Wait(wait) => {
                    let who = who(
                        graph,
                        run,
                        At {
                            machine,
                            step: number,
                            event,
                        },
                        wait,
                    );
                    format!("{} {who} {:?}", wait.rule.title, wait.limit)
                }
                Event::Act(act) => act.rule.action.clone(),
            });
            [step.name.to_owned()].into_iter().chain(events)
        })
        .collect()
}

/// In which group each machine is.
pub(super) fn like(members: &[Vec<usize>]) -> BTreeMap<usize, usize> {
    let groups = members.iter().enumerate();
    groups
        .flat_map(|(group, machines)| machines.iter().map(move |machine| (*machine, group)))
        .collect()
}

/// How many kinds of machines, one after the other, have to get on before each is through.
pub(super) fn depths(graph: &Graph<'_>, run: &Run, likes: &BTreeMap<usize, usize>) -> Vec<usize> {
    let mut depths = vec![0; graph.chains.len()];
    let mut waits: Vec<_> = run.waits.iter().collect();
    waits.sort_by_key(|(at, waited)| (waited.to, **at));
    let mut of_wait: BTreeMap<At, usize> = BTreeMap::new();
    for (at, waited) in waits {
        let foreign = waited.by.iter().filter(|by| likes[&by.machine] != likes[&at.machine]);
        let depth = |act: &At| {
            graph
                .before(*act)
                .filter_map(|(place, _)| of_wait.get(&place))
                .max()
                .map_or(1, |depth| depth + 1)
        };
        let depth = foreign.map(depth).max().unwrap_or_default();
        of_wait.insert(*at, depth);
        depths[at.machine] = depths[at.machine].max(depth);
    }
    depths
}
