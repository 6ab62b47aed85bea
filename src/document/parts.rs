//! The cloud-config in two parts, for users who combine it with their own parts in one multi-part message.

use serde_json::{Map, Value};

use super::{Error, cloud_init::CloudConfig, layout};
use crate::node::NodeFiles;

/// Merge rule of each part: lists are appended to, existing keys stay. cloud-init's default would replace the list of an
/// earlier part (cloud-init docs, "Merging user-data sections"; 2026-11-20).
const MERGE_HOW: &str = "dict(recurse_array,no_replace)+list(append)";

/// The key with its own part, so that commands of other parts run before the boot chain starts.
const START: &str = "runcmd";

/// The two parts of a node's document by file name: its files, and the start of the boot chain. The numbers in the names order
/// them around the parts of others.
pub fn parts(files: &NodeFiles) -> Result<[(&'static str, String); 2], Error> {
    layout::check(files, &[])?;
    let config = serde_json::to_value(CloudConfig::new(files));
    let (start, files) = match config.expect("structs of texts are JSON") {
        Value::Object(config) => config.into_iter().partition(|(key, _)| key == START),
        _ => (Map::new(), Map::new()),
    };
    Ok([
        ("10-firelay-files.yaml", part(files)?),
        ("90-firelay-start.yaml", part(start)?),
    ])
}

fn part(config: Map<String, Value>) -> Result<String, Error> {
    let mut part = Map::from_iter([("merge_how".to_owned(), Value::from(MERGE_HOW))]);
    part.extend(config);
    Ok(format!("#cloud-config\n{}", firelay_yaml::emit(&part)?))
}
