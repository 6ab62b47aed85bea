//! `graph`: who waits for whom in a rendered tree, drawn.

use super::{failure::Failure, streams};
use crate::{
    cli::{Graph, GraphFormat, OutputFormat},
    graph as drawing,
    verify::{Tree, order::Picture},
};

/// Runs the verb.
pub fn run(args: &Graph) -> Result<(), Failure> {
    let tree = Tree::open(&args.out).map_err(|error| Failure::io(&error))?;
    let picture = Picture::of(&tree);
    if args.output == OutputFormat::Json {
        return streams::json(&picture);
    }
    let drawn = match args.format {
        GraphFormat::Text => Ok(drawing::text(&picture)),
        GraphFormat::Dot => drawing::dot(&picture),
        GraphFormat::Mermaid => drawing::mermaid(&picture),
        GraphFormat::Svg => drawing::svg(&picture),
    };
    streams::data(&drawn.map_err(|error| Failure::io(&error))?)
}
