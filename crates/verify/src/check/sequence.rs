//! The order in which systemd starts units at every boot: without cycles, and with the daemons in sequence.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{
    Known,
    unit_facts::{FACTS, Order, holds},
    units::{UNITS, has_unit},
};
use crate::{
    Finding, Level, Machine,
    provided::PROVIDED,
    unit::{assignments, words},
};

/// All files below the directory of units.
pub(super) fn check(machine: &Machine, _: &Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let sequence = Sequence::of(machine, &mut findings);
    findings.extend(sequence.circles());
    let orders = FACTS.orders.iter();
    findings.extend(orders.filter_map(|order| sequence.kept(order)));
    findings
}

/// The order of units, and whether firelay's own files set it.
struct Sequence<'a> {
    machine: &'a Machine,
    next: BTreeMap<String, BTreeMap<String, bool>>,
}

impl<'a> Sequence<'a> {
    fn of(machine: &'a Machine, findings: &mut Vec<Finding>) -> Self {
        let mut next: BTreeMap<_, BTreeMap<_, bool>> = BTreeMap::new();
        for (path, _, bytes) in machine.root.files() {
            let Some(unit) = unit_of(path) else { continue };
            let text = String::from_utf8_lossy(bytes);
            let orders = assignments(&text).into_iter().filter(|line| line.section == "Unit");
            for line in orders.filter(|line| matches!(line.key, "After" | "Before")) {
                for other in words(&line.value).into_iter().filter(|name| !name.contains('%')) {
                    if other == unit {
                        let message = format!("{}={other} in {unit} itself, which systemd passes over", line.key);
                        findings.push(machine.warning("FL1028", path, message));
                        continue;
                    }
                    let (first, second) = match line.key {
                        "After" => (other, unit.to_owned()),
                        _ => (unit.to_owned(), other),
                    };
                    let own = next.entry(first).or_default().entry(second).or_default();
                    *own |= is_own(path);
                }
            }
        }
        Self { machine, next }
    }

    /// The shortest path between two units in the start order, and whether firelay's own files alone define it.
    fn way(&self, from: &str, to: &str) -> Option<(Vec<&str>, bool)> {
        let (from, _) = self.next.get_key_value(from)?;
        let mut waiting = VecDeque::from([(vec![from.as_str()], true)]);
        let mut seen = BTreeSet::new();
        while let Some((path, own)) = waiting.pop_front() {
            let last = path.last().copied().unwrap_or_default();
            for (unit, said) in self.next.get(last).into_iter().flatten() {
                let longer = [&path[..], &[unit.as_str()]].concat();
                if unit == to {
                    return Some((longer, own && *said));
                }
                if seen.insert(unit) {
                    waiting.push_back((longer, own && *said));
                }
            }
        }
        None
    }

    /// systemd breaks a circle by not starting one of its units.
    fn circles(&self) -> Vec<Finding> {
        let (mut findings, mut told) = (Vec::new(), BTreeSet::new());
        for unit in self.next.keys() {
            let Some((path, own)) = self.way(unit, unit).filter(|_| !told.contains(unit)) else {
                continue;
            };
            told.extend(path.iter().map(|unit| (*unit).to_owned()));
            let found = path.iter().find(|unit| self.machine.root.has(&path_of(unit)));
            let message = format!("units come after each other: {}", path.join(" before "));
            findings.push(self.finding(found.unwrap_or(&unit.as_str()), message, own));
        }
        findings
    }

    /// Two units in the order that the machine needs.
    fn kept(&self, order: &Order) -> Option<Finding> {
        let Order {
            unit,
            after,
            with,
            unless,
        } = order;
        let is_there = self.machine.root.has(&path_of(unit))
            && has_unit(self.machine, after)
            && holds(self.machine, with.as_ref(), unless.as_ref());
        if !is_there || self.way(after, unit).is_some() {
            return None;
        }
        Some(match self.way(unit, after) {
            Some((_, own)) => self.finding(
                unit,
                format!("{unit} comes before {after} and has to come after it"),
                own,
            ),
            // A patch may have its reasons.
            None => self.finding(unit, format!("{unit} does not come after {after}"), false),
        })
    }

    fn finding(&self, unit: &str, message: String, own: bool) -> Finding {
        let path = path_of(unit);
        let finding = self.machine.error("FL1028", &path, message).level(Level::error_if(own));
        finding.help("change After= and Before= in the unit, its drop-ins or the patch that wrote them")
    }
}

fn path_of(unit: &str) -> String {
    format!("{UNITS}{unit}")
}

/// The unit that a file is, or is a drop-in of.
fn unit_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix(UNITS)?;
    match name.split_once('/') {
        Some((folder, _)) => folder.strip_suffix(".d"),
        None => Some(name),
    }
}

/// Whether firelay wrote it, judging by its name.
fn is_own(path: &str) -> bool {
    let is_dropin = path.strip_prefix(UNITS).is_some_and(|name| name.contains('/'));
    PROVIDED.is_own(path) && (!is_dropin || FACTS.dropins.iter().any(|part| path.contains(part.as_str())))
}
