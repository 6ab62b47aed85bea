use thiserror::Error;

use super::size::Overrun;
use crate::{document, plan::NodePlan, profile::DocumentFormat, template};

/// The reason why a node's document cannot be delivered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    #[error("{node}: {source}")]
    Document { node: String, source: document::Error },
    #[error(
        "{node}: platform {platform} carries no {format} documents, which os {os} reads: choose another of the two"
    )]
    NotCarried {
        node: String,
        platform: String,
        os: String,
        format: DocumentFormat,
    },
    #[error("{node}: {source}")]
    Stub { node: String, source: template::Error },
    /// The spec requires a form that the platform does not support. A valid plan has none.
    #[error("{node}: platform {platform} does not take documents in the form that delivery.form asks for")]
    NoForm { node: String, platform: String },
    /// No form of the document fits; the message is the whole table.
    #[error("{0}")]
    TooLarge(Box<Overrun>),
}

impl Error {
    pub(super) fn of_text(node: &NodePlan) -> impl Fn(template::Error) -> Self {
        |source| Self::Stub {
            node: node.name.clone(),
            source,
        }
    }

    pub(super) fn of_document(node: &NodePlan) -> impl Fn(document::Error) -> Self {
        |source| Self::Document {
            node: node.name.clone(),
            source,
        }
    }
}
