//! The order of the first boot: the waits in the documents, and the actions that end them.
//!
//! Every machine runs its chain alone and waits where it needs another. This module compares the chains of all
//! machines: whether the waits end, whether one machine founds and the others join in turn, and about when. The steps
//! and their waits are a table, `templates/boot/steps.yaml`; a machine has a wait if the script of its step contains
//! the table's call.

mod chain;
mod check;
mod drawing;
mod early;
mod graph;
mod likeness;
mod names;
mod picture;
mod reader;
mod run;
mod scripts;
mod steps;
mod table;
mod template;

pub use check::check;
pub use names::{natural, together};
pub use picture::{Bar, BarWait, Edge, Group, Picture, PictureStep, PictureWait, Span};
pub use scripts::check as check_scripts;
