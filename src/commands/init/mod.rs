//! `init`: a commented spec that passes `check`, from flags or from answers on a terminal.

mod answers;
mod dialogue;
mod gitignore;
mod layout;
mod questions;

use std::{
    io::{self, ErrorKind, IsTerminal},
    path::{Path, PathBuf},
};

use answers::Answers;
use questions::QUESTIONS;

use super::{
    failure::{Failure, shell_word},
    git,
    project::{Project, print_findings, refusal},
    schema, streams,
};
use crate::{
    cli::{Init, InitAnswers},
    disk::{self, Access},
    profile::Profiles,
    redact::redact_spec,
    secrets,
};
use firelay_yaml::diagnostic;

/// The schema's path in the first line of a starter.
const SCHEMA: &str = "firelay.schema.json";
/// The default name of a spec.
const SPEC: &str = "cluster.yaml";

/// Runs the verb.
pub fn run(args: &Init) -> Result<(), Failure> {
    let profiles = Profiles::embedded()?;
    let asks = args.answers.is_none() && io::stdin().is_terminal() && io::stderr().is_terminal();
    let file = match &args.file {
        Some(path) => Some(path.as_path()).filter(|path| *path != Path::new("-")),
        None => (asks && io::stdout().is_terminal()).then(|| Path::new(SPEC)),
    };
    // Reported before the questions rather than after them.
    file.filter(|path| path.exists())
        .map_or(Ok(()), |path| Err(exists(path)))?;
    let place = |answers: Answers| match file.filter(|path| *path != Path::new(SPEC)) {
        Some(path) => answers.in_file(path),
        None => answers,
    };
    let answers = if asks {
        let start = place(Answers::unasked(&profiles).with_extra_outputs(&args.extra_outputs));
        let answers = dialogue::hold(&mut io::stdin().lock(), &mut io::stderr(), &profiles, start)?;
        refuse_inventory(&answers, &profiles)?;
        answers
    } else {
        from_flags(
            &args.answers,
            &profiles,
            place(Answers::new(&profiles).with_extra_outputs(&args.extra_outputs)),
        )?
    };
    let answers = answers.fitted(&profiles)?;
    let text = answers.spec()?;
    match file {
        Some(path) => write(path, &text, &layout(&answers, &profiles)?)?,
        None => print(&text, &layout(&answers, &profiles)?)?,
    }
    answers.placeholder().into_iter().for_each(streams::tell);
    let spec = file.unwrap_or(Path::new(SPEC));
    if args.gitignore || (asks && file.is_some() && wants_gitignore(spec)?) {
        gitignore::add(spec)?;
    }
    Ok(())
}

/// The question is asked where git would add the bundle.
fn wants_gitignore(spec: &Path) -> Result<bool, Failure> {
    if !git::would_add(&spec.with_file_name(secrets::FILE)) {
        return Ok(false);
    }
    dialogue::confirm(
        &mut io::stdin().lock(),
        &mut io::stderr(),
        "Entries in .gitignore, so that git adds neither the secrets nor the documents (yes, no):",
    )
}

fn exists(path: &Path) -> Failure {
    Failure::Io(format!("{} exists and is not overwritten", path.display()))
}

/// The layout of the cluster.
fn layout(answers: &Answers, profiles: &Profiles) -> Result<String, Failure> {
    let project = Project::resolve(answers.composed()?, profiles.clone());
    // The answers were checked, so there is a plan.
    Ok(project.map_or_else(|_| String::new(), |project| layout::text(&project.plan)))
}

/// The spec of some flags.
pub fn spec(flags: &InitAnswers, profiles: &Profiles) -> Result<String, Failure> {
    from_flags(flags, profiles, Answers::new(profiles))?
        .fitted(profiles)?
        .spec()
}

fn from_flags(flags: &InitAnswers, profiles: &Profiles, start: Answers) -> Result<Answers, Failure> {
    let mut answers = start;
    for question in QUESTIONS {
        if let Some(text) = (question.flag)(flags) {
            let answered = question.answer(&answers, &text);
            answers = answered.map_err(|why| Failure::Usage(format!("{}: {why}", question.name)))?;
        }
    }
    refuse_inventory(&answers, profiles)?;
    answers.check(profiles).map_err(Failure::Usage)?;
    Ok(answers)
}

/// Prints the findings in an inventory like those in any spec.
fn refuse_inventory(answers: &Answers, profiles: &Profiles) -> Result<(), Failure> {
    let (spec, findings) = answers.inventory_findings(profiles)?;
    print_findings(&redact_spec(&spec), &findings);
    match diagnostic::refuse(&findings) {
        true => Err(Failure::Refused(refusal(&answers.inventory_name(), &findings))),
        false => Ok(()),
    }
}

/// Prints the spec on stdout, and its layout on stderr.
fn print(text: &str, layout: &str) -> Result<(), Failure> {
    streams::data(text)?;
    streams::tell(layout);
    streams::tell("next: firelay check, with the file of this spec");
    Ok(())
}

/// Writes the spec, and the schema beside it if it is missing. Then shows the layout.
fn write(path: &Path, text: &str, layout: &str) -> Result<(), Failure> {
    create(path, text)?;
    let beside: PathBuf = path.parent().unwrap_or(Path::new("")).join(SCHEMA);
    let mut wrote = path.display().to_string();
    if !beside.exists() {
        create(&beside, &schema::text()?)?;
        wrote = format!("{wrote} and {}", beside.display());
    }
    streams::tell(layout);
    streams::tell(format_args!("wrote {wrote}; next: firelay check {}", shell_word(path)));
    Ok(())
}

fn create(path: &Path, text: &str) -> Result<(), Failure> {
    disk::create(path, text.as_bytes(), Access::Umask).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => Failure::file("write", path, &error),
    })
}
