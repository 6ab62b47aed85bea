//! The order of the first boot: the waits that stand in the documents, and what ends each.
//!
//! Every machine goes through its chain by itself and waits where it needs another. Here the chains of all machines are laid
//! beside each other, as their scripts say them: whether the waits end, whether one machine founds and the others join in
//! turn, and about when.

mod chain;
mod check;
mod drawing;
mod early;
mod grammar;
mod graph;
mod likeness;
mod names;
mod picture;
mod reader;
mod run;
mod script;
mod steps;

pub use check::{check, unread};
pub use picture::{Bar, Edge, Group, Picture, PictureStep, PictureWait, Span};
pub use reader::unknown_calls;
