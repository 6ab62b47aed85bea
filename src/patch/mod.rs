//! What the user changes in the files of a machine after firelay wrote them.
//!
//! A patch changes one document of a YAML file or one systemd unit. What no patch changes keeps its bytes.

mod conform;
mod desk;
mod judge;
mod merge;
mod target;
mod unit;

use firelay_yaml::diagnostic::Diagnostic;

use crate::{
    node::NodeFiles,
    plan::{NodePlan, Plan},
};

use desk::Desk;
pub use desk::Trees;
pub use judge::judge;
pub use target::{Document, Place, documents, is_secret, is_yaml};
pub use unit::read as unit_tree;

/// What became of a patch on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its target is not on this machine.
    Absent(Box<Diagnostic>),
    /// It cannot be laid.
    Refused(Vec<Diagnostic>),
    /// All was so already.
    Unchanged,
    /// It changed something; what systemd passes over of it is told.
    Changed(Vec<Diagnostic>),
}

/// A machine's files with its patches laid.
#[derive(Clone, Debug)]
pub struct Patched {
    /// The files.
    pub files: NodeFiles,
    /// What became of each of its patches, by their number in the plan.
    pub outcomes: Vec<(usize, Outcome)>,
    /// What was patched, as trees in which everything that a patch gave has its place.
    pub trees: Trees,
}

/// Lays the patches that are for a machine, in their order.
pub fn apply(plan: &Plan, node: &NodePlan, files: NodeFiles) -> Result<Patched, firelay_yaml::Error> {
    let own: Vec<_> = plan
        .patches
        .iter()
        .enumerate()
        .filter(|(_, patch)| patch.scope.holds(node))
        .collect();
    let mut desk = Desk::new(files, &plan.kubernetes.accepted);
    let outcomes = own
        .into_iter()
        .map(|(number, scoped)| (number, desk.lay(&scoped.patch)))
        .collect();
    let (files, trees) = desk.close()?;
    Ok(Patched { files, outcomes, trees })
}
