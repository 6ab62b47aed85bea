//! Whether the boot order works: every wait ends, one machine founds, control planes join in turn, no wait is too
//! short.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{Finding, MANIFEST, Tree},
    chain::{Chain, Event, Step, Wait},
    early,
    graph::{At, Graph, Need},
    reader::UNIT,
    run::Run,
    steps,
};

/// A file that a render of all nodes writes, and a render of some does not.
const OF_ALL: &str = "node-names";

const LEAVE: &str =
    "verify knows the waits of firelay's own steps; leave the unit and its scripts as they were rendered";

/// All findings about the order. In a tree of some machines, or with an unreadable one, only the checks of single
/// machines run.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let graph = Graph::of(&tree.machines, tree.manifest.founded);
    let mut findings = without_steps(&graph);
    let whole = findings.is_empty() && tree.machines.iter().all(|machine| machine.faults.is_empty());
    findings.extend(without_limit(&graph));
    findings.extend(steps::check(&graph.chains));
    findings.extend(turns(&graph.chains));
    let all = tree.manifest.files.iter().any(|file| file.path == OF_ALL);
    if !all || !whole {
        return findings;
    }
    let run = Run::of(&graph);
    findings.extend(founders(&graph));
    findings.extend(without_provider(&graph));
    findings.extend(circles(&graph, &run));
    findings.extend(early::check(&graph, &run));
    findings
}

/// Exactly one machine founds, and queries all others first.
fn founders(graph: &Graph<'_>) -> Vec<Finding> {
    let founders: Vec<_> = graph.chains.iter().filter(|chain| chain.founds).collect();
    match founders[..] {
        [] if graph.standing || graph.chains.is_empty() => Vec::new(),
        [] => vec![nobody(&graph.chains)],
        [one] => careless(graph, one).into_iter().collect(),
        _ => several(&founders),
    }
}

fn nobody(chains: &[Chain<'_>]) -> Finding {
    let would = chains.iter().find_map(|chain| Some((chain, chain.would_found?)));
    let finding = match would {
        Some((chain, config)) => {
            let message = format!(
                "no machine founds the cluster: {} would, but {config} is missing",
                chain.machine.name
            );
            Finding::error("FL1051", &chain.machine.document, message).at(config)
        }
        None => Finding::error("FL1051", MANIFEST, "no machine founds the cluster"),
    };
    finding.help("render all documents again; with --founded if the cluster already exists")
}

fn several(founders: &[&Chain<'_>]) -> Vec<Finding> {
    let all: Vec<_> = founders.iter().map(|chain| chain.machine.name.as_str()).collect();
    let finding = |chain: &&Chain<'_>| {
        let message = format!("{} machines found a cluster each: {}", all.len(), all.join(", "));
        let finding = Finding::error("FL1052", &chain.machine.document, message);
        finding.help("render all documents again: one firelay writes one founder")
    };
    founders.iter().map(finding).collect()
}

/// A replaced founder would found a second cluster next to a control plane that it does not query.
fn careless(graph: &Graph<'_>, founder: &Chain<'_>) -> Option<Finding> {
    let step = founder.steps.iter().find(|step| step.founding)?;
    let asked = step.asks.map_or_else(Vec::new, |variable| founder.named(variable));
    let others = graph
        .chains
        .iter()
        .filter(|chain| chain.machine.name != founder.machine.name && chain.serves());
    let missed = others.filter(|chain| {
        !chain
            .variable("FL_ADDRESSES")
            .split_whitespace()
            .any(|own| asked.iter().any(|host| host == own))
    });
    let missed: Vec<_> = missed.map(|chain| chain.machine.name.as_str()).collect();
    if step.asks.is_some() && missed.is_empty() {
        return None;
    }
    let message = if step.asks.is_some() {
        format!(
            "{} founds without asking {} whether a cluster exists",
            founder.machine.name,
            missed.join(", ")
        )
    } else {
        format!(
            "{} founds without asking whether a cluster exists",
            founder.machine.name
        )
    };
    let finding = Finding::error("FL1053", &founder.machine.document, message).at(step.path);
    Some(finding.help("a founder that is replaced has to join; render its document again"))
}

/// Machines without any known step: their chain cannot be checked.
pub(super) fn without_steps(graph: &Graph<'_>) -> Vec<Finding> {
    let chains = graph.chains.iter().filter(|chain| chain.steps.is_empty());
    let readable = chains.filter(|chain| chain.machine.faults.is_empty());
    let finding = |chain: &Chain<'_>| {
        let message = format!(
            "no steps of {} are found: {UNIT} starts none that can be read",
            chain.machine.name
        );
        Finding::error("FL1058", &chain.machine.document, message).help(LEAVE)
    };
    readable.map(finding).collect()
}

/// Waits whose deadlines are no numbers.
fn without_limit(graph: &Graph<'_>) -> Vec<Finding> {
    let endless = graph.waits().filter(|(_, wait, _)| wait.limit.is_none());
    let finding = |(place, wait, _): (At, &Wait, &Need)| {
        let message = format!("the wait for {} has no deadline that can be read", wait.rule.title);
        graph.finding(place, "FL1058", message).help(LEAVE)
    };
    endless.map(finding).collect()
}

