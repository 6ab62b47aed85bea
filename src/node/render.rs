//! A template as a file of a node.

use std::sync::LazyLock;

use firelay_base::memo::Memo;
use serde::Serialize;

use super::{Error, NodeFile, Text};
use crate::{plan::NodePlan, template};

/// Texts by template and context: most are the same on every machine of a role.
static TEXTS: LazyLock<Memo<Text>> = LazyLock::new(Memo::default);

/// The text of a template, for `file` of `node`.
pub(super) fn text(node: &NodePlan, file: &str, name: &str, context: &impl Serialize) -> Result<Text, Error> {
    let values = serde_json::to_vec(context).expect("contexts of texts, numbers and lists are JSON");
    let text = TEXTS.try_of(name, &values, || template::render(name, context).map(Text::from));
    text.map(|text| Text::clone(&text)).map_err(|source| Error::Template {
        node: node.name.clone(),
        file: file.to_owned(),
        source,
    })
}

/// The file at `path`, 0644.
pub(super) fn file(node: &NodePlan, path: &str, name: &str, context: &impl Serialize) -> Result<NodeFile, Error> {
    Ok(NodeFile::new(path, 0o644, text(node, path, name, context)?))
}
