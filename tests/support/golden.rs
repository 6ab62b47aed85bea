//! Golden files: reviewed texts. `FIRELAY_BLESS=1` rewrites them and removes those that no test uses.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The maximum number of lines of a printed difference, and of bytes of each line.
const SHOWN: (usize, usize) = (60, 240);

/// The directory of all golden files.
pub fn folder() -> PathBuf {
    super::root().join("tests/golden")
}

pub fn blessing() -> bool {
    std::env::var_os("FIRELAY_BLESS").is_some_and(|value| !value.is_empty())
}

/// A folder of golden files; a test has to compare every one of them.
pub struct Golden {
    folder: PathBuf,
    asked: BTreeSet<PathBuf>,
    failures: Vec<String>,
}

impl Golden {
    pub fn open(name: &str) -> Self {
        Self {
            folder: folder().join(name),
            asked: BTreeSet::new(),
            failures: Vec::new(),
        }
    }

    /// Compares a text with its golden file.
    pub fn compare(&mut self, name: &str, found: &str) {
        let path = self.folder.join(name);
        assert!(self.asked.insert(path.clone()), "{name} is asked for twice");
        let agreed = fs::read_to_string(&path).ok();
        if agreed.as_deref() == Some(found) {
            return;
        }
        if blessing() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, found).unwrap();
        } else {
            let difference = difference(&agreed.unwrap_or_default(), found);
            self.failures.push(format!("{}\n{difference}", path.display()));
        }
    }

    /// Fails with every difference, and with the files that no test compared.
    pub fn close(mut self) {
        for path in files(&self.folder).difference(&self.asked) {
            if blessing() {
                fs::remove_file(path).unwrap();
                // Removes parent directories as long as they are empty.
                let _ = path.ancestors().skip(1).try_for_each(fs::remove_dir);
            } else {
                self.failures
                    .push(format!("{}: nothing is compared with it any more", path.display()));
            }
        }
        assert!(
            self.failures.is_empty(),
            "{}\n\n{} golden files differ. If that is meant: just bless",
            self.failures.join("\n"),
            self.failures.len()
        );
    }
}

/// Every file below a directory.
pub fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

/// A unified diff of at most one screen.
pub fn difference(agreed: &str, found: &str) -> String {
    let diff = similar::TextDiff::from_lines(agreed, found)
        .unified_diff()
        .context_radius(2)
        .to_string();
    let short = |line: &str| match line.char_indices().nth(SHOWN.1) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line.to_owned(),
    };
    let mut lines: Vec<_> = diff.lines().take(SHOWN.0).map(short).collect();
    let hidden = diff.lines().count().saturating_sub(SHOWN.0);
    if hidden > 0 {
        lines.push(format!("… and {hidden} lines more"));
    }
    lines.join("\n")
}