/// Waits that too few in the tree can end.
fn without_provider(graph: &Graph<'_>) -> Vec<Finding> {
    let lacking = graph.waits().filter_map(|(place, wait, need)| match need {
        Need::Of { from, enough } if from.len() < *enough => Some((place, wait, from.len(), *enough)),
        _ => None,
    });
    let finding =
        |(place, wait, there, enough): (At, &super::chain::Wait, usize, usize)| {
            let rule = wait.rule;
            let asked = if wait.at.is_empty() {
                String::new()
            } else {
                format!(" at {}", wait.at.join(", "))
            };
            let count = if enough > 1 {
                format!(" ({there} of {enough} that it takes)")
            } else {
                String::new()
            };
            let message = format!(
                "{} waits for {}, which no machine of the tree gives{asked}{count}",
                graph.name(place.machine),
                rule.title
            );
            graph.finding(place, "FL1054", message).help(format!(
            "the machine that has to give it has no document here, or at another address: render all documents again{}",
            rule.at.as_ref().map_or_else(String::new, |name| format!(" ({name} names who is asked)"))
        ))
        };
    lacking.map(finding).collect()
}

/// Machines that wait for each other.
fn circles(graph: &Graph<'_>, run: &Run) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut told = BTreeSet::new();
    for start in run.stuck.keys() {
        let mut path: Vec<usize> = Vec::new();
        let mut next = Some(*start);
        while let Some(machine) = next.filter(|machine| !told.contains(machine)) {
            if let Some(begin) = path.iter().position(|seen| *seen == machine) {
                findings.push(circle(graph, run, &path[begin..]));
                break;
            }
            path.push(machine);
            next = run.stuck.get(&machine).and_then(|place| blocker(graph, run, *place));
        }
        told.extend(path);
    }
    findings
}

/// A machine that could end a wait, and does not get there.
fn blocker(graph: &Graph<'_>, run: &Run, place: At) -> Option<usize> {
    match graph.need(place)? {
        Need::Of { from, enough } if from.len() >= *enough => {
            let mut machines = from.iter().map(|at| at.machine);
            machines.find(|machine| run.stuck.contains_key(machine))
        }
        _ => None,
    }
}

fn circle(graph: &Graph<'_>, run: &Run, machines: &[usize]) -> Finding {
    let place = run.stuck[&machines[0]];
    let says = |machine: &usize| {
        let place = run.stuck[machine];
        let title = graph.wait(place).map_or("", |wait| &wait.rule.title);
        let step = graph.chains[*machine].steps[place.step].name;
        format!("{} ({step}: {title})", graph.name(*machine))
    };
    let path: Vec<_> = machines.iter().chain(&machines[..1]).map(says).collect();
    let message = match machines {
        [one] => format!("{} waits for what comes later on itself: {}", graph.name(*one), path[0]),
        _ => format!("machines wait for each other: {}", path.join(" <- ")),
    };
    graph.finding(place, "FL1055", message).help(
        "each waits for what the next would give after its own wait: one of the waits has to go, or to come later",
    )
}

/// Control planes join one at a time: each waits for its turn, and all use the same lock. This includes a founder, for
/// the day on which it is replaced.
fn turns(chains: &[Chain<'_>]) -> Vec<Finding> {
    let founders = chains.iter().filter(|chain| chain.founds);
    let replaced: Vec<_> = founders.map(|chain| Chain::joining(chain.machine)).collect();
    let others = chains.iter().filter(|chain| !chain.founds);
    let joining: Vec<_> = others
        .chain(&replaced)
        .filter_map(|chain| Some((chain, Joining::of(chain)?)))
        .collect();
    let mut turns: BTreeMap<_, usize> = BTreeMap::new();
    for turn in joining.iter().filter_map(|(_, joining)| joining.turn) {
        *turns.entry(turn).or_default() += 1;
    }
    let usual = turns.into_iter().max_by_key(|(_, count)| *count).map(|(turn, _)| turn);
    let finding = |(chain, Joining { step, turn }): &(&Chain<'_>, Joining<'_>)| {
        let name = &chain.machine.name;
        let message = match turn {
            None => format!("{name} joins without waiting for its turn"),
            Some(_) if usual == *turn => return None,
            Some(turn) => format!("{name} takes another turn than the other control planes: {turn}"),
        };
        let finding = Finding::error("FL1056", &chain.machine.document, message).at(step.path);
        Some(
            finding
                .help("etcd takes one new member at a time: all control planes take the same Lease before they join"),
        )
    };
    joining.iter().filter_map(finding).collect()
}

/// A step that joins as one machine at a time.
struct Joining<'c> {
    step: &'c Step<'c>,
    /// The place where it takes its turn, if it waits for one.
    turn: Option<&'c str>,
}

impl<'c> Joining<'c> {
    fn of(chain: &'c Chain<'_>) -> Option<Self> {
        let (step, event, _) = chain.acts().find(|(_, _, act)| act.rule.serial)?;
        let step = &chain.steps[step];
        let turn = step.events[..event].iter().find_map(|event| match event {
            Event::Wait(wait) => wait.rule.turn.as_ref(),
            Event::Act(_) => None,
        });
        Some(Self {
            step,
            turn: turn.map(|name| chain.variable(name)),
        })
    }
}
