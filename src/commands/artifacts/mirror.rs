//! `artifacts mirror`: every file into a directory.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
    time::Duration,
};

use serde::Serialize;

use super::{
    client,
    inventory::{self, Digest, File},
};
use crate::{
    cli::{ArtifactsMirror, OutputFormat},
    commands::{
        failure::{Failure, shell_word},
        project::Project,
        streams,
    },
    mirror::{self, Outcome, SyncOptions, Synced, Wanted},
    plan,
};

/// Before the second try of a file.
const PAUSE: Duration = Duration::from_millis(500);

/// `--plan --output json`.
#[derive(Serialize)]
struct Planned<'a> {
    path: &'a str,
    url: &'a str,
    #[serde(flatten)]
    digest: Digest,
}

/// `--output json`.
#[derive(Serialize)]
struct Row<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// `present`, `fetched` or `failed`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(synced: &'a Synced) -> Self {
        let (outcome, size, why) = match &synced.outcome {
            Outcome::Present(size) => ("present", Some(*size), None),
            Outcome::Fetched(size) => ("fetched", Some(*size), None),
            Outcome::Failed(why) => ("failed", None, Some(why.as_str())),
        };
        Self {
            path: &synced.path,
            size,
            outcome,
            why,
        }
    }
}

/// Runs the verb.
pub fn run(args: &ArtifactsMirror) -> Result<(), Failure> {
    let project = Project::load(&args.spec)?;
    if let Some([one, other]) = plan::crossed(&project.plan) {
        return Err(Failure::Usage(format!(
            "{one} and {other} would be the same file of a mirror"
        )));
    }
    let files = inventory::of(&project.plan);
    tell_own(&files);
    let mut wanted: Vec<_> = files
        .iter()
        .filter_map(|file| file.wanted(file.upstream.clone()?))
        .collect();
    wanted.sort();
    // The same file may have several URLs that differ in their query.
    wanted.dedup_by(|one, other| (&one.path, &one.digest) == (&other.path, &other.digest));
    if args.plan {
        return commands(&wanted, args);
    }
    let synced = fill(&wanted, args)?;
    let failed: Vec<_> = synced.iter().filter_map(failure).collect();
    if args.output == OutputFormat::Json {
        streams::json(&synced.iter().map(Row::of).collect::<Vec<_>>())?;
    }
    if failed.is_empty() {
        streams::tell(format_args!(
            "{} holds all {} files; artifacts.mirror is the URL under which it is served",
            args.mirror.display(),
            synced.len()
        ));
        return Ok(());
    }
    Err(Failure::Io(format!(
        "{} of {} files could not be fetched; the same command goes on where this one ended\n{}",
        failed.len(),
        synced.len(),
        failed.join("\n")
    )))
}

fn failure(synced: &Synced) -> Option<String> {
    match &synced.outcome {
        Outcome::Failed(why) => Some(format!("  {}: {why}", synced.path)),
        Outcome::Present(_) | Outcome::Fetched(_) => None,
    }
}

/// Lists files that a mirror has to hold and upstream lacks, and files that are fetched elsewhere.
fn tell_own(files: &[File]) {
    for file in files.iter().filter(|file| file.upstream.is_none()) {
        match &file.path {
            Some(path) => streams::tell(format_args!("note: {path} is yours: copy it there yourself")),
            None => streams::tell(format_args!(
                "note: machines fetch {} from where it is, not from the mirror",
                file.url
            )),
        }
    }
}

fn fill(wanted: &[Wanted], args: &ArtifactsMirror) -> Result<Vec<Synced>, Failure> {
    let options = SyncOptions {
        parallel: args.fetching.parallel.into(),
        retries: args.retries,
        pause: PAUSE,
        bar: io::stderr().is_terminal(),
    };
    let draw = |text: &str| {
        let mut stderr = io::stderr().lock();
        // The exit code still shows the result.
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    };
    let client = client(&args.fetching)?;
    let synced = mirror::sync(&client, wanted, &args.mirror, options, &draw);
    synced.map_err(|error| Failure::file("fill", &args.mirror, &error))
}

/// Commands for a shell with curl, one line each, or the list. A file has its name when it is right.
fn commands(wanted: &[Wanted], args: &ArtifactsMirror) -> Result<(), Failure> {
    if args.output == OutputFormat::Json {
        let list = wanted.iter().map(|file| Planned {
            path: &file.path,
            url: &file.url,
            digest: Digest(file.digest.clone()),
        });
        return streams::json(&list.collect::<Vec<_>>());
    }
    let line = |file: &Wanted| {
        let path = args.mirror.join(&file.path);
        let part = format!("{}.part", path.display());
        let sum = shell_word(Path::new(&format!("{}  {part}", file.digest)));
        let tool = mirror::algorithm(&file.digest);
        let (path, part, url) = (
            shell_word(&path),
            shell_word(Path::new(&part)),
            shell_word(Path::new(&file.url)),
        );
        // A failing command before `&&` does not end a shell, even with -e.
        format!(
            "curl --fail --silent --show-error --location --retry 5 --create-dirs --output {part} {url} && \
             printf '%s\\n' {sum} | {tool}sum --check --quiet && mv {part} {path} || exit 1\n"
        )
    };
    streams::data(&wanted.iter().map(line).collect::<String>())
}
