//! The order of the first boot: the waits that stand in the documents, and what ends each.
//!
//! Every machine goes through its chain by itself and waits where it needs another. Here the chains of all machines are compared: whether
//! the waits end, whether one machine founds and the others join in turn, and about when. The steps and their waits are a table,
//! `templates/boot/steps.yaml`; a wait is on a machine if the script of its step has the call that the table makes of it.

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

pub use check::{check, unread};
pub use picture::{Bar, Edge, Group, Picture, PictureStep, PictureWait, Span};
pub use scripts::check as check_scripts;
