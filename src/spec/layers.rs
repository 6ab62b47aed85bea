//! The texts of a spec, laid over each other: files with what they include, and values that are set beside them.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use super::{
    FilePatch, Load, Loaded, PatchText, amend, check_header,
    patches::PatchFiles,
    sources::{self, Files},
};
use crate::{
    diagnostic::{self, Diagnostic, Source},
    yaml::{self, Assignment, Inserted, Rules, Spanned, Tree},
};

/// How the lists of a spec merge: their elements are known by what no two of them share.
pub const RULES: Rules = Rules {
    lists: &[
        ("disks", "mount"),
        ("extraArgs", "name"),
        ("extraEnvs", "name"),
        ("extraVolumes", "name"),
        ("files", "path"),
        ("imageArchives", "url"),
        ("interfaces", "name"),
        ("manifests", "name"),
        ("mirrors", "url"),
        ("mounts", "mount"),
        ("nodes", "name"),
        ("pools", "name"),
        ("registries", "host"),
        ("runtimes", "name"),
        ("users", "name"),
    ],
    choices: &["network.cni"],
};

/// Texts that have a syntax of their own in which `${…}` means something else: shell, manifests, patches.
const SPARED: &[&[&str]] = &[
    &["commands"],
    &["files", "content"],
    &["manifests", "content"],
    &["patches", "content"],
    &["patches", "merge"],
    &["patches", "json"],
];

/// How many files may include each other in a row.
const MAX_CHAIN: usize = 32;

/// How many texts a spec may have.
const MAX_FILES: usize = 500;

/// The name of the text that holds what was set.
const SET: &str = "--set";

/// What a variable is replaced with, and the help when none is.
const ENV_HELP: &str = "--env replaces variables; $${ stands for ${ itself";

/// Reads a file that a spec includes; the error is what the system says.
pub type Read<'r> = &'r mut dyn FnMut(&Path) -> Result<String, String>;

/// The texts of a spec.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// All of them.
    pub source: Source,
    /// Names of the specs that were asked for; what they include is not among them.
    names: Vec<String>,
    /// Files in the order in which they lie over each other, the lowest first: path and number of the text.
    files: Vec<(PathBuf, usize)>,
    /// Texts of patches, in the order in which they are laid.
    patches: Vec<PatchText>,
    /// The text of what was set, and the bytes of each assignment in it.
    set: Option<(usize, Vec<usize>)>,
    environment: Option<BTreeMap<String, String>>,
    /// Files that `source` names.
    pub(super) loaded: Files,
    findings: Vec<Diagnostic>,
}

impl From<Source> for Layers {
    /// The first text, alone.
    fn from(source: Source) -> Self {
        Self {
            names: vec![source.name().to_owned()],
            files: vec![(PathBuf::from(source.name()), 0)],
            source,
            ..Self::default()
        }
    }
}

