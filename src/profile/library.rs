//! Profiles as texts: the embedded ones, and files of the user that are merged over them or added.

mod reader;
mod show;

use std::collections::{BTreeMap, BTreeSet};

use include_dir::{Dir, File};
use reader::{Reader, misplaced_file};

use super::{Error, PROFILES, SecurityProfile};
use crate::spec::Baseline;
use firelay_yaml::{
    Node, Rules, Tree,
    diagnostic::{Diagnostic, Source, Span},
};

/// How the names of texts that come with firelay begin.
pub const SHIPPED: &str = "firelay's profiles/";

/// How the lists of a profile merge.
const RULES: Rules = Rules {
    lists: &[("releases", "versions")],
    choices: &[],
    keeps_removals: false,
};

/// Folders of profiles, and the key of each profile's name.
const FOLDERS: [(&str, &str); 4] = [
    ("kubernetes", "minor"),
    ("os", "name"),
    ("platform", "name"),
    (SECURITY, "name"),
];

/// The folder of profiles of security settings.
const SECURITY: &str = "security";

/// Profiles of which there is one: their files.
const SINGLE: [&str; 11] = [
    "catalog.yaml",
    "endpoint.yaml",
    "etcd.yaml",
    "feature-gates.yaml",
    "flags.yaml",
    "kinds.yaml",
    "objects.yaml",
    "runtime/containerd.yaml",
    "runtime/crio.yaml",
    "time-zones.yaml",
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
    pub root: Node<'s>,
    /// Numbers of the texts that it is made of, the nearest first.
    pub texts: Vec<usize>,
    /// A file of the user is among them.
    pub own: bool,
}

impl Library {
    /// The profiles that come with firelay, put into a source.
    pub fn embedded(source: &mut Source) -> Result<Self, Error> {
        let folders = PROFILES.dirs().flat_map(Dir::files);
        Self::of_files(source, PROFILES.files().chain(folders))
    }

    /// The security profiles that come with firelay.
    pub fn embedded_baselines(source: &mut Source) -> Result<Self, Error> {
        let files = PROFILES.get_dir(SECURITY).into_iter().flat_map(Dir::files);
        Self::of_files(source, files)
    }

    fn of_files(source: &mut Source, files: impl Iterator<Item = &'static File<'static>>) -> Result<Self, Error> {
        let mut library = Self::default();
        for file in files {
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
        let mut reader = self.reader(source);
        let mut resolved = Vec::new();
        let misplaced = self.own.iter().filter(|(path, _)| kind(path).is_none());
        for (path, number) in misplaced {
            reader.findings.push(misplaced_file(source, path, *number));
        }
        let paths: BTreeSet<_> = self.embedded.keys().chain(self.own.keys()).collect();
        for path in paths.into_iter().filter(|path| kind(path).is_some()) {
            resolved.extend(reader.read(path, &mut Vec::new()));
        }
        firelay_yaml::diagnostic::sort(&mut reader.findings);
        (resolved, reader.findings)
    }

    /// The security profile of a name; `None` when there is none that can be read.
    pub fn baseline(&self, source: &Source, name: &str) -> Option<Baseline> {
        let path = format!("{SECURITY}/{name}.yaml");
        kind(&path)?;
        let profile = self.reader(source).read(&path, &mut Vec::new())?;
        let read: SecurityProfile = profile.decode(source).ok()?;
        Some(Baseline {
            name: read.name,
            spec: profile.root.get("spec")?.detached(),
            exceptions: read.exceptions,
            controls: read.controls,
        })
    }

    fn reader<'l, 's>(&'l self, source: &'s Source) -> Reader<'l, 's> {
        Reader {
            library: self,
            source,
            findings: Vec::new(),
        }
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

impl Resolved<'_> {
    /// `os`, `platform`, `kubernetes`, `security`, or nothing where there is one of its kind.
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
        let tree = Tree::from(self.root.clone());
        let start = self.texts.first().map_or(0, |number| source.texts()[*number].start);
        let whole = Span { start, end: start };
        let place = |finding: Diagnostic| Diagnostic {
            span: finding.span.or(Some(whole)),
            ..finding
        };
        let decoded = firelay_yaml::decode_partial(&tree, &[]).complete();
        decoded.map_err(|findings| findings.into_iter().map(place).collect())
    }
}
