//! The delivery of a document to its machine, resolved.

use std::collections::BTreeMap;

use crate::{
    profile::{Place, Store},
    secret::Secret,
    spec::{DeliveryForm, Exposure},
};

/// `delivery` of one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeliveryPlan {
    /// The required form of the document; without it the first form that fits.
    pub form: Option<DeliveryForm>,
    /// The possible location of its payload.
    pub pointer: Option<PointerPlan>,
    /// `security.maxExposure`.
    pub max_exposure: Option<Exposure>,
}

/// `delivery.pointer`, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct PointerPlan {
    /// The kind of place.
    pub store: &'static Store,
    /// The base URL of the payloads.
    pub base: Place,
    /// Region of an S3 bucket, if given.
    pub region: Option<String>,
    /// Headers of each request.
    pub headers: BTreeMap<String, Secret<String>>,
    /// The text after `?` in each URL.
    pub query: Option<Secret<String>>,
    /// The payload is encrypted.
    pub sealed: bool,
}
