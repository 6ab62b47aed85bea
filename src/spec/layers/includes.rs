//! Files that specs include.

use std::path::{Component, Path, PathBuf};

use firelay_yaml::{Spanned, Tree, diagnostic::Diagnostic};

use super::{Layers, Read};

/// How many files may include each other in a row.
const MAX_CHAIN: usize = 32;

/// How many texts a spec may have.
const MAX_FILES: usize = 500;

impl Layers {
    /// Lays a file and what it includes over what is there. A file lies over those that it includes, and a later one over an
    /// earlier; one that is there already is not laid again. Findings are `FL0015` and `FL0016`.
    pub fn add(&mut self, name: &str, path: &Path, text: String, read: Read<'_>) {
        self.names.push(name.to_owned());
        let path = normal(path);
        if !self.files.iter().any(|(other, _)| *other == path) {
            self.file(name, path, text, read, &mut Vec::new());
        }
    }

    fn file(&mut self, name: &str, path: PathBuf, text: String, read: Read<'_>, chain: &mut Vec<PathBuf>) {
        let number = self.source.add(name, text);
        chain.push(path.clone());
        for include in self.includes(number) {
            self.include(&path, &include, read, chain);
        }
        chain.pop();
        self.files.push((path, number));
    }

    fn include(&mut self, from: &Path, include: &Spanned<String>, read: Read<'_>, chain: &mut Vec<PathBuf>) {
        let path = normal(&from.parent().unwrap_or(Path::new("")).join(&include.value));
        if let Some(at) = chain.iter().position(|open| *open == path) {
            let circle: Vec<_> = chain[at..]
                .iter()
                .chain([&path])
                .map(|path| path.display().to_string())
                .collect();
            let finding = Diagnostic::error("FL0016", "files include each other in a circle").at(include.span);
            self.findings.push(finding.label(circle.join(" includes ")));
            return;
        }
        if self.files.iter().any(|(other, _)| *other == path) {
            return;
        }
        // Links can make a circle of ever longer paths.
        if chain.len() >= MAX_CHAIN || self.source.texts().len() >= MAX_FILES {
            let finding = Diagnostic::error("FL0006", "files include each other without end").at(include.span);
            let label = format!("at most {MAX_CHAIN} files may include each other in a row, and {MAX_FILES} in all");
            self.findings.push(finding.label(label));
            return;
        }
        match read(&path) {
            Ok(text) => self.file(&path.display().to_string(), path, text, read, chain),
            Err(why) => {
                let finding = Diagnostic::error("FL0015", "an included file cannot be read").at(include.span);
                let label = format!("{}: {why}", path.display());
                self.findings.push(
                    finding
                        .label(label)
                        .help("paths are relative to the file that they stand in"),
                );
            }
        }
    }

    /// What a text includes. Mistakes of form are found once more when the spec is read, unless another file hides them.
    fn includes(&mut self, number: usize) -> Vec<Spanned<String>> {
        let text = &self.source.texts()[number];
        if !text.text.contains("include") {
            return Vec::new();
        }
        let Some(tree) = Tree::parse_at(&text.text, text.start).ok() else {
            return Vec::new();
        };
        let Some(list) = tree.root.get("include") else {
            return Vec::new();
        };
        let list = Tree {
            root: list.clone(),
            findings: Vec::new(),
        };
        let draft = firelay_yaml::draft::<Vec<Spanned<String>>>(&list, &[]);
        let mistaken = !draft.findings.is_empty();
        self.findings.extend(draft.findings);
        draft.value.filter(|_| !mistaken).unwrap_or_default()
    }
}

/// A path without `.` and, as far as its own text tells, without `..`.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        let above = matches!(normal.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            Component::ParentDir if above => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}
