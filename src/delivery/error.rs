use thiserror::Error;

use super::size::Overrun;
use crate::{document, plan::NodePlan, profile::DocumentFormat, template};

/// The reason why a node's document cannot be delivered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The document cannot be written.
    #[error("{node}: {source}")]
    Document {
        /// Name of the node.
        node: String,
        /// Why.
        source: document::Error,
    },
    /// The platform does not carry the format that the OS reads.
    #[error(
        "{node}: platform {platform} carries no {format} documents, which os {os} reads: choose another of the two"
    )]
    NotCarried {
        /// Name of the node.
        node: String,
        /// Name of the platform's profile.
        platform: String,
        /// Name of the OS's profile.
        os: String,
        /// The format.
        format: DocumentFormat,
    },
    /// The small document that fetches the rest, or a file of the network boot, cannot be written.
    #[error("{node}: {source}")]
    Stub {
        /// Name of the node.
        node: String,
        /// Why.
        source: template::Error,
    },
    /// The spec requires a form that the platform does not support. A valid plan has none.
    #[error("{node}: platform {platform} does not take the document in the form of delivery.rung")]
    NoForm {
        /// Name of the node.
        node: String,
        /// Name of the platform's profile.
        platform: String,
    },
    /// No form of the document fits; the message is the whole table.
    #[error("{0}")]
    TooLarge(Box<Overrun>),
}

impl Error {
    /// An error in a text for a node.
    pub(super) fn of_text(node: &NodePlan) -> impl Fn(template::Error) -> Self {
        |source| Self::Stub {
            node: node.name.clone(),
            source,
        }
    }

    /// An error in the document of a node.
    pub(super) fn of_document(node: &NodePlan) -> impl Fn(document::Error) -> Self {
        |source| Self::Document {
            node: node.name.clone(),
            source,
        }
    }
}