/// A spec without variables, directives and includes left to follow.
pub(super) struct Composed<'s> {
    pub(super) tree: Tree<'s>,
    pub(super) inserted: Vec<Inserted>,
    /// Patches of what is rendered.
    pub(super) patches: Vec<FilePatch>,
}

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
        let draft = yaml::draft::<Vec<Spanned<String>>>(&list, &[]);
        let mistaken = !draft.findings.is_empty();
        self.findings.extend(draft.findings);
        draft.value.filter(|_| !mistaken).unwrap_or_default()
    }

    /// Puts a text of patches behind those that are there; `folder` is that below `patches/`.
    pub fn patch(&mut self, folder: &str, name: &str, text: String) {
        self.patches.push(PatchText {
            folder: folder.to_owned(),
            number: self.source.add(name, text),
        });
    }

    /// Sets values over all files, in order: `PATH=VALUE`, see [`Assignment`].
    pub fn set(&mut self, assignments: &[String]) {
        if !assignments.is_empty() {
            let number = self.source.add(SET, assignments.join("\n"));
            self.set = Some((number, assignments.iter().map(String::len).collect()));
        }
    }

    /// Replaces `${NAME}` by variables.
    pub fn substitute(&mut self, environment: BTreeMap<String, String>) {
        self.environment = Some(environment);
    }

    /// Reads the files that `source` names. It is the last step: what is laid over later is not looked at.
    pub fn load(&mut self, read: Load<'_>) {
        if !self.source.texts().iter().any(|text| text.text.contains("source")) {
            return;
        }
        let (draft, _) = super::draft(self);
        let named = draft.value.iter().flat_map(sources::named);
        let named: Vec<_> = named.map(|(source, manifest)| (source.clone(), manifest)).collect();
        for (source, manifest) in named {
            let path = self.beside(&source);
            let mut loaded = Loaded {
                bytes: read(&path).map(Into::into),
                start: None,
                path,
            };
            if let Some(text) = loaded.text().filter(|_| manifest) {
                let number = self.source.add(loaded.path.display().to_string(), text);
                loaded.start = Some(self.source.texts()[number].start);
            }
            self.loaded.insert((source.span, source.value), loaded);
        }
    }

    /// A path that stands in a text, as seen from here.
    fn beside(&self, path: &Spanned<String>) -> PathBuf {
        let number = self.source.number(path.span.start);
        let file = self
            .files
            .iter()
            .find(|(_, file)| *file == number)
            .map(|(file, _)| file.clone());
        let patch = self.patches.iter().find(|patch| patch.number == number);
        let patch = patch.map(|patch| PathBuf::from(&self.source.texts()[patch.number].name));
        let folder = file.or(patch).and_then(|file| file.parent().map(Path::to_owned));
        normal(&folder.unwrap_or_default().join(&path.value))
    }

    /// The specs that were asked for: `base.yaml + prod.yaml`.
    pub fn name(&self) -> String {
        self.names.join(" + ")
    }

    /// One tree of all texts, with the findings that leave something to look into; else only findings.
    pub(super) fn compose(&self) -> Result<Composed<'_>, Vec<Diagnostic>> {
        let mut findings = self.findings.clone();
        let trees = self.trees(&mut findings)?;
        let mut trees = trees.into_iter();
        let Some(mut tree) = trees.next() else {
            return Err(findings);
        };
        for over in trees {
            let (root, merged) = yaml::merge(tree.root, &over.root, &RULES);
            tree.root = root;
            findings.extend(merged);
        }
        let patches = PatchFiles::read(&self.source, &self.patches);
        findings.extend(patches.findings);
        if !patches.spec.is_empty() {
            let (root, amiss) = amend::amended(tree.root.detached(), &patches.spec);
            tree.root = root;
            findings.extend(amiss);
        }
        self.assign(&mut tree, &mut findings);
        let inserted = match &self.environment {
            Some(environment) => {
                let (inserted, unset) = yaml::substitute(&mut tree.root, environment, SPARED);
                findings.extend(unset);
                inserted
            }
            None => {
                findings.extend(yaml::unsubstituted(&mut tree.root, SPARED, ENV_HELP));
                Vec::new()
            }
        };
        tree.findings = findings;
        Ok(Composed {
            tree,
            inserted,
            patches: patches.objects,
        })
    }

    /// The trees of the files. Nothing is made of some when others could not be read: what they lack may be there.
    fn trees(&self, findings: &mut Vec<Diagnostic>) -> Result<Vec<Tree<'_>>, Vec<Diagnostic>> {
        let mut broken = diagnostic::refuse(findings);
        let mut trees = Vec::new();
        for (_, number) in &self.files {
            let text = &self.source.texts()[*number];
            match Tree::parse_at(&text.text, text.start) {
                Ok(mut tree) => {
                    findings.append(&mut tree.findings);
                    let strange = check_header(&tree);
                    // Of a document in another shape every key would be wrong; saying so would bury the reason.
                    broken |= !strange.is_empty();
                    findings.extend(strange);
                    trees.push(tree);
                }
                Err(faults) => {
                    broken = true;
                    findings.extend(faults);
                }
            }
        }
        if broken {
            Err(std::mem::take(findings))
        } else {
            Ok(trees)
        }
    }

    fn assign<'s>(&'s self, tree: &mut Tree<'s>, findings: &mut Vec<Diagnostic>) {
        let Some((number, lengths)) = &self.set else { return };
        let text = &self.source.texts()[*number];
        let mut at = 0;
        for length in lengths {
            match Assignment::parse(&text.text[at..at + length], text.start + at) {
                Ok(assignment) => findings.extend(assignment.apply(&mut tree.root, &RULES).err()),
                Err(faults) => findings.extend(faults),
            }
            at += length + 1;
        }
    }
}

/// A path without `.` and, as far as its own text tells, without `..`.
fn normal(path: &Path) -> PathBuf {
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
