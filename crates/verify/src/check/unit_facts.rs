//! The facts about firelay's units that checks need: `crates/verify/src/order/units.yaml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::{Machine, embedded};

/// The facts about firelay's units.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Facts {
    pub(super) begin: Vec<Begin>,
    pub(super) steps: Vec<Started>,
    pub(super) programs: Vec<Program>,
    pub(super) orders: Vec<Order>,
    pub(super) dropins: Vec<String>,
}

/// The program that a unit of the chain starts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    pub(super) unit: String,
    /// The name of the program.
    pub(super) starts: String,
    /// No patch applies to the unit.
    #[serde(default)]
    pub(super) fixed: bool,
    /// Aliases of its command.
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    /// Assignments of the unit or its drop-ins.
    #[serde(default)]
    pub(super) settings: Vec<String>,
}

/// A unit that begins.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Begin {
    pub(super) unit: String,
    pub(super) with: Option<String>,
}

/// A unit that a step starts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Started {
    pub(super) unit: String,
    pub(super) step: String,
    /// A file without which the machine has no such unit.
    pub(super) with: Option<String>,
    /// A file with which it has none.
    pub(super) unless: Option<String>,
}

/// A unit that starts after another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    pub(super) unit: String,
    pub(super) after: String,
    /// As of units that steps start.
    pub(super) with: Option<String>,
    pub(super) unless: Option<String>,
}

/// Whether a row holds for a machine, by the files that it has.
pub(super) fn holds(machine: &Machine, with: Option<&String>, unless: Option<&String>) -> bool {
    let has = |file: &String| machine.root.has(file);
    with.is_none_or(has) && !unless.is_some_and(has)
}

pub(super) static FACTS: LazyLock<Facts> =
    LazyLock::new(|| embedded("units.yaml", include_str!("../order/units.yaml")));
