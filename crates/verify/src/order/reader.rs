//! The chain of a machine: from its unit, its steps, and the variables that they use.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    super::Machine,
    chain::{Act, Chain, Event, Step, Wait, hosts, urls},
    table::{ActRule, Estimate, EventRule, Limit, StepRule, TABLE, WaitRule, step_name},
};

/// The unit that starts the driver of the chain.
pub(super) const UNIT: &str = "/etc/systemd/system/firelay.service";
/// Files with variables for the steps.
const SOURCED: &[&str] = &["/etc/firelay/node.env", "/etc/etcd/etcd.env"];

/// A script of the chain.
pub(super) struct Script<'a> {
    pub path: &'a str,
    pub name: &'a str,
    text: &'a str,
    pub rule: Option<&'static StepRule>,
}

/// A script with its events.
struct Read<'a> {
    script: Script<'a>,
    events: Vec<&'static EventRule>,
}

impl<'a> Read<'a> {
    fn of(script: Script<'a>) -> Self {
        let events = script.rule.iter().flat_map(|rule| &rule.events);
        let events = events.filter(|event| event.is_in(script.text)).collect();
        Self { script, events }
    }

    fn founding(&self) -> Option<&'static ActRule> {
        self.events.iter().find_map(|event| match event {
            EventRule::Act(act) if act.founds => Some(act),
            _ => None,
        })
    }
}

/// The folder of the chain's scripts: that of the driver, which the unit starts, perhaps by an interpreter.
pub(super) fn folder(machine: &Machine) -> Option<&str> {
    let mut lines = machine.text(UNIT)?.lines();
    let command = lines.find_map(|line| line.strip_prefix("ExecStart="))?;
    let driver = command.rsplit(' ').next()?;
    machine.text(driver)?;
    driver.strip_suffix("/driver")
}

/// The steps of a machine, in the order in which the driver runs them.
pub(super) fn steps(machine: &Machine) -> impl Iterator<Item = Script<'_>> {
    let files = folder(machine).map(|folder| machine.root.below(&format!("{folder}/steps")));
    files.into_iter().flatten().filter_map(|(path, _)| {
        let name = step_name(path.rsplit('/').next()?);
        Some(Script {
            path,
            name,
            text: machine.text(path)?,
            rule: TABLE.of(|role| machine.is(role)).find(|rule| rule.name() == name),
        })
    })
}

impl<'a> Chain<'a> {
    /// The chain of a machine on its first boot.
    pub fn of(machine: &'a Machine) -> Self {
        Self::read(machine, true)
    }

    /// The chain of a machine whose cluster runs already.
    pub fn joining(machine: &'a Machine) -> Self {
        Self::read(machine, false)
    }

    fn read(machine: &'a Machine, may_found: bool) -> Self {
        let scripts: Vec<_> = steps(machine).map(Read::of).collect();
        let config = scripts
            .iter()
            .find_map(Read::founding)
            .and_then(|act| act.config.as_deref());
        let founds = may_found && config.is_some_and(|config| machine.root.has(config));
        let reader = Reader {
            machine,
            variables: variables(machine),
            founds,
        };
        Self {
            machine,
            founds,
            would_found: config.filter(|_| !founds),
            steps: scripts.iter().map(|script| reader.step(script)).collect(),
            variables: reader.variables,
        }
    }
}

/// `NAME=VALUE` and `NAME='VALUE'` of the files that steps source.
fn variables(machine: &Machine) -> BTreeMap<String, String> {
    let texts = SOURCED.iter().filter_map(|path| machine.text(path));
    let pairs = texts.flat_map(str::lines).filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned()))
        .collect()
}

struct Reader<'a> {
    machine: &'a Machine,
    variables: BTreeMap<String, String>,
    founds: bool,
}

