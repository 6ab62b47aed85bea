//! A template as a file of a node.

use serde::Serialize;

use super::{Error, NodeFile, Text};
use crate::{plan::NodePlan, template};

/// The text of a template, for `file` of `node`.
pub(super) fn text(node: &NodePlan, file: &str, name: &str, context: &impl Serialize) -> Result<Text, Error> {
    template::render(name, context)
        .map(Text::from)
        .map_err(|source| Error::Template {
            node: node.name.clone(),
            file: file.to_owned(),
            source,
        })
}

/// The file at `path`, 0644.
pub(super) fn file(node: &NodePlan, path: &str, name: &str, context: &impl Serialize) -> Result<NodeFile, Error> {
    Ok(NodeFile {
        path: path.to_owned(),
        mode: 0o644,
        content: text(node, path, name, context)?,
    })
}
