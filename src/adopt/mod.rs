//! A cluster that something else created, as firelay takes it over: its PKI, its objects, and the spec that follows from them.
//!
//! Sources: kubeadm's names of files (`cmd/kubeadm/app/constants/constants.go`), its ConfigMaps (`phases/uploadconfig`) and
//! the forms of its configuration (`apis/kubeadm/v1beta3`, `v1beta4`).

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod arguments;
mod authorities;
mod compare;
mod draft;
mod fields;
mod fit;
mod kubeconfig;
pub mod living;
mod machines;
mod objects;
pub mod pki;

pub use authorities::check as check_authorities;
pub use compare::compare;
pub use draft::{Answers, Draft, check_answers, draft};
pub use fit::{Fitted, fit};
pub use kubeconfig::{Access, Material};
pub use machines::Machine;
pub use objects::Objects;