impl<'a> Reader<'a> {
    fn step(&self, read: &Read<'a>) -> Step<'a> {
        let script = &read.script;
        let events = read.events.iter().filter(|event| event.happens(self.founds));
        Step {
            path: script.path,
            name: script.name,
            seconds: script.rule.map_or(0, |rule| self.seconds(&rule.takes)),
            events: events.filter_map(|event| self.event(event)).collect(),
            founding: read.founding().is_some(),
            asks: read.events.iter().find_map(|event| match event {
                EventRule::Wait(wait) if wait.asks => wait.variable.as_deref(),
                _ => None,
            }),
        }
    }

    fn event(&self, rule: &'static EventRule) -> Option<Event> {
        match rule {
            EventRule::Wait(rule) => self.wait(rule).map(Event::Wait),
            EventRule::Act(rule) => self.act(rule).map(Event::Act),
        }
    }

    fn wait(&self, rule: &'static WaitRule) -> Option<Wait> {
        let is_set = |name: &String| self.variables.get(name).is_some_and(|value| !value.is_empty());
        let texts = rule.urls.iter().filter_map(|path| self.machine.text(path));
        let asked: Vec<_> = texts.flat_map(hosts).collect();
        if rule.again || !rule.variable.as_ref().is_none_or(is_set) || (!rule.urls.is_empty() && asked.is_empty()) {
            return None;
        }
        let at = rule.at.as_ref().and_then(|name| self.variables.get(name));
        Some(Wait {
            rule,
            limit: self.limit(&rule.limit),
            at: at.map_or(asked, |text| hosts(text)),
        })
    }

    /// bash computes with signed numbers: a larger one ends the wait at once.
    fn limit(&self, limit: &Limit) -> Option<u64> {
        match limit {
            Limit::Seconds(seconds) => Some(*seconds),
            Limit::Variable(name) => self.variables.get(name)?.parse::<i64>().ok()?.try_into().ok(),
        }
    }

    fn act(&self, rule: &'static ActRule) -> Option<Act> {
        let deadlines = match &rule.config {
            Some(path) => self.deadlines(path, &rule.deadlines)?,
            None => Vec::new(),
        };
        Some(Act {
            seconds: self.seconds(&rule.takes),
            rule,
            deadlines,
        })
    }

    /// Keys below `timeouts` in a file of configuration; `None` without this file.
    fn deadlines(&self, path: &str, keys: &'static [String]) -> Option<Vec<(&'static str, u64)>> {
        let text = self.machine.text(path)?;
        let read: Vec<_> = self
            .machine
            .configs
            .iter()
            .filter(|config| config.path == path)
            .collect();
        match read.is_empty() {
            true => Some(deadlines(&documents(text), keys)),
            false => Some(deadlines(read.iter().map(|config| config.value.as_ref()), keys)),
        }
    }

    fn seconds(&self, estimate: &Estimate) -> u64 {
        let files = estimate.each.iter().filter_map(|path| self.machine.text(path));
        let times = match estimate.each.as_slice() {
            [] => 1,
            _ => files.map(urls).sum(),
        };
        TABLE.seconds(estimate, times)
    }
}

fn documents(config: &str) -> Vec<Value> {
    let documents = firelay_yaml::split(config).into_iter();
    let values = documents.filter_map(|part| firelay_yaml::parse("config", &config[part]).ok());
    values.collect()
}

/// Keys below `timeouts`, of the first document that has it.
fn deadlines<'v>(documents: impl IntoIterator<Item = &'v Value>, keys: &'static [String]) -> Vec<(&'static str, u64)> {
    let timeouts = documents.into_iter().find_map(|value| value.get("timeouts"));
    let seconds = |key: &'static String| Some((key.as_str(), duration(timeouts?.get(key)?.as_str()?)));
    keys.iter().filter_map(seconds).collect()
}

/// Whole seconds of `1h30m0s`, as Go writes it.
fn duration(text: &str) -> u64 {
    let mut digits = String::new();
    let mut sum = 0_u64;
    for character in text.chars() {
        let seconds = match character {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => 0,
        };
        let value = digits.parse().unwrap_or(if digits.is_empty() { 0 } else { u64::MAX });
        sum = sum.saturating_add(value.saturating_mul(seconds));
        match character {
            digit if digit.is_ascii_digit() => digits.push(digit),
            _ => digits.clear(),
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        let read = ["1h30m0s", "5m", "90s", "0s", "", "99999999999999999999h"].map(duration);
        assert_eq!(read, [5400, 300, 90, 0, 0, u64::MAX]);
    }
}
