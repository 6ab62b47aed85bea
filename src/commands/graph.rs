//! `graph`: a drawing of the waits between the machines of a rendered tree.

use firelay_verify::{
    Tree, graph as drawing,
    order::{self, Picture},
};

use super::{failure::Failure, streams, verify};
use crate::cli::{Graph, GraphFormat, OutputFormat};

/// Runs the verb. Readable documents are drawn, and the others are reported.
pub fn run(args: &Graph) -> Result<(), Failure> {
    let tree = Tree::open(&args.out)?;
    draw(args, &Picture::of(&tree))?;
    verify::undrawn(&args.out, &order::unread(&tree))
}

fn draw(args: &Graph, picture: &Picture) -> Result<(), Failure> {
    if args.output == OutputFormat::Json {
        return streams::json(picture);
    }
    let drawn = match args.format {
        GraphFormat::Text => Ok(drawing::text(picture)),
        GraphFormat::Dot => drawing::dot(picture),
        GraphFormat::Mermaid => drawing::mermaid(picture),
        GraphFormat::Svg => drawing::svg(picture),
    };
    streams::data(&drawn?)
}
