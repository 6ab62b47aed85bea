//! `delivery`: how documents come to the machines.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Beside;
use crate::yaml::Spanned;

/// `delivery`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delivery {
    /// Further files of the tree, for tools that take the documents in another form.
    #[serde(default)]
    pub beside: Vec<Spanned<Beside>>,
}
