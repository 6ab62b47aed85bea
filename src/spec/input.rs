//! Input of a spec: files with their includes, patches beside them, and values of `--set`.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use super::{
    API_VERSION, KIND, inventory,
    patch_files::{PatchFiles, PatchText},
};
use firelay_yaml::{
    Content, Node, Spanned, Tree,
    diagnostic::{Diagnostic, Source, Span},
};

/// The key of the files that a text includes.
pub(super) const INCLUDE: &str = "include";

/// The key of the inventory that a text names.
pub(super) const NODES_FROM: &str = "nodesFrom";

/// Keys that name files of which the spec consists, with the help for one that comes after they were read.
pub(super) const FILE_KEYS: [(&str, &str); 2] = [
    (INCLUDE, "name the file as a further SPEC"),
    (NODES_FROM, "write nodesFrom in a spec, and name that as a further SPEC"),
];

/// How many files may include each other in a row.
const MAX_CHAIN: usize = 32;

/// How many texts a spec may have.
const MAX_FILES: usize = 500;

/// The name of the text with the values of `--set`.
const SET: &str = "--set";

/// Reads a file that a spec includes; the error is the message of the system.
pub type Read<'r> = &'r mut dyn FnMut(&Path) -> Result<String, String>;

/// The texts of a spec, each parsed once.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// All texts.
    pub source: Source,
    /// Names of the specs on the command line, without the files that they include.
    names: Vec<String>,
    /// Files in the order in which they are merged, the lowest first.
    pub(super) files: Vec<SpecFile>,
    pub(super) patches: PatchFiles,
    pub(super) set: Option<SetText>,
    pub(super) environment: Option<BTreeMap<String, String>>,
    pub(super) findings: Vec<Diagnostic>,
}

#[derive(Clone, Debug)]
pub(super) struct SpecFile {
    path: PathBuf,
    number: usize,
    /// It is CSV, read as `nodes`.
    is_inventory: bool,
    /// Its content, or the reasons why it cannot be merged.
    pub(super) tree: Result<Tree<'static>, Vec<Diagnostic>>,
}

/// The text of all assignments, a line each.
#[derive(Clone, Debug)]
pub(super) struct SetText {
    number: usize,
    /// Bytes of each assignment.
    lengths: Vec<usize>,
}

