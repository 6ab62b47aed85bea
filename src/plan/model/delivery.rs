//! How a document comes to its machine, resolved.

use std::collections::BTreeMap;

use crate::{
    profile::{Place, Store},
    secret::Secret,
    spec::{DeliveryForm, Exposure},
};

/// `delivery` of one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeliveryPlan {
    /// The form that the document must take; the first that fits if there is none.
    pub rung: Option<DeliveryForm>,
    /// Where its payload may lie.
    pub pointer: Option<PointerPlan>,
    /// `security.maxExposure`.
    pub max_exposure: Option<Exposure>,
}

/// `delivery.pointer`, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct PointerPlan {
    /// The kind of place.
    pub store: &'static Store,
    /// The place under which the payloads lie.
    pub base: Place,
    /// Region of an S3 bucket, if it is said.
    pub region: Option<String>,
    /// Headers of each request.
    pub headers: BTreeMap<String, Secret<String>>,
    /// The text behind `?` in each URL.
    pub query: Option<Secret<String>>,
    /// The payload is encrypted.
    pub sealed: bool,
}
