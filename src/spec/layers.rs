//! The texts of a spec, laid over each other: files with what they include, and values that are set beside them.

mod includes;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use firelay_yaml::{
    Assignment, Content, Inserted, Rules, Spanned, Tree,
    diagnostic::{self, Diagnostic, Source, Span},
};

use super::{
    FilePatch, Load, Loaded, PatchText, amend, check_header,
    patches::PatchFiles,
    sources::{self, Files},
    under::Under,
};

/// How the lists of a spec merge: their elements are known by what no two of them share.
pub const RULES: Rules = Rules {
    lists: &[
        ("disks", "mount"),
        ("extraArgs", "name"),
        ("extraEnvs", "name"),
        ("extraVolumes", "name"),
        ("custom.files", "name"),
        ("files", "path"),
        ("imageArchives", "url"),
        ("interfaces", "name"),
        ("manifests", "name"),
        ("mirrors", "url"),
        ("mounts", "mount"),
        ("nodes", "name"),
        ("packageSources", "name"),
        ("calico.bgp.peers", "name"),
        ("peers", "address"),
        ("pools", "name"),
        ("registries", "host"),
        ("runtimes", "name"),
        ("users", "name"),
        // Of security profiles, which are laid over each other by the same rules.
        ("guards", "path"),
        ("yields", "path"),
    ],
    choices: &["network.cni"],
    keeps_removals: false,
};

