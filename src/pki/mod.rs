//! Certificates, keys and kubeconfigs: the same plan and bundle give the same bytes.

mod model;

pub use model::*;
