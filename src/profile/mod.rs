//! Everything that differs between operating systems, platforms and Kubernetes versions, as data.
//!
//! `profiles/{os,platform,kubernetes}/*.yaml` and `profiles/catalog.yaml` are embedded in the binary;
//! code asks them questions and never compares a name or a version.

mod catalog;
mod kubernetes;
mod os;
mod platform;

pub use catalog::*;
pub use kubernetes::*;
pub use os::*;
pub use platform::*;
