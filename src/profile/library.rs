//! Profiles as texts: those that come with firelay, and files of the user that lie over them or stand beside them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Error, PROFILES};
use crate::{
    diagnostic::{Diagnostic, Source, Span, nearest},
    yaml::{self, Content, Node, Rules, Scalar, Tree},
};

/// How the names of texts that come with firelay begin.
pub const SHIPPED: &str = "firelay's profiles/";

/// How the lists of a profile merge.
const RULES: Rules = Rules {
    lists: &[("releases", "versions")],
    choices: &[],
};

/// Folders of profiles, and the key of each profile's name.
const FOLDERS: [(&str, &str); 3] = [("kubernetes", "minor"), ("os", "name"), ("platform", "name")];

/// Profiles of which there is one: their files.
const SINGLE: [&str; 6] = [
    "catalog.yaml",
    "endpoint.yaml",
    "feature-gates.yaml",
    "kinds.yaml",
    "runtime/containerd.yaml",
    "units.yaml",
];

/// The key by which a profile names the one that it lies over.
const EXTENDS: &str = "extends";

/// The texts of profiles within a source.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// Texts by path below the folder of profiles (`os/flatcar.yaml`).
    embedded: BTreeMap<String, usize>,
    own: BTreeMap<String, usize>,
}

/// A profile, everything that lies over it included.
#[derive(Clone, Debug)]
pub struct Resolved<'s> {
    /// Path below the folder of profiles.
    pub path: String,
    /// Its content.
    pub root: Node<'s>,
    /// Numbers of the texts that it is made of, the nearest first.
    pub texts: Vec<usize>,
    /// A file of the user is among them.
    pub own: bool,
}

impl Library {
    /// The profiles that come with firelay, put into a source.
    pub fn embedded(source: &mut Source) -> Result<Self, Error> {
        let mut library = Self::default();
        let folders = PROFILES.dirs().flat_map(|folder| folder.files());
        for file in PROFILES.files().chain(folders) {
            let path = file.path().display().to_string();
            let text = file
                .contents_utf8()
                .ok_or_else(|| Error::NotText { file: path.clone() })?;
            let number = source.add(format!("{SHIPPED}{path}"), text);
            library.embedded.insert(path, number);
        }
        Ok(library)
    }

    /// Adds a file of the user: the name to print, the path below the folder of profiles, the text.
    pub fn add(&mut self, source: &mut Source, name: &str, path: &str, text: String) {
        let number = source.add(name, text);
        self.own.insert(path.to_owned(), number);
    }

    /// All profiles by path, and what is wrong with the user's files beside their fields.
    pub fn resolve<'s>(&self, source: &'s Source) -> (Vec<Resolved<'s>>, Vec<Diagnostic>) {
        let mut reader = Reader {
            library: self,
            source,
            findings: Vec::new(),
        };
        let mut resolved = Vec::new();
        let misplaced = self.own.iter().filter(|(path, _)| kind(path).is_none());
        for (path, number) in misplaced {
            reader.findings.push(misplaced_file(source, path, *number));
        }
        let paths: BTreeSet<_> = self.embedded.keys().chain(self.own.keys()).collect();
        for path in paths.into_iter().filter(|path| kind(path).is_some()) {
            resolved.extend(reader.read(path, &mut Vec::new()));
        }
        crate::diagnostic::sort(&mut reader.findings);
        (resolved, reader.findings)
    }

    fn names(&self, folder: &str) -> BTreeSet<&str> {
        let paths = self.embedded.keys().chain(self.own.keys());
        paths
            .filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".yaml"))
            .collect()
    }
}

/// The folder and name of a profile (`os`, `flatcar`), and the key of its name if it has one.
fn kind(path: &str) -> Option<(&str, &str, Option<&'static str>)> {
    let stem = path.strip_suffix(".yaml")?;
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    if SINGLE.contains(&path) {
        return Some((folder, name, None));
    }
    let found = FOLDERS.iter().find(|(known, _)| *known == folder)?;
    Some((folder, name, Some(found.1)))
}

struct Reader<'l, 's> {
    library: &'l Library,
    source: &'s Source,
    findings: Vec<Diagnostic>,
}

