//! From the text of a spec to the plan: the command line, the schema, messages, profiles, patches and Terraform.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod book;
mod cli;
mod commands;
mod compose;
mod errors;
mod from_kubespray;
mod golden;
mod packages;
mod patches;
mod plan;
mod platforms;
mod profiles;
mod reach;
mod schema;
mod serving;
mod sources;
mod terraform;
mod tour;
mod yaml;
