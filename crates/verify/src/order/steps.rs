//! Whether each chain has the steps that its machine cannot do without, and in their order.

use rayon::prelude::*;

use super::{
    super::{Finding, Level, provided::PROVIDED},
    chain::Chain,
    table::{Required, StepRule, TABLE},
};

/// The code for missing files that a script refers to.
const MISSING: &str = "FL1022";
const AGAIN: &str = "render the document again; a step is left out by the spec alone";

/// Every chain. Another check reports chains without steps.
pub(super) fn check(chains: &[Chain<'_>]) -> Vec<Finding> {
    let read = chains.par_iter().filter(|chain| !chain.steps.is_empty());
    let of_chain = |chain| missing(chain).chain(without_files(chain)).chain(out_of_order(chain));
    let mut findings: Vec<_> = read.flat_map_iter(of_chain).collect();
    let alike = TABLE.steps.iter().filter(|rule| rule.alike);
    findings.extend(alike.flat_map(|rule| unlike(rule, chains)));
    findings
}

/// Rules for the machine, in the order of the chain.
fn rules(chain: &Chain<'_>) -> impl Iterator<Item = &'static StepRule> {
    TABLE.of(|role| chain.machine.is(role))
}

fn is_required(rule: &StepRule, chain: &Chain<'_>) -> bool {
    let is_laid = |file: &String| chain.machine.root.has(file);
    let is_set = |name: &String| !chain.variable(name).is_empty();
    let required = rule.required.as_ref();
    required.is_some_and(|Required { file, variable }| {
        file.as_ref().is_none_or(is_laid) && variable.as_ref().is_none_or(is_set)
    })
}

impl Chain<'_> {
    fn has(&self, step: &str) -> bool {
        self.steps.iter().any(|own| own.name == step)
    }

    fn finding(&self, message: String) -> Finding {
        Finding::error("FL1059", &self.machine.document, message).help(AGAIN)
    }
}

fn missing(chain: &Chain<'_>) -> impl Iterator<Item = Finding> {
    let missing = rules(chain).filter(|rule| is_required(rule, chain) && !chain.has(rule.name()));
    missing.map(|rule| chain.finding(format!("{} has no step {}", chain.machine.name, rule.name())))
}

/// The user's commands may bring a file before the step.
fn without_files(chain: &Chain<'_>) -> impl Iterator<Item = Finding> {
    let rules = rules(chain).filter(|rule| chain.has(rule.name()));
    let level = Level::error_if(!PROVIDED.may_bring(chain.machine, MISSING));
    rules.flat_map(move |rule| {
        let works = rule.needs.iter().filter(|work| {
            let has = |file: &String| PROVIDED.has(chain.machine, file);
            let is_needed = work.beside.as_ref().is_none_or(has) && !work.unless.as_ref().is_some_and(has);
            is_needed && !has(&work.file)
        });
        works.map(move |work| {
            let message = format!("step {} works by {}, which nothing puts there", rule.name(), work.file);
            chain.finding(message).at(&work.file).level(level)
        })
    })
}

/// The first step that runs before one of its predecessors.
fn out_of_order(chain: &Chain<'_>) -> Option<Finding> {
    let rank = |step: &str| rules(chain).position(|rule| rule.name() == step);
    let known: Vec<_> = chain
        .steps
        .iter()
        .filter_map(|step| Some((rank(step.name)?, step)))
        .collect();
    let (early, late) = known
        .iter()
        .zip(known.iter().skip(1))
        .find(|(one, next)| one.0 > next.0)?;
    let message = format!(
        "step {} runs before step {}, and has to come after it",
        early.1.name, late.1.name
    );
    Some(chain.finding(message).at(early.1.path))
}

/// Steps that all machines of a role have by the spec. In a tree of several renders only some may have them.
fn unlike(rule: &'static StepRule, chains: &[Chain<'_>]) -> Vec<Finding> {
    let read = chains
        .iter()
        .filter(|chain| !chain.steps.is_empty() && rules(chain).any(|own| own.name() == rule.name()));
    let (with, without): (Vec<_>, Vec<_>) = read.partition(|chain| chain.has(rule.name()));
    let Some(other) = with.first() else { return Vec::new() };
    let finding = |chain: &&Chain<'_>| {
        let (name, other) = (&chain.machine.name, &other.machine.name);
        let message = format!("{name} has no step {}, and {other} has it", rule.name());
        chain.finding(message).level(Level::Warning)
    };
    without.iter().map(finding).collect()
}
