//! Work that is repeated after each change of a file that it read: `check --watch` and `report --serve`.
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

use super::failure::Failure;
use crate::{cli::SpecArgs, spec::Composed};

/// Between two looks at the files.
const PAUSE: Duration = Duration::from_millis(300);
/// Between two looks at files that change: editors move a file away or empty it before they write the new one.
const SETTLE: Duration = Duration::from_millis(100);
/// Looks at files that never stay the same.
const LOOKS: usize = 10;
/// Folders of patches, each with a folder for a role or node.
const PATCHES: &str = "patches";

/// Files that were read.
pub type Files = BTreeSet<PathBuf>;
/// Time and size of each path; `None` where nothing is.
type Seen = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// The files of a spec. Embedded profiles are texts, too, and no files.
pub fn files(spec: &Composed) -> Files {
    let texts = spec.source().texts().iter().map(|text| PathBuf::from(&text.name));
    let named = spec.named_files().map(Path::to_owned);
    texts.chain(named).filter(|path| path.is_file()).collect()
}

/// Refuses stdin, which can be read only once.
pub fn refuse_stdin<'p>(paths: impl IntoIterator<Item = &'p PathBuf>, flag: &str) -> Result<(), Failure> {
    match paths.into_iter().any(|path| path == Path::new("-")) {
        true => Err(Failure::Usage(format!("{flag} needs files, and `-` is stdin"))),
        false => Ok(()),
    }
}

/// Works now, and again after each change, until `ends`. The work returns the files that it read; some of them may be known before.
pub fn each_change(args: &SpecArgs, mut files: Files, ends: impl Fn() -> bool, mut work: impl FnMut() -> Files) {
    files.extend(args.specs.iter().cloned());
    loop {
        // A change during the work must count.
        let seen = look(&files, args);
        let read = work();
        let all_known = read.is_subset(&files);
        files.extend(read);
        // A file that was not known may have changed after it was read.
        while all_known && look(&files, args) == seen {
            thread::sleep(PAUSE);
            if ends() {
                return;
            }
        }
        settle(|| look(&files, args));
    }
}

/// Waits until files stay as they are.
fn settle<T: PartialEq>(mut look: impl FnMut() -> T) {
    let mut last = look();
    for _ in 1..LOOKS {
        thread::sleep(SETTLE);
        let now = look();
        if now == last {
            return;
        }
        last = now;
    }
}

/// The files, and the folders in which more may appear.
fn look(files: &Files, args: &SpecArgs) -> Seen {
    let parent = |path: &Path| match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let folders = files.iter().map(PathBuf::as_path).map(parent);
    let patches = args.specs.first().map(|spec| parent(spec).join(PATCHES));
    let below = patches.iter().flat_map(fs::read_dir).flatten().flatten();
    let below = below.map(|entry| entry.path()).filter(|path| path.is_dir());
    let all = files.iter().cloned().chain(folders).chain(below).chain(patches.clone());
    all.map(|path| (path.clone(), state(&path))).collect()
}

fn state(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often is looked at something that has these states, and then the last of them.
    fn looks(states: &[u8]) -> usize {
        let mut number = 0;
        settle(|| {
            number += 1;
            states[number.min(states.len()) - 1]
        });
        number
    }

    #[test]
    fn a_file_that_is_gone_for_a_moment_is_waited_for() {
        assert_eq!(looks(&[1]), 2);
        assert_eq!(looks(&[0, 1, 1]), 3);
        let changing: Vec<u8> = (0..=255).collect();
        assert_eq!(looks(&changing), LOOKS, "it ends");
    }
}
