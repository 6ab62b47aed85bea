//! `delivery.extraOutputs`: files in addition to the documents.

use schemars::JsonSchema;
use serde::Deserialize;

/// A form in which other tools take documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExtraOutput {
    /// `terraform/nodes.auto.tfvars.json`: what a Terraform module has to know of every machine, without a secret.
    Terraform,
    /// `terraform/secrets.auto.tfvars.json`: the documents themselves as a variable, where the tree does not go along.
    TerraformSecrets,
    /// `nodes/NAME/parts/`: the cloud-init document as two parts, to be merged with your own.
    Parts,
    /// `nodes/NAME/config.bu`: the Ignition document as Butane, likewise.
    Butane,
}