impl<'s> Reader<'_, 's> {
    /// A profile, over what it extends or what comes with firelay under its name.
    fn read(&mut self, path: &str, chain: &mut Vec<String>) -> Option<Resolved<'s>> {
        let Some(number) = self.library.own.get(path).copied() else {
            return self.embedded(path);
        };
        let mut root = self.tree(number)?;
        let (folder, stem, key) = kind(path)?;
        let key_value = key.and_then(|key| root.get(key).map(|value| (key, value.clone())));
        if let Some((key, value)) = key_value.filter(|(_, value)| value.text() != Some(stem)) {
            let finding = Diagnostic::error("FL0022", format!("`{key}` is not the file's name")).at(value.span);
            self.tell(
                finding
                    .label(format!("the file is called {stem}.yaml"))
                    .help("leave it out: the file's name is the profile's"),
            );
            return None;
        }
        let extends = take(&mut root, EXTENDS);
        let base = match &extends {
            Some(node) if node.text() != Some(stem) => {
                let other = format!("{folder}/{}.yaml", node.text().unwrap_or_default());
                Some(self.base(path, &other, folder, node, chain)?)
            }
            _ => self
                .library
                .embedded
                .contains_key(path)
                .then(|| self.embedded(path))
                .flatten(),
        };
        let mut texts = vec![number];
        if let Some(base) = base {
            texts.extend(base.texts);
            let mut under = base.root;
            if base.path != path {
                // Names are one profile's own.
                take(&mut under, "aliases");
                take(&mut under, key.unwrap_or_default());
            }
            let (merged, findings) = yaml::merge(under, &root, &RULES);
            findings.into_iter().for_each(|finding| self.tell(finding));
            root = merged;
        }
        if let Some(key) = key {
            name(&mut root, key, stem, self.source.texts()[number].start);
        }
        Some(Resolved {
            path: path.to_owned(),
            root,
            texts,
            own: true,
        })
    }

    /// The profile that another one extends.
    fn base(
        &mut self,
        path: &str,
        other: &str,
        folder: &str,
        place: &Node<'_>,
        chain: &mut Vec<String>,
    ) -> Option<Resolved<'s>> {
        chain.push(path.to_owned());
        let circle = chain.iter().any(|open| open == other);
        let known = self.library.own.contains_key(other) || self.library.embedded.contains_key(other);
        let finding = Diagnostic::error("FL0023", "a profile extends itself").at(place.span);
        let base = match (circle, known) {
            (true, _) => {
                self.tell(finding.label(format!("{} extends {other}", chain.join(" extends "))));
                None
            }
            (false, false) => {
                let names = self.library.names(folder);
                let near = nearest(place.text().unwrap_or_default(), names.iter().copied());
                let label = near.map_or_else(
                    || "no such profile".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                let finding = Diagnostic::error("FL0023", "no such profile to extend")
                    .at(place.span)
                    .label(label);
                self.tell(finding.help(format!(
                    "profiles: {}",
                    names.into_iter().collect::<Vec<_>>().join(", ")
                )));
                None
            }
            (false, true) => self.read(other, chain),
        };
        chain.pop();
        base
    }

    fn embedded(&mut self, path: &str) -> Option<Resolved<'s>> {
        let number = *self.library.embedded.get(path)?;
        Some(Resolved {
            path: path.to_owned(),
            root: self.tree(number)?,
            texts: vec![number],
            own: false,
        })
    }

    fn tree(&mut self, number: usize) -> Option<Node<'s>> {
        let text = &self.source.texts()[number];
        match Tree::parse_at(&text.text, text.start) {
            Ok(tree) => {
                tree.findings.into_iter().for_each(|finding| self.tell(finding));
                Some(tree.root)
            }
            Err(findings) => {
                findings.into_iter().for_each(|finding| self.tell(finding));
                None
            }
        }
    }

    /// A file is read again for each that extends it.
    fn tell(&mut self, finding: Diagnostic) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

fn misplaced_file(source: &Source, path: &str, number: usize) -> Diagnostic {
    let start = source.texts()[number].start;
    let places = FOLDERS.iter().map(|(folder, _)| format!("{folder}/NAME.yaml"));
    let places: Vec<_> = places.chain(SINGLE.iter().map(|path| (*path).to_owned())).collect();
    let folder = path.split('/').next().unwrap_or_default();
    let near = nearest(folder, FOLDERS.iter().map(|(folder, _)| *folder).chain(SINGLE));
    let help = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
    Diagnostic::error("FL0022", format!("no profile is called {path}"))
        .at(Span { start, end: start })
        .help(format!("{help}profiles are {}", places.join(", ")))
}

fn take<'s>(root: &mut Node<'s>, key: &str) -> Option<Node<'s>> {
    let Content::Mapping(entries) = &mut root.content else {
        return None;
    };
    let at = entries.iter().position(|(name, _)| name.text() == Some(key))?;
    Some(entries.remove(at).1)
}