/// The same where a security profile lies below: what texts take away may be the profile's.
const RULES_OVER: Rules = Rules {
    keeps_removals: true,
    ..RULES
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

/// The key of the files that a text is laid over.
pub(super) const INCLUDE: &str = "include";

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
    /// The security profile that all of them are laid over.
    under: Option<Under>,
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

/// What a text of the source is.
#[derive(Clone, Copy, Debug)]
pub enum Part<'l> {
    /// A spec, or a file that one includes.
    Spec,
    /// Patches, in this folder below `patches/`.
    Patches(&'l str),
    /// Assignments, with the bytes of each.
    Set(&'l [usize]),
    /// Manifests that the spec names.
    Manifests,
    /// Anything else: a profile.
    Profile,
}

impl Layers {
    /// What a text of the source is, by its number.
    pub fn part(&self, number: usize) -> Part<'_> {
        if self.files.iter().any(|(_, file)| *file == number) {
            return Part::Spec;
        }
        if let Some(patch) = self.patches.iter().find(|patch| patch.number == number) {
            return Part::Patches(&patch.folder);
        }
        match &self.set {
            Some((set, lengths)) if *set == number => return Part::Set(lengths),
            _ => {}
        }
        let start = self.source.texts().get(number).map(|text| text.start);
        let is_loaded = self
            .loaded
            .values()
            .any(|file| file.start.is_some() && file.start == start);
        if is_loaded { Part::Manifests } else { Part::Profile }
    }

    /// Puts a text of patches behind those that are there; `folder` is that below `patches/`.
    pub fn patch(&mut self, folder: &str, name: &str, text: String) {
        self.patches.push(PatchText {
            folder: folder.to_owned(),
            number: self.source.add(name, text),
        });
    }

    /// Tells of a file among the patches that is none (`FL0714`).
    pub fn stray(&mut self, name: &str) {
        let number = self.source.add(name, "");
        let finding = Diagnostic::error("FL0714", "not a file of patches").at(self.beginning(number));
        self.findings
            .push(finding.help("patches are in files that end in .yaml, .yml or .json; keep other files elsewhere"));
    }

    /// Tells of a folder of patches beside a spec whose folder is not looked into (`FL0715`).
    pub fn unread(&mut self, spec: &Path, folder: &Path) {
        let stdin = spec == Path::new("-");
        let path = includes::normal(spec);
        let number = self
            .files
            .iter()
            .find(|(other, _)| *other == path)
            .map_or(0, |file| file.1);
        let what = format!("the patches in {} are not laid", folder.display());
        let finding = Diagnostic::warning("FL0715", what).at(self.beginning(number));
        self.findings.push(finding.help(if stdin {
            "a spec from stdin has no folder beside it: name the spec as a file"
        } else {
            "only those beside the first spec are: move them there, or name this spec first"
        }));
    }

    fn beginning(&self, number: usize) -> Span {
        let start = self.source.texts().get(number).map_or(0, |text| text.start);
        Span { start, end: start }
    }

    /// Sets values over all files, in order: `PATH=VALUE`, see [`Assignment`].
    pub fn set(&mut self, assignments: &[String]) {
        if !assignments.is_empty() {
            let number = self.source.add(SET, assignments.join("\n"));
            self.set = Some((number, assignments.iter().map(String::len).collect()));
        }
    }

    /// The same texts with further values set over them.
    #[must_use]
    pub fn with(&self, assignments: &[String]) -> Self {
        let mut layers = self.clone();
        let set = self.set.iter().flat_map(|(number, lengths)| {
            let text = &self.source.texts()[*number].text;
            let starts = lengths.iter().scan(0, |at, length| {
                let start = *at;
                *at += length + 1;
                Some(start)
            });
            let set = starts
                .zip(lengths)
                .map(|(start, length)| text[start..start + length].to_owned());
            set.collect::<Vec<_>>()
        });
        let set: Vec<_> = set.chain(assignments.iter().cloned()).collect();
        layers.set(&set);
        layers
    }

    /// Replaces `${NAME}` by variables.
    pub fn substitute(&mut self, environment: BTreeMap<String, String>) {
        self.environment = Some(environment);
    }

    /// The security profile that the texts ask for, unless nothing can be made of them.
    pub fn security_profile(&self) -> Option<String> {
        // Most specs ask for none, and need not be read once more.
        if !self.source.texts().iter().any(|text| text.text.contains("security")) {
            return None;
        }
        let composed = self.compose().ok()?;
        let name = composed.tree.root.get("security")?.get("profile")?;
        name.text().map(str::to_owned)
    }

    /// Lays everything over a profile, whose places are in a text of the source.
    pub fn lay_over(&mut self, under: Under) {
        self.under = Some(under);
    }

    /// The profile that everything is laid over.
    pub(super) fn laid_over(&self) -> Option<&str> {
        self.under.as_ref().map(|under| under.name.as_str())
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
        includes::normal(&folder.unwrap_or_default().join(&path.value))
    }

    /// The specs that were asked for: `base.yaml + prod.yaml`.
    pub fn name(&self) -> String {
        self.names.join(" + ")
    }

    /// One tree of all texts, with the findings that leave something to look into; else only findings.
    pub(super) fn compose(&self) -> Result<Composed<'_>, Vec<Diagnostic>> {
        let mut findings = self.findings.clone();
        let rules = if self.under.is_some() { &RULES_OVER } else { &RULES };
        let trees = self.trees(&mut findings)?;
        let mut trees = trees.into_iter();
        let Some(mut tree) = trees.next() else {
            return Err(findings);
        };
        for over in trees {
            let (root, merged) = firelay_yaml::merge(tree.root, &over.root, rules);
            tree.root = root;
            findings.extend(merged);
        }
        let patches = PatchFiles::read(&self.source, &self.patches);
        findings.extend(patches.findings);
        if !patches.spec.is_empty() {
            let (root, amiss) = amend::amended(tree.root.detached(), &patches.spec, rules);
            tree.root = root;
            findings.extend(amiss);
        }
        self.assign(&mut tree, rules, &mut findings);
        let inserted = match &self.environment {
            Some(environment) => {
                let (inserted, unset) = firelay_yaml::substitute(&mut tree.root, environment, SPARED);
                findings.extend(unset);
                inserted
            }
            None => {
                findings.extend(firelay_yaml::unsubstituted(&mut tree.root, SPARED, ENV_HELP));
                Vec::new()
            }
        };
        if let Some(under) = &self.under {
            tree.root = under.laid(&tree.root, &mut findings);
        }
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
                    let mut strange = check_header(&tree);
                    strange.extend(check_mapping(&tree));
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

    fn assign<'s>(&'s self, tree: &mut Tree<'s>, rules: &Rules, findings: &mut Vec<Diagnostic>) {
        let Some((number, lengths)) = &self.set else { return };
        let text = &self.source.texts()[*number];
        let mut at = 0;
        for length in lengths {
            match Assignment::parse(&text.text[at..at + length], text.start + at) {
                Ok(assignment) => findings.extend(match assignment.top() {
                    (INCLUDE, span) => Some(included_late(span, "name the file as a further SPEC")),
                    _ => assignment.apply(&mut tree.root, rules).err(),
                }),
                Err(faults) => findings.extend(faults),
            }
            at += length + 1;
        }
    }
}

/// Keys stand in a mapping. A list or a text that is laid over others would replace all of them.
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

/// The finding for an `include` where all files are read already.
pub(super) fn included_late(span: Span, help: &str) -> Diagnostic {
    Diagnostic::error("FL0025", "`include` where nothing is included any more")
        .at(span)
        .label("the files are read before this is laid over them")
        .help(help)
}
