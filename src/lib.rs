//! firelay: from one cluster spec, one bootable document per node.
//!
//! The modules stand in the order in which the data flows; each imports only what stands above it.
//!
//! ```text
//! cluster.yaml ─▶ Spec ─▶ Plan ─▶ Pki, Manifests ─▶ NodeFiles ─▶ Document ─▶ Artifact
//!                 spec/   plan/   pki/ addons/      node/ patch/ document/   delivery/
//!                           ▲       ▲
//!                    profiles/    firelay.secrets.yaml
//! ```
//!
//! `plan` to `document` are pure functions: the clock, randomness and files come in as values. Only
//! `commands`, the bundle's load and save, and the tree's writer and reader touch the disk (by `disk`, which writes files
//! whole or not at all), and `serve`, which hands a tree
//! to machines over the network, and `mirror`, which fetches what they will.

pub mod disk;
pub mod secret;

pub mod age;

pub mod template;

pub mod declaration;

pub mod spec;

pub mod profile;

pub mod schema;

pub mod redact;

pub mod plan;

pub mod secrets;

pub mod pki;

pub mod addons;

pub mod node;

pub mod patch;

pub mod document;

pub mod delivery;

pub mod verify;

pub mod audit;

pub mod graph;

pub mod serve;

pub mod mirror;

pub mod cli;

pub mod commands;
