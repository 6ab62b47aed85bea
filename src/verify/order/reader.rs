//! From the scripts of a machine, and the files and variables that they use, to its chain.

use std::{collections::BTreeMap, sync::LazyLock};

use regex_lite::Regex;
use serde_json::Value;

use super::{
    super::Machine,
    chain::{Act, Chain, Event, Step, Wait},
    grammar::{ActRule, Estimate, Grammar, WaitRule},
    script::{Call, Line, Script, calls, commands, hosts, pattern, urls},
};

/// What runs the driver of the chain.
pub(super) const UNIT: &str = "/etc/systemd/system/firelay.service";
/// What steps source.
const SOURCED: &[&str] = &["/etc/firelay/node.env", "/etc/etcd/etcd.env"];

/// The driver is the last word: an interpreter may stand before it.
static EXEC: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^ExecStart=(?:\S+ )*(\S+)$"));
static STEPS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^for step in (/\S+)/\*; do$"));
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\$\{?([A-Z][A-Z0-9_]*)\}?"));
static DURATION: LazyLock<Regex> = LazyLock::new(|| pattern(r"([0-9]+)(h|m|s)"));
static TURN: LazyLock<Vec<Regex>> = LazyLock::new(|| Grammar::get().turn.iter().map(|text| pattern(text)).collect());

impl<'a> Chain<'a> {
    /// The chain of a machine, whose steps are those that its driver runs.
    pub fn of(machine: &'a Machine) -> Self {
        Self::read(machine, true)
    }

    /// The chain of a machine that finds a cluster.
    pub fn joining(machine: &'a Machine) -> Self {
        Self::read(machine, false)
    }

    fn read(machine: &'a Machine, may_found: bool) -> Self {
        let variables = variables(machine);
        let scripts: Vec<_> = steps(machine).collect();
        let acts = scripts.iter().flat_map(|(_, name, script)| founding(name, script));
        let (real, missing): (Vec<_>, Vec<_>) =
            acts.partition(|rule| rule.config.as_ref().is_none_or(|config| machine.root.has(config)));
        let founds = may_found && !real.is_empty();
        let reader = Reader {
            machine,
            variables: &variables,
            founds,
        };
        let steps = scripts
            .iter()
            .map(|(path, name, script)| reader.step(path, name, script));
        Self {
            machine,
            founds,
            would_found: missing
                .first()
                .and_then(|rule| rule.config.as_deref())
                .filter(|_| !founds),
            steps: steps.collect(),
            variables,
        }
    }
}

/// The files that the driver of `firelay.service` runs, in its order.
fn steps(machine: &Machine) -> impl Iterator<Item = (&str, &str, Script)> {
    let driver = machine.text(UNIT).and_then(|unit| EXEC.captures(unit)?.get(1));
    let driver = driver.and_then(|path| machine.text(path.as_str()));
    let folder = driver.and_then(|driver| STEPS.captures(driver)?.get(1));
    let files = folder.map(|folder| machine.root.below(folder.as_str()));
    files.into_iter().flatten().filter_map(|(path, _)| {
        let file = path.rsplit('/').next()?;
        let name = file.split_once('-').map_or(file, |(_, name)| name);
        Some((path, name, Script::parse(machine.text(path)?)))
    })
}

/// What founds a cluster in a script.
fn founding(step: &str, script: &Script) -> Vec<&'static ActRule> {
    let acts = script
        .lines()
        .filter_map(|line| Grammar::get().act(step, line.within, line.text));
    acts.filter(|rule| rule.founds).collect()
}

/// `NAME=VALUE` and `NAME='VALUE'` of what the steps source.
fn variables(machine: &Machine) -> BTreeMap<String, String> {
    let texts = SOURCED.iter().filter_map(|path| machine.text(path));
    let pairs = texts.flat_map(str::lines).filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned()))
        .collect()
}

struct Reader<'a, 'b> {
    machine: &'a Machine,
    variables: &'b BTreeMap<String, String>,
    founds: bool,
}

