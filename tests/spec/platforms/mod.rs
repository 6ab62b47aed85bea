//! Platforms: what they take to the byte, what comes of each form, their pages, and the names of machines.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod forms;
mod limits;
mod names;
mod pages;
mod small;
use crate::support;
