//! `man`: pages of the manual, in roff, a page a verb.

use std::{fs, path::Path};

use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;

use super::{failure::Failure, streams};
use crate::cli::{Cli, Man};

/// Runs the verb.
pub fn run(args: &Man) -> Result<(), Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, &mut pages)?;
    match &args.out {
        Some(directory) => write(directory, &pages),
        None => streams::data(&pages.into_iter().map(|(_, text)| text).collect::<String>()),
    }
}

/// The page of a command and those of its verbs: name of the file, and roff.
fn collect(command: &Command, pages: &mut Vec<(String, String)>) -> Result<(), Failure> {
    let page = Page::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    pages.push((page.get_filename(), String::from_utf8_lossy(&text).into_owned()));
    command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .try_for_each(|verb| collect(verb, pages))
}

fn write(directory: &Path, pages: &[(String, String)]) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| Failure::file("create", directory, &error))?;
    for (name, text) in pages {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| Failure::file("write", &path, &error))?;
    }
    streams::tell(format_args!("wrote {} pages to {}", pages.len(), directory.display()));
    Ok(())
}
