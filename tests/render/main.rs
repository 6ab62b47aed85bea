//! From the plan to documents: certificates, configuration, manifests, documents, and their determinism.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod addons;
mod calico;
mod configs;
mod conform;
mod determinism;
mod documents;
mod endpoint;
mod fields;
mod hardening;
mod host;
mod interfaces;
mod kms;
mod manifests;
mod matrix;
mod openapi;
mod pki;
mod pointer;
mod seed;
mod tree;
