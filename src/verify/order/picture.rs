//! The order as it is drawn: equal machines together, the waits between them, and when what is expected.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    super::Tree,
    chain::{Chain, Event, Wait},
    graph::{At, Graph, Need},
    names::{natural, together},
    run::Run,
};

/// Who ends a wait of a machine for what it does.
const ITSELF: &str = "itself";

/// The whole of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// Name of the cluster.
    pub cluster: String,
    /// How many machines; a pool counts as one.
    pub machines: usize,
    /// The cluster stands: nobody founds it.
    pub standing: bool,
    /// Seconds from the first step to the end of the last, if all machines are powered on at once. An estimate.
    pub seconds: u64,
    /// Machines that do the same.
    pub groups: Vec<Group>,
    /// Waits of one step for another.
    pub edges: Vec<Edge>,
    /// The expected times, of machines that have the same together.
    pub timeline: Vec<Bar>,
}

/// Machines that do the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// `m0`.
    pub id: String,
    /// `worker-1..40`.
    pub title: String,
    /// Names of the machines.
    pub machines: Vec<String>,
    /// Their roles.
    pub roles: Vec<String>,
    /// It is a pool.
    pub pool: bool,
    /// It founds the cluster.
    pub founds: bool,
    /// In the order of running.
    pub steps: Vec<PictureStep>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureStep {
    /// `m0s3`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its file, whose number is its place in the order.
    pub file: String,
    /// When the first machine begins and the last has ended, in seconds; nothing if one never gets there.
    pub time: Option<(u64, u64)>,
    /// What it does that others wait for.
    pub does: Vec<String>,
    /// What it waits for.
    pub waits: Vec<PictureWait>,
}

/// A wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureWait {
    /// What for.
    pub title: String,
    /// Who ends it.
    pub on: String,
    /// The machine itself ends it.
    pub itself: bool,
    /// Seconds after which it gives up.
    pub gives_up_after: Option<u64>,
}

/// A wait of one step for another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// The step that ends it.
    pub from: String,
    /// The step that waits.
    pub to: String,
    /// What for.
    pub title: String,
}

/// The expected times of machines that have the same ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bar {
    /// Their names.
    pub title: String,
    /// What they do, without gaps.
    pub spans: Vec<Span>,
}

/// A piece of a bar.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// Name of the step.
    pub step: String,
    /// Begin, in seconds.
    pub from: u64,
    /// End.
    pub to: u64,
    /// It waits for another machine.
    pub waits: bool,
}

impl Picture {
    /// Draws a tree.
    pub fn of(tree: &Tree) -> Self {
        let graph = Graph::of(&tree.machines, tree.manifest.founded);
        let run = Run::of(&graph);
        let drawing = Drawing::new(&graph, &run);
        Self {
            cluster: tree.manifest.cluster.clone(),
            machines: tree.machines.len(),
            standing: graph.standing,
            seconds: run.end(),
            groups: drawing.groups(),
            edges: drawing.edges(),
            timeline: drawing.timeline(),
        }
    }
}

struct Drawing<'g> {
    graph: &'g Graph<'g>,
    run: &'g Run,
    /// Numbers of machines that are drawn as one.
    members: Vec<Vec<usize>>,
    /// In which of `members` a machine is.
    group: BTreeMap<usize, usize>,
}

impl<'g> Drawing<'g> {
    fn new(graph: &'g Graph<'g>, run: &'g Run) -> Self {
        let mut equal: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (machine, chain) in graph.chains.iter().enumerate() {
            let key = (
                chain.founds,
                chain.machine.pool,
                &chain.machine.roles,
                likeness(graph, run, machine),
            );
            equal.entry(key).or_default().push(machine);
        }
        let mut members: Vec<_> = equal.into_values().collect();
        for machines in &mut members {
            machines.sort_by_key(|machine| natural(graph.name(*machine)));
        }
        let likes = like(&members);
        let depths = depths(graph, run, &likes);
        members.sort_by_cached_key(|machines| {
            let machine = &graph.chains[machines[0]].machine;
            (
                depths[machines[0]],
                machine.roles.clone(),
                machine.pool,
                natural(&machine.name),
            )
        });
        Self {
            group: like(&members),
            graph,
            run,
            members,
        }
    }

    fn id(&self, at: At) -> String {
        format!("m{}s{}", self.group[&at.machine], at.step)
    }

    fn groups(&self) -> Vec<Group> {
        let groups = self.members.iter().enumerate();
        groups.map(|(number, machines)| self.group(number, machines)).collect()
    }

    fn group(&self, number: usize, machines: &[usize]) -> Group {
        let chain = &self.graph.chains[machines[0]];
        let names: Vec<_> = machines.iter().map(|machine| self.graph.name(*machine)).collect();
        Group {
            id: format!("m{number}"),
            title: together(&names),
            machines: names.into_iter().map(str::to_owned).collect(),
            roles: chain.machine.roles.clone(),
            pool: chain.machine.pool,
            founds: chain.founds,
            steps: (0..chain.steps.len())
                .map(|step| self.step(chain, machines, step))
                .collect(),
        }
    }

    fn step(&self, chain: &Chain<'_>, machines: &[usize], number: usize) -> PictureStep {
        let at = |event| At {
            machine: machines[0],
            step: number,
            event,
        };
        let step = &chain.steps[number];
        let mut waits: Vec<PictureWait> = Vec::new();
        let mut does = Vec::new();
        for (event, what) in step.events.iter().enumerate() {
            match what {
                Event::Wait(wait) => {
                    let wait = self.wait(at(event), wait);
                    waits.extend(Some(wait).filter(|wait| !waits.contains(wait)));
                }
                Event::Act(act) => does.extend(Some(act.rule.title.clone()).filter(|title| !title.is_empty())),
            }
        }
        PictureStep {
            id: self.id(at(0)),
            name: step.name.to_owned(),
            file: step.path.rsplit('/').next().unwrap_or_default().to_owned(),
            time: self.time(machines, number),
            does,
            waits,
        }
    }

