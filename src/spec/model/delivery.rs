//! `delivery`: how documents come to machines.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Pxe;

/// `delivery`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delivery {
    /// Scripts and kernel arguments for machines that boot from the network, below `pxe/` of the tree. For those whose platform
    /// is `metal`.
    pub pxe: Option<Pxe>,
}
