//! The programs that read a rendered tree: `verify`, `audit`, `report`, `serve` and `mirror`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod adopt;
mod audit;
mod mirror;
mod report;
mod serve;
mod update;
mod verify;
