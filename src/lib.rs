//! firelay: from one cluster spec, one bootable document per node.
//!
//! The modules are listed in the order of the data flow; each imports only modules above it.
//!
//! ```text
//! cluster.yaml ─▶ Spec ─▶ Plan ─▶ Pki, Manifests ─▶ NodeFiles ─▶ Document ─▶ Artifact
//!                 spec/   plan/   pki/ addons/      node/ patch/ document/   delivery/
//!                           ▲       ▲
//!                    profiles/    firelay.secrets.yaml
//! ```
//!
//! `plan` to `document` are pure functions: the clock, randomness and files come in as values. Only `commands`, the bundle's
//! load and save, and packages below `crates/` touch the disk or the network: `tree` writes and reads the output, `serve`
//! hands it to machines, `mirror` fetches files, and `audit` searches a tree for secrets.

pub use firelay_audit as audit;
pub use firelay_base::{UNITS, disk, encoding, secret};
pub use firelay_mirror as mirror;
pub use firelay_serve as serve;
pub use firelay_tree as tree;

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

pub mod record;

pub mod adopt;

pub mod changes;

pub mod update;

pub mod cli;

pub mod commands;
