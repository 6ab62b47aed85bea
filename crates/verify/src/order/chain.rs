//! The chain of one machine: its steps in the order of running, and in each what it waits for and what it does.

use std::collections::BTreeMap;

use super::{
    super::Machine,
    table::{ActRule, TABLE, WaitRule},
};

/// The steps of a machine, with the events that depend on other machines.
#[derive(Debug)]
pub struct Chain<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// It founds the cluster.
    pub founds: bool,
    /// It has the commands to found a cluster, but not the file that they need.
    pub would_found: Option<&'static str>,
    /// Its steps.
    pub steps: Vec<Step<'a>>,
    /// The variables that its scripts source.
    pub variables: BTreeMap<String, String>,
}

/// A step of the chain.
#[derive(Debug)]
pub struct Step<'a> {
    /// Its file.
    pub path: &'a str,
    /// Its name without the number.
    pub name: &'a str,
    /// Its duration without `events`. An estimate.
    pub seconds: u64,
    /// Waits and acts.
    pub events: Vec<Event>,
    /// Its script can found a cluster.
    pub founding: bool,
    /// The variable with the URLs at which it checks for a cluster, if it does.
    pub asks: Option<&'static str>,
}

/// Something in a step.
#[derive(Clone, Debug)]
pub enum Event {
    /// It waits.
    Wait(Wait),
    /// It does something.
    Act(Act),
}

/// A wait.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Its kind.
    pub rule: &'static WaitRule,
    /// The time limit in seconds; `None` if it is no number.
    pub limit: Option<u64>,
    /// Hosts that it names; empty if it names none.
    pub at: Vec<String>,
}

/// Something that others may wait for.
#[derive(Clone, Debug)]
pub struct Act {
    /// Its kind.
    pub rule: &'static ActRule,
    /// Its own deadlines, with their names and seconds.
    pub deadlines: Vec<(&'static str, u64)>,
    /// Its duration. An estimate.
    pub seconds: u64,
}

impl Chain<'_> {
    /// It has an API server in the end.
    pub fn serves(&self) -> bool {
        self.acts()
            .any(|(_, _, act)| act.rule.gives.iter().any(|given| TABLE.founded.contains(given)))
    }

    /// A variable, or nothing.
    pub fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }

    /// Hosts of the URLs of a variable.
    pub fn named(&self, name: &str) -> Vec<String> {
        hosts(self.variable(name))
    }

    /// Every act with its place.
    pub fn acts(&self) -> impl Iterator<Item = (usize, usize, &Act)> {
        self.events().filter_map(|(step, event, what)| match what {
            Event::Act(act) => Some((step, event, act)),
            Event::Wait(_) => None,
        })
    }

    /// Every wait with its place.
    pub fn waits(&self) -> impl Iterator<Item = (usize, usize, &Wait)> {
        self.events().filter_map(|(step, event, what)| match what {
            Event::Wait(wait) => Some((step, event, wait)),
            Event::Act(_) => None,
        })
    }

    fn events(&self) -> impl Iterator<Item = (usize, usize, &Event)> {
        let steps = self.steps.iter().enumerate();
        steps.flat_map(|(number, step)| {
            step.events
                .iter()
                .enumerate()
                .map(move |(event, what)| (number, event, what))
        })
    }
}

/// Hosts of the URLs in a text, each once, without brackets.
pub(super) fn hosts(text: &str) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for host in url_hosts(text).map(|host| host.trim_matches(['[', ']'])) {
        if !hosts.iter().any(|known| known == host) {
            hosts.push(host.to_owned());
        }
    }
    hosts
}

/// How many URLs there are in a text.
pub(super) fn urls(text: &str) -> u64 {
    url_hosts(text).count() as u64
}

/// The host of each URL of a text, an IPv6 address in its brackets.
fn url_hosts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find("http")? + "http".len()..];
            let host = url_host(rest);
            if !host.is_empty() {
                // The host may also contain the word.
                rest = rest.split_once(host).map_or("", |(_, behind)| behind);
                return Some(host);
            }
        }
    })
}

/// The host after `http`, or nothing if no URL begins there.
fn url_host(rest: &str) -> &str {
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    let rest = rest.strip_prefix("://").unwrap_or_default();
    let address = rest.find(']').filter(|_| rest.starts_with('['));
    let name = || rest.find(|it: char| "/:,".contains(it) || it.is_ascii_whitespace());
    let end = address.map(|end| end + 1).or_else(name);
    &rest[..end.unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_stand_behind_the_scheme() {
        let text = "a=https://a.b:6443/x,http://[fd00::1]:1 https://a.b http:/c https:///d https://http.f,https://[e";
        assert_eq!(hosts(text), ["a.b", "fd00::1", "http.f", "e"]);
        assert_eq!(urls(text), 5);
    }
}