/// Gives a profile the name of its file, first.
fn name(root: &mut Node<'_>, key: &str, stem: &str, start: usize) {
    take(root, key);
    let scalar = |text: &str| Node {
        span: Span { start, end: start },
        content: Content::Scalar(Scalar {
            text: text.to_owned().into(),
            plain: false,
        }),
    };
    if let Content::Mapping(entries) = &mut root.content {
        entries.insert(0, (scalar(key), scalar(stem)));
    }
}

impl Resolved<'_> {
    /// `os`, `platform`, `kubernetes`, or nothing where there is one of its kind.
    pub fn kind(&self) -> &str {
        kind(&self.path)
            .filter(|(_, _, key)| key.is_some())
            .map_or("", |(folder, _, _)| folder)
    }

    /// The file's name without its ending.
    pub fn name(&self) -> &str {
        kind(&self.path).map_or("", |(_, name, _)| name)
    }

    /// The content as a value, or what is wrong with it.
    pub fn decode<T: serde::de::DeserializeOwned>(&self, source: &Source) -> Result<T, Vec<Diagnostic>> {
        let tree = Tree {
            root: self.root.clone(),
            findings: Vec::new(),
        };
        let draft = yaml::draft(&tree, &[]);
        let start = self.texts.first().map_or(0, |number| source.texts()[*number].start);
        let whole = Span { start, end: start };
        let place = |finding: Diagnostic| Diagnostic {
            span: finding.span.or(Some(whole)),
            ..finding
        };
        match draft.value {
            Some(value) if draft.findings.is_empty() => Ok(value),
            _ => Err(draft.findings.into_iter().map(place).collect()),
        }
    }

    /// YAML with the comments that stand above its keys and, where several texts made it, with the place of each key.
    pub fn to_yaml(&self, source: &Source) -> Result<String, yaml::Error> {
        if let [only] = self.texts.as_slice()
            && !self.own
        {
            return Ok(source.texts()[*only].text.clone());
        }
        let Content::Mapping(entries) = &self.root.content else {
            return Ok(String::new());
        };
        let mut out = String::new();
        for (key, node) in entries {
            let tree = Tree {
                root: Node {
                    span: key.span,
                    content: Content::Mapping(vec![(key.clone(), node.clone())]),
                },
                findings: Vec::new(),
            };
            let value: Option<serde_json::Value> = yaml::draft(&tree, &[]).value;
            out.push_str(&comments(source, key.span));
            for place in places(source, key, node) {
                out.push_str(&format!("# {place}\n"));
            }
            out.push_str(&yaml::emit(&value)?);
        }
        Ok(out)
    }
}

/// The lines of comments directly above a place; for a name that is not written those that begin the file.
fn comments(source: &Source, span: Span) -> String {
    let text = &source.texts()[source.number(span.start)];
    let is_comment = |line: &&str| line.starts_with('#');
    let before: Vec<_> = text.text[..span.start - text.start].lines().collect();
    let above = before.iter().rev().take_while(|line| is_comment(line)).count();
    let mut lines = before[before.len() - above..].to_vec();
    let first: Vec<_> = text.text.lines().take_while(is_comment).collect();
    let next = text.text.lines().nth(first.len()).unwrap_or_default();
    if span.start == span.end && ["", EXTENDS].contains(&next.split(':').next().unwrap_or_default()) {
        lines = first;
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Where a key and what is below it were written: the first place in each text.
fn places(source: &Source, key: &Node<'_>, value: &Node<'_>) -> Vec<String> {
    let mut spans = vec![key.span];
    collect(value, &mut spans);
    let mut seen = Vec::new();
    spans.retain(|span| {
        let number = source.number(span.start);
        let new = !seen.contains(&number);
        seen.push(number);
        new
    });
    let line = |offset| {
        let place = source.place(offset);
        place
            .rsplit_once(':')
            .map_or(place.clone(), |(place, _)| place.to_owned())
    };
    spans.into_iter().map(|span| line(span.start)).collect()
}

fn collect(node: &Node<'_>, spans: &mut Vec<Span>) {
    match &node.content {
        Content::Scalar(_) => spans.push(node.span),
        Content::Sequence(items) => {
            spans.push(node.span);
            items.iter().for_each(|item| collect(item, spans));
        }
        Content::Mapping(entries) => entries.iter().for_each(|(_, value)| collect(value, spans)),
    }
}
