//! Platforms: their limits to the byte, their delivery forms, their pages, and the names of machines.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod forms;
mod limits;
mod names;
mod pages;
mod small;
use crate::support;
