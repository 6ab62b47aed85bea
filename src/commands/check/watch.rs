//! `check --watch`: a check after each change of a file that it read.

use super::{Checked, Failure, checked};
use crate::{
    cli::{Check, Findings},
    commands::{
        streams,
        watch::{Files, each_change, refuse_stdin},
    },
};

/// Checks until nobody reads its output.
pub(super) fn run(args: &Check) -> Result<(), Failure> {
    refuse_stdin(&args.spec.specs, "--watch")?;
    let mut last = None;
    each_change(&args.spec, Files::new(), streams::is_closed, || {
        let outcome = checked(args);
        let files = outcome.as_ref().map(|checked| checked.files.clone());
        let files = files.unwrap_or_default();
        last = print(outcome, last.take());
        files
    });
    Ok(())
}

/// Prints a result unless it is that of the last check, and returns it as text.
fn print(outcome: Result<Checked, Failure>, last: Option<String>) -> Option<String> {
    let text = match &outcome {
        Ok(checked) => format!("{:?} {:?}", checked.findings, checked.verdict),
        Err(failure) => format!("{failure:?}"),
    };
    if last.as_ref() == Some(&text) {
        return last;
    }
    if last.is_some() {
        streams::tell("\nthe files changed");
    }
    let printed = outcome.and_then(|checked| {
        checked.report(Findings::Text)?;
        checked.conclude(Findings::Text)
    });
    // A refused spec, or a file that an editor is about to replace: the next change may correct it.
    printed.unwrap_or_else(|failure| failure.print());
    Some(text)
}
