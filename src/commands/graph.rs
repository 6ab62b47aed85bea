//! `graph`: a drawing of the waits between the machines of a rendered tree.

use firelay_base::table::bold;
use firelay_verify::{
    Tree, graph as drawing,
    order::{self, Picture},
};

use super::{failure::Failure, progress, streams, verify};
use crate::cli::{Graph, GraphOutput};

/// Runs the verb. Readable documents are drawn, and the others are reported.
pub fn run(args: &Graph) -> Result<(), Failure> {
    let (tree, picture) = progress::during("reading the documents", || {
        Tree::open_order(args.tree.path()).map(|tree| {
            let picture = Picture::of(&tree);
            (tree, picture)
        })
    })?;
    draw(args, &picture)?;
    verify::undrawn(args.tree.path(), &order::unread(&tree))
}

fn draw(args: &Graph, picture: &Picture) -> Result<(), Failure> {
    let drawn = match args.output {
        GraphOutput::Json => return streams::json(picture),
        GraphOutput::Text => return streams::text(&with_titles(&drawing::text(picture))),
        GraphOutput::Dot => drawing::dot(picture),
        GraphOutput::Mermaid => drawing::mermaid(picture),
        GraphOutput::Svg => drawing::svg(picture),
    };
    streams::data(&drawn?)
}

/// The cluster and the machines in bold: lines at the margin that are no bar.
fn with_titles(text: &str) -> String {
    let is_title = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with('|');
    let line = |line: &str| match is_title(line) {
        true => bold(line) + "\n",
        false => line.to_owned() + "\n",
    };
    text.lines().map(line).collect()
}
