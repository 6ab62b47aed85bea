//! Files and units of a machine that its documents do not write: `provided.yaml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Machine;

/// The facts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Provided {
    paths: Vec<Path>,
    own: Vec<String>,
    carried: String,
    readers: Vec<String>,
    fetched: Vec<String>,
    bringing: Vec<Bringing>,
    pub(super) foreign: Vec<String>,
    pub(super) shell: Vec<String>,
    pub(super) sourced: Vec<String>,
    pub(super) path_keys: Vec<String>,
    pub(super) mounted: Vec<String>,
    units: Vec<Unit>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Path {
    path: String,
    step: Option<String>,
    unless: Option<String>,
    from: Option<String>,
    /// The program that provides it, for messages.
    #[allow(dead_code)]
    by: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit {
    name: String,
    #[allow(dead_code)]
    by: String,
}

/// Something of the user's that may bring more than the documents show, and which findings then are not certain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bringing {
    step: Option<String>,
    below: Option<String>,
    codes: Vec<String>,
}

/// Where the chain's list of what it fetches is.
const ARTIFACTS: &str = "/etc/firelay/artifacts";

/// The facts that are built in.
pub(super) static PROVIDED: LazyLock<Provided> =
    LazyLock::new(|| super::embedded("provided.yaml", include_str!("provided.yaml")));

impl Path {
    fn covers(&self, path: &str, machine: &Machine) -> bool {
        let Some(rest) = self.rest(path) else { return false };
        let step = self.step.as_ref().is_none_or(|step| has_step(machine, step));
        let from = self.from.as_ref().is_none_or(|from| match from.strip_suffix('/') {
            Some(directory) if rest.is_empty() => machine.root.has(directory),
            Some(_) => machine.root.has(&format!("{from}{rest}")),
            None => machine.root.has(from),
        });
        let unless = self.unless.as_ref().is_none_or(|step| !has_step(machine, step));
        step && unless && from
    }

    /// The part of a path after this one.
    fn rest<'a>(&self, path: &'a str) -> Option<&'a str> {
        match self.path.strip_suffix('/') {
            Some(directory) if path == directory => Some(""),
            Some(_) => path.strip_prefix(self.path.as_str()),
            None => (path == self.path).then_some(""),
        }
    }
}

/// The machine has a step of this name: `join` for `50-join`.
pub(super) fn has_step(machine: &Machine, step: &str) -> bool {
    let ending = format!("-{step}");
    machine
        .root
        .entries
        .keys()
        .any(|path| path.contains("/steps/") && path.ends_with(&ending))
}

impl Provided {
    /// Whether a program provides the path, or the machine's documents contain it.
    pub(super) fn has(&self, machine: &Machine, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        machine.root.has(path)
            || self.paths.iter().any(|provided| provided.covers(path, machine))
            || is_fetched(machine, path)
            || self.is_in_image(machine, path)
    }

    /// The step artifacts fetches none of the programs, so the image has them.
    fn is_in_image(&self, machine: &Machine, path: &str) -> bool {
        let named = |name: &str| self.fetched.iter().any(|fetched| fetched == name);
        let list = machine.text(ARTIFACTS).unwrap_or_default();
        let mut words = list.split_whitespace().filter_map(|word| word.rsplit('/').next());
        path.rsplit('/').next().is_some_and(named) && !words.any(named)
    }

    /// The file is firelay's own.
    pub(super) fn is_own(&self, path: &str) -> bool {
        self.own.iter().any(|start| path.starts_with(start.as_str())) && !path.starts_with(&self.carried)
    }

    /// Whether programs of Kubernetes read the file, directly or by configuration.
    pub(super) fn is_read(&self, path: &str) -> bool {
        self.readers.iter().any(|start| path.starts_with(start.as_str()))
    }

    /// The user's commands or packages may bring what a finding of this code misses.
    pub(super) fn may_bring(&self, machine: &Machine, code: &str) -> bool {
        let mut bringing = self
            .bringing
            .iter()
            .filter(|bringing| bringing.codes.iter().any(|own| own == code));
        bringing.any(|bringing| {
            let is_step = bringing.step.as_ref().is_some_and(|step| has_step(machine, step));
            let is_laid = |start: &String| machine.root.below(start).next().is_some();
            is_step || bringing.below.as_ref().is_some_and(is_laid)
        })
    }

    /// Whether any existing path has this prefix.
    pub(super) fn has_some(&self, machine: &Machine, start: &str) -> bool {
        let found = machine.root.entries.range(start.to_owned()..).next();
        found.is_some_and(|(path, _)| path.starts_with(start))
            || start.rsplit_once('/').is_some_and(|(directory, rest)| {
                self.paths.iter().any(|provided| {
                    let below = provided.path.ends_with('/') && start.starts_with(&provided.path);
                    below
                        || (rest.is_empty() && provided.covers(directory, machine))
                        || provided.path.starts_with(start)
                })
            })
    }

    /// systemd or the image has the unit.
    pub(super) fn has_unit(&self, name: &str) -> bool {
        self.units.iter().any(|unit| unit.name == name)
    }

    /// The user's own file.
    pub(super) fn is_foreign(&self, path: &str) -> bool {
        self.foreign.iter().any(|start| path.starts_with(start))
    }
}

/// The step artifacts puts it there. Its list has a line for each: name, digest, format, URL, directory, members; without members
/// all of an archive is put there.
fn is_fetched(machine: &Machine, path: &str) -> bool {
    let Some((directory, name)) = path.rsplit_once('/') else {
        return false;
    };
    let list = machine.text(ARTIFACTS).unwrap_or_default();
    list.lines().any(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let members = words.get(5..).unwrap_or_default();
        let is_name = |member: &&str| member.rsplit('/').next() == Some(name);
        words.get(4) == Some(&directory) && (members.is_empty() || members.iter().any(is_name))
    })
}