    fn time(&self, machines: &[usize], step: usize) -> Option<(u64, u64)> {
        let spans = machines.iter().map(|machine| self.span(*machine, step));
        let spans = spans.collect::<Option<Vec<_>>>()?;
        let begin = spans.iter().map(|(from, _)| *from).min()?;
        Some((begin, spans.iter().map(|(_, to)| *to).max()?))
    }

    /// A step that a machine gets through.
    fn span(&self, machine: usize, step: usize) -> Option<(u64, u64)> {
        let stuck = self.run.stuck.get(&machine).is_some_and(|at| at.step == step);
        self.run.steps[machine].get(step).copied().filter(|_| !stuck)
    }

    fn wait(&self, at: At, wait: &Wait) -> PictureWait {
        let mut on = who(self.graph, self.run, at, wait);
        let turns = self.turns(at);
        if !turns.is_empty() {
            let mut all: Vec<_> = turns
                .iter()
                .chain([&at])
                .map(|other| self.graph.name(other.machine))
                .collect();
            all.sort_by_key(|name| natural(name));
            on += &format!("; one at a time: {}", together(&all));
        }
        PictureWait {
            title: wait.rule.title.clone(),
            itself: on == ITSELF,
            on,
            gives_up_after: wait.limit,
        }
    }

    /// Others that take the same turn.
    fn turns(&self, at: At) -> Vec<At> {
        let turns = |place: At| self.graph.wait(place).is_some_and(|wait| wait.rule.one_at_a_time);
        let all = self
            .graph
            .waits()
            .map(|(place, _, _)| place)
            .filter(|place| turns(*place) && place.machine != at.machine);
        if turns(at) { all.collect() } else { Vec::new() }
    }

    /// Waits between machines, and of equal machines for each other; of several between two steps the first.
    fn edges(&self) -> Vec<Edge> {
        let mut edges = BTreeMap::new();
        for (to, wait, _) in self.graph.waits() {
            let ends = ends(self.graph, self.run, to).into_iter().chain(self.turns(to));
            for from in ends.filter(|from| from.machine != to.machine) {
                edges
                    .entry((self.id(from), self.id(to)))
                    .or_insert_with(|| wait.rule.title.clone());
            }
        }
        edges
            .into_iter()
            .map(|((from, to), title)| Edge { from, to, title })
            .collect()
    }

    fn timeline(&self) -> Vec<Bar> {
        let mut bars = Vec::new();
        for machines in &self.members {
            let mut equal: BTreeMap<Vec<Span>, Vec<&str>> = BTreeMap::new();
            for machine in machines {
                equal
                    .entry(self.spans(*machine))
                    .or_default()
                    .push(self.graph.name(*machine));
            }
            let mut own: Vec<_> = equal.into_iter().collect();
            own.sort_by_cached_key(|(spans, names)| (spans.last().map(|span| span.to), natural(names[0])));
            bars.extend(own.into_iter().map(|(spans, names)| Bar {
                title: together(&names),
                spans,
            }));
        }
        bars
    }

    /// What a machine does, without gaps.
    fn spans(&self, machine: usize) -> Vec<Span> {
        let mut spans = Vec::new();
        for (number, step) in self.graph.chains[machine].steps.iter().enumerate() {
            let Some((mut from, end)) = self.span(machine, number) else {
                break;
            };
            let mut piece = |from: u64, to: u64, waits: bool| {
                let step = step.name.to_owned();
                spans.extend((from < to).then_some(Span { step, from, to, waits }));
            };
            let place = |event| At {
                machine,
                step: number,
                event,
            };
            for waited in self
                .run
                .waits
                .range(place(0)..=place(usize::MAX))
                .map(|(_, waited)| waited)
            {
                piece(from, waited.from, false);
                piece(waited.from, waited.to, true);
                from = waited.to;
            }
            piece(from, end, false);
        }
        spans
    }
}

/// The acts that end a wait: those that came first, or all that might.
fn ends(graph: &Graph<'_>, run: &Run, at: At) -> Vec<At> {
    match (run.waits.get(&at), graph.need(at)) {
        (_, Some(Need::Of { from, enough })) if *enough > 1 => from.clone(),
        (Some(waited), _) => waited.by.clone(),
        (None, Some(Need::Of { from, .. })) => from.clone(),
        _ => Vec::new(),
    }
}

/// Who ends a wait, for people.
fn who(graph: &Graph<'_>, run: &Run, at: At, wait: &Wait) -> String {
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

/// What machines have in common that are drawn as one: steps, and waits with who ends them.
fn likeness(graph: &Graph<'_>, run: &Run, machine: usize) -> Vec<String> {
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
                Event::Act(act) => act.rule.line.clone(),
            });
            [step.name.to_owned()].into_iter().chain(events)
        })
        .collect()
}

/// In which group each machine is.
fn like(members: &[Vec<usize>]) -> BTreeMap<usize, usize> {
    let groups = members.iter().enumerate();
    groups
        .flat_map(|(group, machines)| machines.iter().map(move |machine| (*machine, group)))
        .collect()
}

/// How many kinds of machines, one after the other, have to get on before each is through.
fn depths(graph: &Graph<'_>, run: &Run, likes: &BTreeMap<usize, usize>) -> Vec<usize> {
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
