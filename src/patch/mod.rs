//! Patches: the user's changes of a machine's rendered files.
//!
//! A patch changes one document of a YAML file or one systemd unit. All others keep their bytes.

mod outcome;
mod patcher;
mod target;
mod unit;
mod validate;

use crate::{
    node::NodeFiles,
    plan::{NodePlan, Plan},
};
use firelay_yaml::diagnostic::Diagnostic;

use patcher::Patcher;

pub use outcome::findings;
pub use patcher::Trees;
pub use target::{Place, YamlDocument, documents, is_secret, is_yaml};
pub use unit::read as unit_tree;

/// The outcome of a patch on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its target is not on this machine.
    Absent(Box<Diagnostic>),
    /// It cannot be applied.
    Refused(Vec<Diagnostic>),
    /// Its changes were already present.
    Unchanged,
    /// It changed something, with warnings about keys that systemd ignores.
    Changed(Vec<Diagnostic>),
}

/// A machine's patched files.
#[derive(Clone, Debug)]
pub struct Patched {
    /// The files.
    pub files: NodeFiles,
    /// The outcome of each of its patches, by the number of the patch in the plan.
    pub outcomes: Vec<(usize, Outcome)>,
    /// The patched documents and units, in which every value of a patch has its place.
    pub trees: Trees,
}

/// Applies the patches that are for a machine, in their order.
pub fn apply(plan: &Plan, node: &NodePlan, files: NodeFiles) -> Result<Patched, firelay_yaml::Error> {
    let patches = plan.patches.iter().enumerate();
    let own = patches.filter(|(_, patch)| patch.scope.holds(node));
    let mut patcher = Patcher::new(files, &plan.kubernetes.accepted);
    let outcomes = own.map(|(number, scoped)| (number, patcher.apply(&scoped.patch)));
    let outcomes = outcomes.collect();
    let (files, trees) = patcher.finish()?;
    Ok(Patched { files, outcomes, trees })
}
