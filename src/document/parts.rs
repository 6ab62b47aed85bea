//! The cloud-config in two parts, for who puts a multi-part message together of firelay's and his own.

use serde_json::{Map, Value};

use super::{Compression, Error, cloud_init::CloudConfig, layout};
use crate::node::NodeFiles;

/// How each part is laid over those before it: lists are added to, what is there already stays. cloud-init's own way would
/// replace the list of an earlier part (cloud-init docs, "Merging user-data sections"; 2026-11-20).
const MERGE_HOW: &str = "dict(recurse_array,no_replace)+list(append)";

/// The key that is a part of its own, so that commands of other parts come before the boot chain starts.
const START: &str = "runcmd";

/// One part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its file: a number, which is its place, and a name.
    pub file_name: &'static str,
    /// `#cloud-config`.
    pub content: String,
}

/// The two parts of a node's document: what is laid, and what starts it. Parts of others stand between them.
pub fn parts(files: &NodeFiles) -> Result<[Part; 2], Error> {
    layout::check(files, &[])?;
    let config = serde_json::to_value(CloudConfig::new(files, Compression::None));
    let (start, laid) = match config.expect("structs of texts are JSON") {
        Value::Object(config) => config.into_iter().partition(|(key, _)| key == START),
        _ => (Map::new(), Map::new()),
    };
    Ok([
        Part {
            file_name: "10-firelay-files.yaml",
            content: part(laid)?,
        },
        Part {
            file_name: "90-firelay-start.yaml",
            content: part(start)?,
        },
    ])
}

fn part(config: Map<String, Value>) -> Result<String, Error> {
    let mut part = Map::from_iter([("merge_how".to_owned(), Value::from(MERGE_HOW))]);
    part.extend(config);
    Ok(format!("#cloud-config\n{}", firelay_yaml::emit(&part)?))
}
