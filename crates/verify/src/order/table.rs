//! The table of the boot chain's steps, with their waits and the acts that end them: `templates/boot/steps.yaml`.

use std::sync::{LazyLock, OnceLock};

use memchr::memmem::Finder;
use serde::Deserialize;

use super::super::embedded;

pub(super) static TABLE: LazyLock<Table> =
    LazyLock::new(|| embedded("steps.yaml", include_str!("../../../../templates/boot/steps.yaml")));

/// The whole table; the file explains its keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// In the order of running.
    pub steps: Vec<StepRule>,
    /// Other scripts of the chain.
    pub scripts: Vec<ScriptRule>,
    /// Milestones that end waits of their own machine only.
    pub local: Vec<String>,
    /// Milestones of a running cluster.
    pub founded: Vec<String>,
    estimates: Estimates,
}

/// A step that machines may have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRule {
    file: String,
    template: Option<String>,
    /// For the code that writes the scripts.
    #[serde(rename = "when")]
    _when: Option<String>,
    #[serde(default)]
    roles: Vec<String>,
    pub required: Option<Required>,
    #[serde(default)]
    pub alike: bool,
    #[serde(default)]
    pub needs: Vec<NeededFile>,
    #[serde(default)]
    pub takes: Estimate,
    #[serde(default)]
    pub events: Vec<EventRule>,
}

/// Where machines cannot do without a step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Required {
    pub file: Option<String>,
    pub variable: Option<String>,
}

/// A file without which a step does nothing.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeededFile {
    pub file: String,
    pub beside: Option<String>,
    pub unless: Option<String>,
}

/// A script that is no step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptRule {
    pub file: String,
    pub template: String,
}

/// Something in a step.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum EventRule {
    Wait(WaitRule),
    Act(ActRule),
}

/// A kind of wait.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitRule {
    pub wait: String,
    report: String,
    pub limit: Limit,
    #[serde(default)]
    poll: bool,
    pub title: String,
    pub outside: Option<String>,
    #[serde(default)]
    pub urls: Vec<String>,
    pub variable: Option<String>,
    #[serde(default)]
    pub given: Vec<String>,
    pub at: Option<String>,
    #[serde(default)]
    pub quorum: bool,
    pub turn: Option<String>,
    #[serde(default)]
    pub asks: bool,
    #[serde(default)]
    pub again: bool,
    by: Option<By>,
    #[serde(skip)]
    finder: OnceLock<Finder<'static>>,
}

/// Seconds, or a variable that has them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Limit {
    Seconds(u64),
    Variable(String),
}

/// An action that others may wait for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActRule {
    pub action: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub founds: bool,
    #[serde(default)]
    pub serial: bool,
    pub config: Option<String>,
    #[serde(default)]
    pub deadlines: Vec<String>,
    pub gives: Vec<String>,
    #[serde(default = "addresses")]
    pub at: String,
    #[serde(default)]
    pub takes: Estimate,
    by: Option<By>,
    #[serde(skip)]
    finder: OnceLock<Finder<'static>>,
}

fn addresses() -> String {
    "FL_ADDRESSES".to_owned()
}

/// Machines that found a cluster, or those that do not.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum By {
    Founder,
    Others,
}

/// The duration of something.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Estimate {
    pub each: Vec<String>,
    lab: u64,
    megabytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Estimates {
    slower: u64,
    megabits_per_second: u64,
    poll: u64,
}

impl Table {
    /// Whether an estimate's machine polls late, on average.
    pub fn delay(&self) -> u64 {
        self.estimates.poll.div_ceil(2)
    }

    /// Whole seconds on a typical machine, for this number of repetitions.
    pub fn seconds(&self, estimate: &Estimate, times: u64) -> u64 {
        let (work, megabits) = (estimate.lab * times, estimate.megabytes * 8 * times);
        work.div_ceil(self.estimates.slower.max(1)) + megabits.div_ceil(self.estimates.megabits_per_second.max(1))
    }

    /// The steps of a machine with these roles; the first of those with one file counts.
    pub fn of<'m>(&'static self, is: impl Fn(&str) -> bool + 'm) -> impl Iterator<Item = &'static StepRule> + 'm {
        let mut last = "";
        self.steps.iter().filter(move |step| {
            let fits = step.file != last && (step.roles.is_empty() || step.roles.iter().any(|role| is(role)));
            if fits {
                last = &step.file;
            }
            fits
        })
    }
}

/// A step's name: its file without the number.
pub(super) fn step_name(file: &str) -> &str {
    file.split_once('-').map_or(file, |(_, name)| name)
}

impl StepRule {
    pub fn name(&self) -> &str {
        step_name(&self.file)
    }

    /// The template below `templates/`.
    pub fn template(&self) -> String {
        let own = || format!("boot/steps/{}.j2", self.file);
        self.template.clone().unwrap_or_else(own)
    }
}

impl EventRule {
    /// Whether a script has the event.
    pub fn is_in(&self, script: &str) -> bool {
        let finder = |words: &str| Finder::new(words.as_bytes()).into_owned();
        let finder = match self {
            Self::Wait(wait) => wait.finder.get_or_init(|| finder(&wait.call())),
            Self::Act(act) => act.finder.get_or_init(|| finder(&act.action)),
        };
        finder.find(script.as_bytes()).is_some()
    }

    /// Whether it happens on a machine that founds, or on one that does not.
    pub fn happens(&self, founds: bool) -> bool {
        let (Self::Wait(WaitRule { by, .. }) | Self::Act(ActRule { by, .. })) = self;
        by.is_none_or(|by| (by == By::Founder) == founds)
    }
}

impl WaitRule {
    /// The call in the script, without the command that it repeats.
    pub fn call(&self) -> String {
        let function = if self.poll { "poll" } else { "wait_for" };
        let limit = match &self.limit {
            Limit::Seconds(seconds) => seconds.to_string(),
            Limit::Variable(name) => format!("\"${name}\""),
        };
        format!("{function} {limit} \"{}\"", self.report)
    }
}
