//! A node's document in the forms that other tools merge with their own.

use std::collections::BTreeSet;

use super::{ArtifactFile, Error};
use crate::{
    document::{butane, parts},
    node::NodeFiles,
    plan::NodePlan,
    profile::DocumentFormat,
    spec::ExtraOutput,
};

/// Directory of the parts, within the node's.
const PARTS: &str = "parts";

/// The requested forms that this node's document has.
pub fn extra_outputs(
    asked: &BTreeSet<ExtraOutput>,
    node: &NodePlan,
    files: &NodeFiles,
) -> Result<Vec<ArtifactFile>, Error> {
    let failed = Error::of_document(node);
    match node.os.document {
        DocumentFormat::CloudInit if asked.contains(&ExtraOutput::Parts) => {
            let parts = parts(files).map_err(failed)?;
            let file = |(name, content)| ArtifactFile::text(format!("{PARTS}/{name}"), content);
            Ok(parts.map(file).into())
        }
        DocumentFormat::Ignition if asked.contains(&ExtraOutput::Butane) => {
            let butane = butane(&node.os, files).map_err(failed)?;
            Ok(vec![ArtifactFile::text("config.bu", butane)])
        }
        _ => Ok(Vec::new()),
    }
}
