//! `update`: a render that also writes what changes the running machines in place.

use std::path::Path;

use super::{
    failure::Failure,
    in_place::missing,
    render,
    streams::{self, counted},
};
use crate::{
    cli,
    tree::{TreeWriter, is_update},
};

/// Runs the verb.
pub fn run(args: &cli::Update) -> Result<(), Failure> {
    match args.done {
        true => clear(&args.out),
        false => render::run_with(&args.render(), Some(args)),
    }
}

/// Removes the scripts from the tree: all machines have what they bring.
fn clear(out: &Path) -> Result<(), Failure> {
    let tree = TreeWriter::begin(out)?;
    let Some(last) = tree.last().cloned() else {
        return Err(missing(out));
    };
    tree.keep(|file| !is_update(&file.path))?;
    let report = tree.finish(last)?;
    streams::tell(format_args!(
        "{} removed from {}: the next update begins with the documents that are there now",
        counted(report.removed.len(), "file"),
        out.display()
    ));
    Ok(())
}
