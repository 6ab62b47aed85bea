//! Errors while a node's files are assembled.

/// An error of this stage. All of them are faults of firelay or of a profile, not of the spec.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A structured file could not be emitted.
    #[error("cannot write {file} of node {node}")]
    Yaml {
        /// The node.
        node: String,
        /// The file.
        file: String,
        /// Why.
        source: firelay_yaml::Error,
    },
    /// A template could not be rendered.
    #[error("cannot render {file} of node {node}")]
    Template {
        /// The node.
        node: String,
        /// The file.
        file: String,
        /// Why.
        source: crate::template::Error,
    },
}