impl<'a> Reader<'a, '_> {
    fn step(&self, path: &'a str, name: &'a str, script: &Script) -> Step<'a> {
        let mut step = Step {
            path,
            name,
            seconds: Grammar::get()
                .steps
                .get(name)
                .map_or(0, |estimate| self.seconds(estimate)),
            events: Vec::new(),
            unknown: Vec::new(),
            turn: self.turn(script),
            asks: asks(name, script),
        };
        let mut acted = Vec::new();
        for line in script.run(&|function| Grammar::get().runs(name, function, self.founds)) {
            self.line(&mut step, line, &mut acted);
        }
        step.unknown = unknown(name, script);
        step
    }

    /// `acted` are the functions in which something was done already.
    fn line<'l>(&self, step: &mut Step<'a>, line: Line<'l>, acted: &mut Vec<&'l str>) {
        for call in calls(line.text) {
            let rule = Grammar::get().wait(step.name, line.within, &call.command, acted.contains(&line.within));
            step.events
                .extend(rule.and_then(|rule| self.wait(rule, &call)).map(Event::Wait));
        }
        let act = Grammar::get().act(step.name, line.within, line.text);
        if let Some(act) = act.and_then(|rule| self.act(rule)) {
            step.events.push(Event::Act(act));
            acted.push(line.within);
        }
    }

    fn wait(&self, rule: &'static WaitRule, call: &Call) -> Option<Wait> {
        let set = |name: &String| self.variables.get(name).is_some_and(|value| !value.is_empty());
        let asked: Vec<_> = rule
            .urls
            .iter()
            .filter_map(|path| self.machine.text(path))
            .flat_map(hosts)
            .collect();
        if rule.again || !rule.only.as_ref().is_none_or(set) || (!rule.urls.is_empty() && asked.is_empty()) {
            return None;
        }
        let at = rule.at.as_ref().and_then(|name| self.variables.get(name));
        Some(Wait {
            rule,
            // bash reckons with signed numbers: one beyond them is over at once.
            limit: self
                .expanded(&call.limit)
                .parse::<i64>()
                .ok()
                .and_then(|limit| limit.try_into().ok()),
            at: at.map_or(asked, |text| hosts(text)),
        })
    }

    fn act(&self, rule: &'static ActRule) -> Option<Act> {
        let config = match &rule.config {
            Some(path) => self.machine.text(path)?,
            None => "",
        };
        Some(Act {
            seconds: self.seconds(&rule.estimate),
            rule,
            deadlines: deadlines(config, &rule.deadlines),
        })
    }

    fn seconds(&self, estimate: &Estimate) -> u64 {
        let files = estimate.each.iter().filter_map(|path| self.machine.text(path));
        let times = match estimate.each.as_slice() {
            [] => 1,
            _ => files.map(urls).sum(),
        };
        Grammar::get().seconds(estimate, times)
    }

    /// With the variables of the machine; others stay.
    fn expanded(&self, text: &str) -> String {
        let value = |found: &regex_lite::Captures<'_>| {
            let value = self.variables.get(&found[1]).map(String::as_str);
            value.unwrap_or(&found[0]).to_owned()
        };
        VARIABLE.replace_all(text, value).into_owned()
    }

    /// What of the script's text makes its turn.
    fn turn(&self, script: &Script) -> Vec<String> {
        let lines: Vec<_> = script.lines().map(|line| line.text).collect();
        let found = TURN
            .iter()
            .filter_map(|pattern| lines.iter().find_map(|line| pattern.captures(line)));
        found.map(|found| self.expanded(&found[1])).collect()
    }
}

/// Whether a step asks for a cluster before all else.
fn asks(step: &str, script: &Script) -> bool {
    let asks = &Grammar::get().asks;
    let defined = script.function(&asks.function).is_some();
    let top = script.function("").unwrap_or_default();
    defined
        && step == asks.step
        && top
            .iter()
            .any(|line| commands(line).any(|command| command == asks.function))
}

/// The commands that a step's script waits with and `src/verify/order/waits.yaml` does not know.
pub fn unknown_calls(step: &str, script: &str) -> Vec<String> {
    let calls = unknown(step, &Script::parse(script)).into_iter();
    calls.map(|call| call.command.join(" ")).collect()
}

/// Calls, in whatever function, that no rule knows.
fn unknown(step: &str, script: &Script) -> Vec<Call> {
    let lines = script.lines();
    let calls = lines.flat_map(|line| calls(line.text).into_iter().map(move |call| (line.within, call)));
    let unknown = calls.filter(|(within, call)| Grammar::get().wait(step, within, &call.command, true).is_none());
    unknown.map(|(_, call)| call).collect()
}

/// Keys below `timeouts`, of the first document that has it.
fn deadlines(config: &str, keys: &'static [String]) -> Vec<(&'static str, u64)> {
    let documents = firelay_yaml::split(config).into_iter();
    let values = documents.filter_map(|part| firelay_yaml::parse::<Value>("config", &config[part]).ok());
    let timeouts = values
        .into_iter()
        .find_map(|value| value.get("timeouts").cloned())
        .unwrap_or_default();
    let seconds = |key: &'static String| Some((key.as_str(), duration(timeouts.get(key)?.as_str()?)));
    keys.iter().filter_map(seconds).collect()
}

/// Whole seconds of `1h30m0s`, as Go writes it.
fn duration(text: &str) -> u64 {
    let parts = DURATION.captures_iter(text).map(|part| {
        let seconds = match &part[2] {
            "h" => 3600,
            "m" => 60,
            _ => 1,
        };
        part[1].parse::<u64>().unwrap_or(u64::MAX).saturating_mul(seconds)
    });
    parts.fold(0, u64::saturating_add)
}
