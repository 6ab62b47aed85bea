//! `graph`: a drawing of the waits between the machines of a rendered tree.

use firelay_base::table::{bold, green, red, yellow};
use firelay_verify::{Tree, graph as drawing, order::Picture};
use rayon::prelude::*;

use super::{failure::Failure, progress, streams, verify};
use crate::cli::{Graph, GraphOutput};

/// Runs the verb. Readable documents are drawn, and the others are reported.
pub fn run(args: &Graph) -> Result<(), Failure> {
    let (picture, gaps) = progress::during("reading the documents", || {
        Tree::open_order(args.tree.path()).map(|tree| {
            let drawn = Picture::with_gaps(&tree);
            // One processor takes a tenth of the whole time to free thousands of machines.
            tree.machines.into_par_iter().for_each(drop);
            drawn
        })
    })?;
    draw(args, &picture)?;
    verify::undrawn(args.tree.path(), &gaps)
}

fn draw(args: &Graph, picture: &Picture) -> Result<(), Failure> {
    let drawn = match args.output {
        GraphOutput::Json => return streams::json(picture),
        GraphOutput::Text => return streams::text(&coloured(&drawing::text(picture))),
        GraphOutput::Dot => drawing::dot(picture),
        GraphOutput::Mermaid => drawing::mermaid(picture),
        GraphOutput::Svg => drawing::svg(picture),
        GraphOutput::Timeline => drawing::timeline(picture),
    };
    streams::data(&drawn?)
}

/// The cluster and the machines in bold: lines at the margin that are no bar. Work in green, waits in yellow, and what never happens in red.
fn coloured(text: &str) -> String {
    let lines = text.lines();
    lines.map(|line| coloured_line(line) + "\n").collect()
}

fn coloured_line(line: &str) -> String {
    let (indented, bar) = (
        line.starts_with(' '),
        line.strip_suffix('|').and_then(|line| line.rsplit_once('|')),
    );
    if let Some((name, bar)) = bar {
        return format!("{name}|{}|", coloured_bar(bar));
    }
    if let Some((before, waits)) = line.split_once("= works, ").filter(|_| indented) {
        return format!("{before}{}, {}", green("= works"), yellow(waits));
    }
    match line.split_once(" never") {
        Some((step, rest)) if indented => format!("{step} {}{rest}", red("never")),
        _ if indented || line.is_empty() => line.to_owned(),
        _ => bold(line),
    }
}

/// Each run of the same character in its colour.
fn coloured_bar(bar: &str) -> String {
    let runs = bar.as_bytes().chunk_by(|one, other| one == other);
    let run = |run: &[u8]| {
        let text = String::from_utf8_lossy(run);
        match run.first() {
            Some(b'=') => green(&text),
            Some(b'.') => yellow(&text),
            _ => text.into_owned(),
        }
    };
    runs.map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_waits_and_what_never_happens_have_colours() {
        assert_eq!(
            coloured_line("cp1  |==.. |"),
            format!("cp1  |{}{} |", green("=="), yellow(".."))
        );
        assert_eq!(coloured_line("cp1  etcd"), bold("cp1  etcd"));
        assert_eq!(
            coloured_line("  join       never          kubeadm join"),
            format!("  join       {}          kubeadm join", red("never"))
        );
        assert_eq!(
            coloured_line("     = works, . waits for another machine"),
            format!("     {}, {}", green("= works"), yellow(". waits for another machine"))
        );
        assert_eq!(coloured_line("  ready      1:05 to 1:05"), "  ready      1:05 to 1:05");
    }
}