/// The kind of a text of the source.
#[derive(Clone, Copy, Debug)]
pub enum Part<'i> {
    /// A spec, or a file that one includes.
    Spec,
    /// An inventory that a spec names.
    Inventory,
    /// Patches, in this folder below `patches/`.
    Patches(&'i str),
    /// Assignments, with the bytes of each.
    Set(&'i [usize]),
    /// Manifests that the spec names.
    Manifests,
    /// Any other text: a profile.
    Profile,
}

impl From<Source> for Input {
    /// The first text, alone.
    fn from(source: Source) -> Self {
        let mut input = Self {
            names: vec![source.name().to_owned()],
            source,
            ..Self::default()
        };
        let (path, tree) = (PathBuf::from(input.source.name()), parse(&input.source, 0));
        input.files.push(SpecFile {
            path,
            number: 0,
            is_inventory: false,
            tree,
        });
        input
    }
}

impl Input {
    /// Adds a spec and the files that it includes, over the existing files. A file overrides those that it includes,
    /// and a later one an earlier one; each file is read once. Findings are `FL0015` and `FL0016`.
    pub fn add(&mut self, name: &str, path: &Path, text: String, read: Read<'_>) {
        self.names.push(name.to_owned());
        let path = normal(path);
        if !self.has(&path) {
            self.add_file(name, path, text, read, &mut Vec::new());
        }
    }

    /// Adds a text of patches after the others; `folder` is its folder below `patches/`.
    pub fn patch(&mut self, folder: &str, name: &str, text: String) {
        let number = self.source.add(name, text);
        self.patches.read(&self.source, number, folder);
    }

    /// Reports a file in a folder of patches that contains none (`FL0714`).
    pub fn stray(&mut self, name: &str) {
        let number = self.source.add(name, "");
        let finding = Diagnostic::error("FL0714", "not a file of patches").at(self.beginning(number));
        self.findings
            .push(finding.help("patches are in files that end in .yaml, .yml or .json; keep other files elsewhere"));
    }

    /// Reports a folder of patches beside a spec other than the first (`FL0715`).
    pub fn unread(&mut self, spec: &Path, folder: &Path) {
        let path = normal(spec);
        let file = self.files.iter().find(|file| file.path == path);
        let what = format!("the patches in {} are not applied", folder.display());
        let at = self.beginning(file.map_or(0, |file| file.number));
        let help = match spec == Path::new("-") {
            true => "a spec from stdin has no folder beside it: name the spec as a file",
            false => "only those beside the first spec are: move them there, or name this spec first",
        };
        self.findings
            .push(Diagnostic::warning("FL0715", what).at(at).help(help));
    }

    /// Sets values above all files, in order: `PATH=VALUE`, see [`firelay_yaml::Assignment`].
    pub fn set(&mut self, assignments: &[String]) {
        if !assignments.is_empty() {
            self.set = Some(SetText {
                number: self.source.add(SET, assignments.join("\n")),
                lengths: assignments.iter().map(String::len).collect(),
            });
        }
    }

    /// Replaces `${NAME}` by variables.
    pub fn substitute(&mut self, environment: BTreeMap<String, String>) {
        self.environment = Some(environment);
    }

    /// The specs on the command line: `base.yaml + prod.yaml`.
    pub fn name(&self) -> String {
        self.names.join(" + ")
    }

    /// The kind of a text of the source, by its number.
    pub(super) fn part(&self, number: usize) -> Part<'_> {
        let patch = self.patches.texts.iter().find(|patch| patch.number == number);
        let file = self.files.iter().find(|file| file.number == number);
        match (&self.set, patch) {
            _ if file.is_some_and(|file| file.is_inventory) => Part::Inventory,
            _ if file.is_some() => Part::Spec,
            (_, Some(patch)) => Part::Patches(&patch.folder),
            (Some(set), _) if set.number == number => Part::Set(&set.lengths),
            _ => Part::Profile,
        }
    }

    /// Each assignment with its offset in the source.
    pub(super) fn assignments(&self) -> impl Iterator<Item = (&str, usize)> {
        self.set.iter().flat_map(|set| {
            let text = &self.source.texts()[set.number];
            set.lengths.iter().scan(0, |at, length| {
                let start = *at;
                *at += length + 1;
                Some((&text.text[start..start + length], text.start + start))
            })
        })
    }

    /// The path of a file that a value names, as seen from here.
    pub(super) fn beside(&self, path: &Spanned<String>) -> PathBuf {
        let number = self.source.number(path.span.start);
        let file = self.files.iter().find(|file| file.number == number);
        let patch = |patch: &PatchText| patch.number == number;
        let file = file.map(|file| file.path.clone()).or_else(|| {
            let found = self.patches.texts.iter().any(patch);
            found.then(|| PathBuf::from(&self.source.texts()[number].name))
        });
        let folder = file.and_then(|file| file.parent().map(Path::to_owned));
        normal(&folder.unwrap_or_default().join(&path.value))
    }

    fn beginning(&self, number: usize) -> Span {
        let start = self.source.texts().get(number).map_or(0, |text| text.start);
        Span { start, end: start }
    }

    fn has(&self, path: &Path) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    fn add_file(&mut self, name: &str, path: PathBuf, text: String, read: Read<'_>, chain: &mut Vec<PathBuf>) {
        let number = self.source.add(name, text);
        let tree = parse(&self.source, number);
        chain.push(path.clone());
        for include in self.includes(&tree) {
            self.include(&path, &include, read, chain);
        }
        chain.pop();
        if let Some(value) = tree.as_ref().ok().and_then(|tree| tree.root.get(NODES_FROM)) {
            self.drop_inventories();
            if let Some(named) = inventory_of(value) {
                self.add_inventory(&path, &named, read);
            }
        }
        self.files.push(SpecFile {
            path,
            number,
            is_inventory: false,
            tree,
        });
    }

    /// Empties the inventories below: as for every key, the value above counts.
    fn drop_inventories(&mut self) {
        for file in self.files.iter_mut().filter(|file| file.is_inventory) {
            // The same file may be named again.
            file.path = PathBuf::new();
            if let Ok(tree) = &mut file.tree {
                tree.root.content = Content::Mapping(Vec::new());
                tree.findings.clear();
            }
        }
    }

    /// Adds the inventory that a file names. The file itself is above it, so that its `nodes` can change single machines.
    fn add_inventory(&mut self, from: &Path, named: &Spanned<String>, read: Read<'_>) {
        let path = beside(from, &named.value);
        if self.has(&path) {
            return;
        }
        match read(&path) {
            Ok(text) => {
                // Excel writes a byte order mark, which is in no column.
                let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                let number = self.source.add(path.display().to_string(), text);
                let tree = inventory::parse(&self.source.texts()[number]);
                self.files.push(SpecFile {
                    path,
                    number,
                    is_inventory: true,
                    tree,
                });
            }
            Err(why) => self.unreadable("an inventory cannot be read", named, &path, &why),
        }
    }

    fn unreadable(&mut self, message: &str, named: &Spanned<String>, path: &Path, why: &str) {
        let finding = Diagnostic::error("FL0015", message);
        self.findings.push(match named.contains("://") {
            // It may have a password in it.
            true => finding
                .at_hidden(named.span)
                .label("a URL is not read")
                .help("download the file, and write its path"),
            false => finding
                .at(named.span)
                .label(format!("{}: {why}", shown(path)))
                .help("paths are relative to the file that they stand in"),
        });
    }

    fn include(&mut self, from: &Path, include: &Spanned<String>, read: Read<'_>, chain: &mut Vec<PathBuf>) {
        let path = beside(from, &include.value);
        let refused = |code, message: &str| Diagnostic::error(code, message).at(include.span);
        if let Some(at) = chain.iter().position(|open| *open == path) {
            let circle = chain[at..].iter().chain([&path]);
            let circle: Vec<_> = circle.map(|path| path.display().to_string()).collect();
            let finding = refused("FL0016", "files include each other in a circle");
            self.findings.push(finding.label(circle.join(" includes ")));
            return;
        }
        if self.has(&path) {
            return;
        }
        // Links can make a circle of ever longer paths.
        if chain.len() >= MAX_CHAIN || self.source.texts().len() >= MAX_FILES {
            let label = format!("at most {MAX_CHAIN} files may include each other in a row, and {MAX_FILES} in all");
            let finding = refused("FL0006", "files include each other without end");
            self.findings.push(finding.label(label));
            return;
        }
        match read(&path) {
            Ok(text) => self.add_file(&path.display().to_string(), path, text, read, chain),
            Err(why) => self.unreadable("an included file cannot be read", include, &path, &why),
        }
    }

    /// The files that a text includes.
    fn includes(&mut self, tree: &Result<Tree<'_>, Vec<Diagnostic>>) -> Vec<Spanned<String>> {
        let list = tree.as_ref().ok().and_then(|tree| tree.root.get(INCLUDE));
        let Some(list) = list else { return Vec::new() };
        let list = Tree::from(list.clone());
        let draft = firelay_yaml::decode_partial::<Vec<Spanned<String>>>(&list, &[]);
        let mistaken = !draft.findings.is_empty();
        // The same mistakes are found when the whole is decoded, unless another file hides them.
        self.findings.extend(draft.findings);
        draft.value.filter(|_| !mistaken).unwrap_or_default()
    }
}

