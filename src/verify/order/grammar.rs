//! The words in which the scripts are read: `src/verify/order/waits.yaml`.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::super::embedded;

static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| embedded("waits.yaml", include_str!("waits.yaml")));

/// The whole of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grammar {
    /// Steps in their order.
    pub chain: Vec<StepRule>,
    /// What scripts wait for.
    pub waits: Vec<WaitRule>,
    /// What ends waits.
    pub acts: Vec<ActRule>,
    /// Milestones of one machine only.
    pub here: Vec<String>,
    /// Milestones of a cluster that stands.
    pub standing: Vec<String>,
    /// What runs where.
    pub branches: Vec<Branch>,
    /// What a founder asks first.
    pub asks: Asks,
    /// Patterns whose first group is the same on all machines that take turns.
    pub turn: Vec<String>,
    /// How long steps take.
    pub steps: BTreeMap<String, Estimate>,
    /// What estimates are reckoned with.
    pub pace: Pace,
}

/// A step that machines may have.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepRule {
    /// Its name without its number.
    pub step: String,
    /// Whose machines have it; all if empty.
    #[serde(default)]
    pub roles: Vec<String>,
    /// They cannot do without.
    #[serde(default)]
    pub needed: bool,
    /// Only where this is laid.
    pub file: Option<String>,
    /// Only where this variable is not empty.
    pub set: Option<String>,
    /// Machines of a role have it all or none.
    #[serde(default)]
    pub alike: bool,
    /// What it works by.
    #[serde(default)]
    pub works: Vec<WorkRule>,
}

/// A file that a step works by.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkRule {
    /// The file.
    pub file: String,
    /// Only where this one is laid.
    pub beside: Option<String>,
}

/// A kind of wait.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaitRule {
    /// Name of the step without its number.
    pub step: String,
    /// The function that the call stands in, nothing for none; any if absent.
    pub within: Option<String>,
    /// Words of the repeated command, in order.
    pub calls: Vec<String>,
    /// For people.
    pub title: String,
    /// Who ends it, if nobody in the tree does.
    pub outside: Option<String>,
    /// Files with URLs that are asked.
    #[serde(default)]
    pub urls: Vec<String>,
    /// Variable without which there is no wait.
    pub only: Option<String>,
    /// Milestones of which one ends it.
    #[serde(default)]
    pub given: Vec<String>,
    /// Variable with the URLs of those who give it.
    pub at: Option<String>,
    /// A majority of them is needed.
    #[serde(default)]
    pub quorum: bool,
    /// One machine at a time.
    #[serde(default)]
    pub one_at_a_time: bool,
    /// Not on a first boot.
    #[serde(default)]
    pub again: bool,
    /// Only after an act of the same step.
    #[serde(default)]
    pub acted: bool,
}

/// Something that ends waits.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActRule {
    /// Name of the step without its number.
    pub step: String,
    /// The function that it stands in, nothing for none; any if absent.
    pub within: Option<String>,
    /// Words of its line.
    pub line: String,
    /// For people; without one it is not worth a word.
    #[serde(default)]
    pub title: String,
    /// It founds a cluster.
    #[serde(default)]
    pub founds: bool,
    /// One machine at a time may do it.
    #[serde(default)]
    pub serial: bool,
    /// A file without which it does not happen.
    pub config: Option<String>,
    /// Keys of its deadlines below `timeouts` of that file.
    #[serde(default)]
    pub deadlines: Vec<String>,
    /// Milestones.
    pub gives: Vec<String>,
    /// Variable with the addresses at which it is found.
    #[serde(default = "addresses")]
    pub at: String,
    /// How long it takes.
    #[serde(default)]
    pub estimate: Estimate,
}

/// A function that runs on founders only, or on all others.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Branch {
    /// Name of the step without its number.
    pub step: String,
    /// The function.
    pub function: String,
    /// On founders, or on all others.
    pub founds: bool,
}

/// What a founder asks before it founds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asks {
    /// Name of the step without its number.
    pub step: String,
    /// The function.
    pub function: String,
    /// Variable with the URLs that are asked.
    pub at: String,
}

/// How long something takes.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Estimate {
    /// Files for each of whose URLs it takes so long; none if it does so once.
    pub each: Vec<String>,
    /// Seconds in the boot lab.
    pub lab: u64,
    /// Megabytes from the network.
    pub megabytes: u64,
}

/// What estimates are reckoned with.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pace {
    /// How many times slower the lab is.
    pub slower: u64,
    /// The network.
    pub megabits_per_second: u64,
    /// Seconds between two questions of a wait.
    pub poll: u64,
}

impl Grammar {
    /// The one there is.
    pub fn get() -> &'static Self {
        &GRAMMAR
    }

    /// The kind of a wait that repeats a command.
    pub fn wait(&'static self, step: &str, within: &str, command: &[String], acted: bool) -> Option<&'static WaitRule> {
        self.waits.iter().find(|rule| {
            rule.step == step
                && stands(rule.within.as_deref(), within)
                && (acted || !rule.acted)
                && in_order(&rule.calls, command)
        })
    }

    /// What a line does.
    pub fn act(&'static self, step: &str, within: &str, line: &str) -> Option<&'static ActRule> {
        let fits =
            |rule: &&ActRule| rule.step == step && stands(rule.within.as_deref(), within) && line.contains(&rule.line);
        self.acts.iter().find(fits)
    }

    /// Whether a function runs on a machine that founds, or on one that does not.
    pub fn runs(&self, step: &str, function: &str, founds: bool) -> bool {
        let mut branches = self.branches.iter();
        branches.all(|branch| branch.step != step || branch.function != function || branch.founds == founds)
    }

    /// Whole seconds on a machine of the usual kind, for something that is done so many times.
    pub fn seconds(&self, estimate: &Estimate, times: u64) -> u64 {
        let pace = &self.pace;
        let (work, megabits) = (estimate.lab * times, estimate.megabytes * 8 * times);
        work.div_ceil(pace.slower.max(1)) + megabits.div_ceil(pace.megabits_per_second.max(1))
    }
}

fn addresses() -> String {
    "FL_ADDRESSES".to_owned()
}

fn stands(rule: Option<&str>, within: &str) -> bool {
    rule.is_none_or(|rule| rule == within)
}

/// All of `words` stand in the command, in this order.
fn in_order(words: &[String], command: &[String]) -> bool {
    let mut rest = command.iter();
    words.iter().all(|word| rest.any(|own| own == word))
}
