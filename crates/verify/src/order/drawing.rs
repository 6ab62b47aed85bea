//! From the graph and its run to the picture.

use std::collections::BTreeMap;

use super::{
    super::{Finding, Tree},
    chain::{Chain, Event, Wait},
    check::without_steps,
    graph::{At, Graph},
    likeness::{ITSELF, depths, ends, like, likeness, who},
    names::{natural, together},
    picture::{Bar, BarWait, Edge, Group, Picture, PictureStep, PictureWait, Span},
    run::{Run, Waited},
};

impl Picture {
    /// Draws a tree.
    pub fn of(tree: &Tree) -> Self {
        Self::with_gaps(tree).0
    }

    /// Draws a tree, and reports its gaps: documents that cannot be unpacked, and machines without a step.
    pub fn with_gaps(tree: &Tree) -> (Self, Vec<Finding>) {
        let graph = Graph::of(&tree.machines, tree.manifest.founded);
        let faults = tree.machines.iter().flat_map(|machine| &machine.faults);
        let mut gaps: Vec<_> = tree.faults.iter().chain(faults).cloned().collect();
        gaps.extend(without_steps(&graph));
        let run = Run::of(&graph);
        let drawing = Drawing::new(&graph, &run);
        let picture = Self {
            cluster: tree.manifest.cluster.clone(),
            machines: tree.machines.len(),
            standing: graph.standing,
            seconds: run.end(),
            groups: drawing.groups(),
            edges: drawing.edges(),
            timeline: drawing.timeline(),
        };
        (picture, gaps)
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

    /// Other places that use the same lock.
    fn turns(&self, at: At) -> Vec<At> {
        let turns = |place: At| self.graph.wait(place).is_some_and(|wait| wait.rule.turn.is_some());
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
            let mut equal: BTreeMap<Vec<Span>, Vec<usize>> = BTreeMap::new();
            for machine in machines {
                equal.entry(self.spans(*machine)).or_default().push(*machine);
            }
            let mut own: Vec<_> = equal.into_iter().collect();
            let first = |machines: &[usize]| natural(self.graph.name(machines[0]));
            own.sort_by_cached_key(|(spans, machines)| (spans.last().map(|span| span.to), first(machines)));
            bars.extend(own.into_iter().map(|(spans, machines)| self.bar(spans, &machines)));
        }
        bars
    }

    fn bar(&self, spans: Vec<Span>, machines: &[usize]) -> Bar {
        let names: Vec<_> = machines.iter().map(|machine| self.graph.name(*machine)).collect();
        let waits = self.waited(machines[0]).filter(|(_, waited)| waited.from < waited.to);
        let waits = waits.filter_map(|(at, waited)| {
            let PictureWait { title, on, .. } = self.wait(at, self.graph.wait(at)?);
            let seconds = waited.to - waited.from;
            Some(BarWait { seconds, title, on })
        });
        Bar {
            title: together(&names),
            waits: waits.collect(),
            spans,
        }
    }

    /// The waits of a machine that ended, in their order.
    fn waited(&self, machine: usize) -> impl Iterator<Item = (At, &Waited)> {
        let place = |step| At {
            machine,
            step,
            event: 0,
        };
        let waits = self.run.waits.range(place(0)..).map(|(at, waited)| (*at, waited));
        waits.take_while(move |(at, _)| at.machine == machine)
    }

    /// The times of a machine, without gaps.
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
            for (_, waited) in self.waited(machine).filter(|(at, _)| at.step == number) {
                piece(from, waited.from, false);
                piece(waited.from, waited.to, true);
                from = waited.to;
            }
            piece(from, end, false);
        }
        spans
    }
}
