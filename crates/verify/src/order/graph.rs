//! The chains of all machines, and the conditions in the tree that end each wait.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{
    super::{Finding, Machine},
    chain::{Act, Chain, Event, Wait},
    table::TABLE,
};

/// An event of a machine: its number, its step's, its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// The index of the machine.
    pub machine: usize,
    /// The index of the step.
    pub step: usize,
    /// The index of the event.
    pub event: usize,
}

/// The condition that ends a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// A program without a document here.
    Outside(String),
    /// A number of these acts.
    Of {
        /// The acts.
        from: Vec<At>,
        /// How many of them.
        enough: usize,
    },
}

/// The order of a tree.
#[derive(Debug)]
pub struct Graph<'a> {
    /// One for each machine, in the order of the tree.
    pub chains: Vec<Chain<'a>>,
    /// The cluster exists: no machine has to found it.
    pub standing: bool,
    needs: BTreeMap<At, Need>,
}

impl<'a> Graph<'a> {
    /// An error about a wait or an act, at the script of its step.
    pub(super) fn finding(&self, place: At, code: &'static str, message: String) -> Finding {
        let chain = &self.chains[place.machine];
        Finding::error(code, &chain.machine.document, message).at(chain.steps[place.step].path)
    }

    /// Reads the machines of a tree. `founded` comes from its manifest: the cluster exists.
    pub fn of(machines: &'a [Machine], founded: bool) -> Self {
        let chains: Vec<_> = machines.par_iter().map(Chain::of).collect();
        let standing = founded && !chains.iter().any(|chain| chain.founds);
        let providers = Providers::of(&chains, standing);
        let needs = places(&chains).map(|(at, wait)| (at, providers.need(&chains[at.machine], at, wait)));
        let needs = needs.collect();
        Self {
            chains,
            standing,
            needs,
        }
    }

    /// Every wait with its place and the condition that ends it.
    pub fn waits(&self) -> impl Iterator<Item = (At, &Wait, &Need)> {
        places(&self.chains).filter_map(|(at, wait)| Some((at, wait, self.needs.get(&at)?)))
    }

    /// The condition that ends a wait.
    pub fn need(&self, at: At) -> Option<&Need> {
        self.needs.get(&at)
    }

    /// The wait at a place.
    pub fn wait(&self, at: At) -> Option<&Wait> {
        match self.chains.get(at.machine)?.steps.get(at.step)?.events.get(at.event)? {
            Event::Wait(wait) => Some(wait),
            Event::Act(_) => None,
        }
    }

    /// Name of a machine.
    pub fn name(&self, machine: usize) -> &str {
        &self.chains[machine].machine.name
    }

    /// Events up to a place on its machine, the last first.
    pub fn before(&self, at: At) -> impl Iterator<Item = (At, &Event)> {
        let steps = self.chains[at.machine].steps[..=at.step].iter().enumerate().rev();
        steps.flat_map(move |(step, content)| {
            let events = content.events.iter().enumerate().rev();
            let events = events.filter(move |(event, _)| step < at.step || *event <= at.event);
            events.map(move |(event, what)| (At { step, event, ..at }, what))
        })
    }
}

fn places<'c>(chains: &'c [Chain<'_>]) -> impl Iterator<Item = (At, &'c Wait)> {
    chains.iter().enumerate().flat_map(|(machine, chain)| {
        let waits = chain.waits();
        waits.map(move |(step, event, wait)| (At { machine, step, event }, wait))
    })
}

/// Acts by milestone.
struct Providers<'c> {
    acts: BTreeMap<&'static str, Vec<(At, Vec<&'c str>)>>,
    standing: bool,
}

impl<'c> Providers<'c> {
    fn of(chains: &'c [Chain<'_>], standing: bool) -> Self {
        let mut acts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (machine, chain) in chains.iter().enumerate() {
            for (step, event, act) in chain.acts() {
                let Act { rule, .. } = act;
                let at = At { machine, step, event };
                for milestone in &rule.gives {
                    let hosts = chain.variable(&rule.at).split_whitespace().collect();
                    acts.entry(milestone.as_str()).or_default().push((at, hosts));
                }
            }
        }
        Self { acts, standing }
    }

    fn need(&self, chain: &Chain<'_>, at: At, wait: &Wait) -> Need {
        let rule = wait.rule;
        if let Some(who) = &rule.outside {
            return Need::Outside(who.clone());
        }
        if self.standing && rule.given.iter().any(|milestone| TABLE.founded.contains(milestone)) {
            return Need::Outside("the running cluster".to_owned());
        }
        let mut from: Vec<_> = rule
            .given
            .iter()
            .flat_map(|milestone| self.from(milestone, at, wait))
            .collect();
        from.sort_unstable();
        from.dedup();
        let named = rule
            .at
            .as_ref()
            .filter(|_| rule.quorum)
            .map(|name| chain.named(name).len());
        let enough = named.map_or(1, |named| named / 2 + 1);
        Need::Of { from, enough }
    }

    fn from(&self, milestone: &'static str, at: At, wait: &Wait) -> impl Iterator<Item = At> {
        let here = TABLE.local.iter().any(|own| own == milestone);
        let acts = self.acts.get(milestone).into_iter().flatten();
        let fits = move |(place, hosts): &&(At, Vec<&str>)| match here {
            true => place.machine == at.machine,
            false => wait.at.is_empty() || hosts.iter().any(|host| wait.at.iter().any(|named| named == host)),
        };
        acts.filter(fits).map(|(place, _)| *place)
    }
}
