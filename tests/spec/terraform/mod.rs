//! Terraform: the external protocol, the variables, documents for template engines and for users who merge their own,
//! and the modules under `examples/terraform/`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, dead_code)]

use crate::cli::desk;
mod merged;
mod modules;
mod protocol;
mod replace;
mod stand_in;
use crate::support;
mod templates;
mod variables;

use desk::Desk;

/// All files besides documents, for a cluster with two systems, two architectures and a pool.
const ALL: &[&str] = &[
    "render",
    "--set",
    "delivery.extraOutputs=[terraform, terraformSecrets, parts, butane]",
];

/// A directory with that tree.
fn rendered() -> Desk {
    let desk = Desk::of("mixed");
    let ran = desk.run(ALL);
    assert_eq!(ran.code, 0, "{ran:?}");
    desk
}
