//! `firelay.secrets.yaml`: roots only, made once. Clock and randomness come in as values.

mod bundle;

pub use bundle::*;
