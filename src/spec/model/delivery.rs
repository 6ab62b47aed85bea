//! `delivery`: the delivery of documents to the machines.

use std::collections::BTreeMap;

pub use firelay_tree::DeliveryForm;
use firelay_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ExtraOutput, Pxe};
use crate::secret::Secret;

/// `delivery`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Delivery {
    /// The form that every document takes; if absent, the first of `plain`, `inner`, `compressed` and `pointer` in which a
    /// document fits its platform's limit.
    pub form: Option<Spanned<DeliveryForm>>,
    /// Where a document that does not fit may lie; the machine is then given a small one that fetches it. None if absent.
    pub pointer: Option<Spanned<Pointer>>,
    /// Further files of the tree, for tools that take the documents in another form.
    pub extra_outputs: Vec<Spanned<ExtraOutput>>,
    /// Scripts and kernel arguments for machines that boot from the network, below `pxe/` of the tree. For those whose platform
    /// is `metal`.
    pub pxe: Option<Pxe>,
}

/// `delivery` of a role, a node or a pool.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeDelivery {
    /// The form that the documents take; the nearest counts.
    pub form: Option<Spanned<DeliveryForm>>,
    /// Where documents that do not fit may lie; the nearest counts whole.
    pub pointer: Option<Spanned<Pointer>>,
}

/// `delivery.pointer`: where the payloads lie.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pointer {
    /// `https://HOST/PATH`, `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `azure://ACCOUNT/CONTAINER/PREFIX`; with the last three
    /// a machine shows the identity that the cloud gave it.
    pub base: Spanned<String>,
    /// Region of an S3 bucket; the machine's own if absent. Ignition finds it out by itself.
    pub region: Option<Spanned<String>>,
    /// The credential with which a machine authenticates to a web server.
    #[serde(default)]
    pub auth: PointerAuth,
    /// Encrypts payloads (age, X25519), so that readers of the storage learn nothing. The key is in the small document.
    pub sealed: Option<Spanned<bool>>,
}

/// `delivery.pointer.auth`. It stands in the small document; what it opens should be read-only and end soon.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PointerAuth {
    /// Headers of each request by name; values are redacted in every output for people.
    pub headers: BTreeMap<Spanned<String>, Spanned<Secret<String>>>,
    /// The query of every URL, such as a shared access signature; redacted in every output for people.
    pub query: Option<Spanned<Secret<String>>>,
}
