//! `graph`: a drawing of the waits between the machines of a rendered tree.

use firelay_verify::{
    Tree, graph as drawing,
    order::{self, Picture},
};

use super::{failure::Failure, streams, verify};
use crate::cli::{Graph, GraphOutput};

/// Runs the verb. Readable documents are drawn, and the others are reported.
pub fn run(args: &Graph) -> Result<(), Failure> {
    let tree = Tree::open_order(args.tree.path())?;
    draw(args, &Picture::of(&tree))?;
    verify::undrawn(args.tree.path(), &order::unread(&tree))
}

fn draw(args: &Graph, picture: &Picture) -> Result<(), Failure> {
    let drawn = match args.output {
        GraphOutput::Json => return streams::json(picture),
        GraphOutput::Text => Ok(drawing::text(picture)),
        GraphOutput::Dot => drawing::dot(picture),
        GraphOutput::Mermaid => drawing::mermaid(picture),
        GraphOutput::Svg => drawing::svg(picture),
    };
    streams::data(&drawn?)
}