/// Parses one text of a source.
fn parse(source: &Source, number: usize) -> Result<Tree<'static>, Vec<Diagnostic>> {
    let text = &source.texts()[number];
    let tree = Tree::parse_at(&text.text, text.start)?;
    Ok(Tree {
        root: tree.root.detached(),
        findings: tree.findings,
    })
}

/// The findings by which a text is no part of a spec.
pub(super) fn check_form(tree: &Tree<'_>) -> Vec<Diagnostic> {
    let header = [("apiVersion", API_VERSION), ("kind", KIND)];
    let header = header
        .into_iter()
        .filter_map(|(key, expected)| check_header(tree, key, expected));
    header.chain(check_mapping(tree)).collect()
}

fn check_header(tree: &Tree<'_>, key: &str, expected: &str) -> Option<Diagnostic> {
    let value = tree.root.get(key)?;
    (value.text()? != expected).then(|| {
        Diagnostic::error("FL0014", format!("`{key}` must be {expected}"))
            .at(value.span)
            .label("this is the spec of another program, or of another version")
            .help(format!("write {key}: {expected}"))
    })
}

/// A list or a text that is merged over a mapping would replace all of its keys.
fn check_mapping(tree: &Tree<'_>) -> Option<Diagnostic> {
    let what = match &tree.root.content {
        Content::Mapping(_) => return None,
        Content::Sequence(_) => "a list",
        Content::Scalar(_) => "text",
    };
    let finding = Diagnostic::error("FL0010", format!("expected a mapping, found {what}")).at(tree.root.span);
    Some(
        finding
            .label("a spec is a mapping of keys")
            .help("write `KEY: VALUE` lines, such as os: ubuntu-24.04"),
    )
}

/// The finding for a key of [`FILE_KEYS`] that is set after all files were read.
pub(super) fn named_late(key: &str, span: Span, help: &str) -> Diagnostic {
    Diagnostic::error("FL0025", format!("`{key}` after all files were read"))
        .at(span)
        .label("files are read before this is merged over them")
        .help(help)
}

/// The inventory that a value names, if it is not null; another type than text is a finding when the whole is decoded.
fn inventory_of(value: &Node<'_>) -> Option<Spanned<String>> {
    let is_null =
        matches!(&value.content, Content::Scalar(scalar) if scalar.plain && ["", "~", "null"].contains(&&*scalar.text));
    let text = value.text().filter(|_| !is_null)?;
    Some(Spanned::new(text.to_owned(), value.span))
}

/// The path that a file names, as seen from here.
fn beside(from: &Path, named: &str) -> PathBuf {
    normal(&from.parent().unwrap_or(Path::new("")).join(named))
}

/// A path for messages.
fn shown(path: &Path) -> std::path::Display<'_> {
    match path.as_os_str().is_empty() {
        true => Path::new(".").display(),
        false => path.display(),
    }
}

/// A path without `.` and, as far as its text allows, without `..`.
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
