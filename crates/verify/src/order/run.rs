//! A simulation of the first boot, with all machines powered on at once: the start and end of each step, the end of
//! each wait, and machines that never finish.
//!
//! The times are estimates (`templates/boot/steps.yaml`, `estimates`); the dependencies are not.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    chain::{Event, Wait},
    graph::{At, Graph, Need},
    table::TABLE,
};

/// The result.
#[derive(Debug, Default)]
pub struct Run {
    /// Begin and end of each step that has ended, in seconds since firelay began on all machines.
    pub steps: Vec<Vec<(u64, u64)>>,
    /// The waits that ended.
    pub waits: BTreeMap<At, Waited>,
    /// The wait from which each machine that is not through does not get on.
    pub stuck: BTreeMap<usize, At>,
}

/// A wait that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waited {
    /// When it began.
    pub from: u64,
    /// When it ended.
    pub to: u64,
    /// The acts that ended it; none if a program outside did.
    pub by: Vec<At>,
}

impl Run {
    /// Plays it through.
    pub fn of(graph: &Graph<'_>) -> Self {
        let mut play = Play::new(graph);
        while let Some((now, machine)) = play.queue.pop_first() {
            play.go_on(now, machine);
        }
        let parked = play.parked.keys();
        play.run.stuck = parked.map(|machine| (*machine, play.place(*machine))).collect();
        play.run
    }

    /// When the last machine is through, of those that get there.
    pub fn end(&self) -> u64 {
        let ends = self.steps.iter().filter_map(|steps| steps.last());
        ends.map(|(_, end)| *end).max().unwrap_or_default()
    }
}

/// Where a machine is: its step, and in it the next event, if the step has begun.
#[derive(Clone, Copy, Default)]
struct Position {
    step: usize,
    event: Option<usize>,
}

struct Play<'g> {
    graph: &'g Graph<'g>,
    queue: BTreeSet<(u64, usize)>,
    positions: Vec<Position>,
    /// Actions that have begun and not ended.
    acting: BTreeMap<usize, At>,
    done: BTreeMap<At, u64>,
    /// Machines that wait, since when.
    parked: BTreeMap<usize, u64>,
    /// Machines by the acts that may end one of their waits.
    waiters: BTreeMap<At, Vec<usize>>,
    /// The machine that has the turn.
    holder: Option<usize>,
    run: Run,
}

impl<'g> Play<'g> {
    fn new(graph: &'g Graph<'g>) -> Self {
        let machines = graph.chains.len();
        Self {
            graph,
            queue: (0..machines).map(|machine| (0, machine)).collect(),
            positions: vec![Position::default(); machines],
            acting: BTreeMap::new(),
            done: BTreeMap::new(),
            parked: BTreeMap::new(),
            waiters: waiters(graph),
            holder: None,
            run: Run {
                steps: vec![Vec::new(); machines],
                ..Run::default()
            },
        }
    }

    fn place(&self, machine: usize) -> At {
        let Position { step, event } = self.positions[machine];
        let event = event.unwrap_or_default();
        At { machine, step, event }
    }

    fn go_on(&mut self, now: u64, machine: usize) {
        if let Some(act) = self.acting.remove(&machine) {
            self.done.insert(act, now);
            let waiters = self.waiters.get(&act).into_iter().flatten();
            let parked = waiters.filter(|machine| self.parked.contains_key(machine));
            self.queue.extend(parked.map(|machine| (now, *machine)));
        }
        let Position { step, event } = self.positions[machine];
        let graph = self.graph;
        let Some(content) = graph.chains[machine].steps.get(step) else {
            return;
        };
        let Some(event) = event else {
            self.run.steps[machine].push((now, now));
            self.next(now + content.seconds, machine);
            return;
        };
        match content.events.get(event) {
            None => self.end_step(now, machine),
            Some(Event::Act(act)) => {
                self.acting.insert(machine, self.place(machine));
                self.next(now + act.seconds, machine);
            }
            Some(Event::Wait(wait)) => self.wait(now, machine, wait),
        }
    }

    /// The next event, at its time.
    fn next(&mut self, time: u64, machine: usize) {
        let position = &mut self.positions[machine];
        position.event = Some(position.event.map_or(0, |event| event + 1));
        self.queue.insert((time, machine));
    }

    fn end_step(&mut self, now: u64, machine: usize) {
        if let Some(span) = self.run.steps[machine].last_mut() {
            span.1 = now;
        }
        self.positions[machine] = Position {
            step: self.positions[machine].step + 1,
            event: None,
        };
        self.queue.insert((now, machine));
        if self.holder == Some(machine) {
            self.holder = None;
            let takes_turn = |machine: &usize| {
                let wait = self.graph.wait(self.place(*machine));
                wait.is_some_and(|wait| wait.rule.turn.is_some())
            };
            let parked: Vec<_> = self.parked.keys().copied().filter(takes_turn).collect();
            self.queue.extend(parked.into_iter().map(|machine| (now, machine)));
        }
    }

    fn wait(&mut self, now: u64, machine: usize, wait: &Wait) {
        let place = self.place(machine);
        let taken = wait.rule.turn.is_some() && self.holder.is_some_and(|holder| holder != machine);
        let by = self
            .graph
            .need(place)
            .and_then(|need| self.ended(need))
            .filter(|_| !taken);
        let Some(by) = by else {
            self.parked.entry(machine).or_insert(now);
            return;
        };
        let from = self.parked.remove(&machine).unwrap_or(now);
        // A machine that polls every few seconds notices it half an interval later on average.
        let late = if from < now { TABLE.delay() } else { 0 };
        let to = now + late;
        self.run.waits.insert(place, Waited { from, to, by });
        if wait.rule.turn.is_some() {
            self.holder = Some(machine);
        }
        self.next(to, machine);
    }

    /// The first acts that are enough.
    fn ended(&self, need: &Need) -> Option<Vec<At>> {
        let Need::Of { from, enough } = need else {
            return Some(Vec::new());
        };
        let mut done: Vec<_> = from.iter().filter_map(|at| Some((*self.done.get(at)?, *at))).collect();
        done.sort_unstable();
        (done.len() >= *enough).then(|| done[..*enough].iter().map(|(_, at)| *at).collect())
    }
}

/// Machines by the acts that may end one of their waits.
fn waiters(graph: &Graph<'_>) -> BTreeMap<At, Vec<usize>> {
    let mut waiters: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (place, _, need) in graph.waits() {
        let Need::Of { from, .. } = need else { continue };
        for act in from {
            waiters.entry(*act).or_default().push(place.machine);
        }
    }
    waiters
}
