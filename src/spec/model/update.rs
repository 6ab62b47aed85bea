//! `update`.

use firelay_yaml::{RawValue, Spanned};
use schemars::JsonSchema;
use serde::Deserialize;

/// `update`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Update {
    /// Workers that may be away at a time: a number, or a percentage of all, rounded down to one at least.
    #[schemars(extend("type" = ["integer", "string"], "minimum" = 1, "pattern" = "^(100|[1-9][0-9]?)%$"))]
    pub max_unavailable: Option<Spanned<RawValue>>,
}
