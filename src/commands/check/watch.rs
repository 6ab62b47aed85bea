//! `check --watch`: a check after each change of a file that it read.
//!
//! Files are asked for their time and size. Notifications of the kernel would miss files on network mounts and in shared folders of
//! virtual machines.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use super::{Checked, Failure, checked};
use crate::{
    cli::{Check, Findings},
    commands::streams,
};

/// Between two looks at the files.
const PAUSE: Duration = Duration::from_millis(300);
/// Folders of patches, each with a folder for a role or node.
const PATCHES: &str = "patches";

/// Time and size of each path; `None` where nothing is.
type Seen = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// Checks for ever.
pub(super) fn run(args: &Check) -> Result<(), Failure> {
    if args.spec.specs.iter().any(|path| path == Path::new("-")) {
        return Err(Failure::Usage("--watch needs files, and `-` is stdin".to_owned()));
    }
    let mut files: BTreeSet<PathBuf> = args.spec.specs.iter().cloned().collect();
    let mut last = None;
    loop {
        // A change during the check must count.
        let mut seen = look(&files, args);
        let outcome = checked(args);
        if let Ok(checked) = &outcome {
            files.extend(checked.files.iter().cloned());
            for (path, state) in look(&files, args) {
                seen.entry(path).or_insert(state);
            }
        }
        last = print(outcome, last);
        while look(&files, args) == seen {
            thread::sleep(PAUSE);
            if streams::is_closed() {
                return Ok(());
            }
        }
    }
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

/// The files, and the folders in which more may appear.
fn look(files: &BTreeSet<PathBuf>, args: &Check) -> Seen {
    let parent = |path: &Path| match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let folders = files.iter().map(PathBuf::as_path).map(parent);
    let patches = args.spec.specs.first().map(|spec| parent(spec).join(PATCHES));
    let below = patches.iter().flat_map(fs::read_dir).flatten().flatten();
    let below = below.map(|entry| entry.path()).filter(|path| path.is_dir());
    let all = files.iter().cloned().chain(folders).chain(below).chain(patches.clone());
    all.map(|path| (path.clone(), state(&path))).collect()
}

fn state(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
