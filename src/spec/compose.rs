//! Composition: all texts of a spec merged into one tree, which is decoded once and stays as it is.

use std::{convert::Infallible, path::Path};

use super::{
    FilePatch, Input, Load, Part, Spec, WORDS,
    baseline::Baseline,
    hints,
    input::{FILE_KEYS, check_form, named_late},
    patch,
    rules::{RULES, RULES_ABOVE_BASELINE},
    sources::{self, Files},
};
use firelay_yaml::{
    Assignment, Content, Inserted, Node, Partial, Rules, Tree,
    diagnostic::{self, Diagnostic, Source},
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

/// The help for a variable that is not replaced.
const ENV_HELP: &str = "--env replaces variables; $${ stands for ${ itself";

/// A composed spec.
#[derive(Debug)]
pub struct Composed {
    input: Input,
    /// Absent when a text cannot be merged.
    root: Option<Node<'static>>,
    /// Values of the environment in the tree, which no output shows.
    pub inserted: Vec<Inserted>,
    /// The decoded spec, with findings about its form.
    pub draft: Partial<Spec>,
    context: Context,
}

/// The parts of a spec that are not in its fields.
#[derive(Clone, Debug, Default)]
struct Context {
    patches: Vec<FilePatch>,
    baseline: Option<Baseline>,
    files: Files,
}

struct Merged {
    root: Node<'static>,
    findings: Vec<Diagnostic>,
    inserted: Vec<Inserted>,
}

impl From<Source> for Composed {
    /// The first text, alone.
    fn from(source: Source) -> Self {
        Input::from(source).into()
    }
}

impl From<Input> for Composed {
    /// All texts, without a security profile and without the content of the files that they name.
    fn from(input: Input) -> Self {
        let Ok(composed) = Self::new::<Infallible>(input, |_, _| Ok(None));
        composed
    }
}

impl Composed {
    /// Merges and decodes all texts, over the security profile that they name, if `find` has it.
    pub fn new<E>(
        mut input: Input,
        find: impl FnOnce(&mut Source, &str) -> Result<Option<Baseline>, E>,
    ) -> Result<Self, E> {
        let mut merged = input.merged(&RULES);
        let name = merged.as_ref().ok().and_then(Merged::security_profile);
        let baseline = name.map(|name| find(&mut input.source, &name)).transpose()?.flatten();
        if let Some(baseline) = &baseline {
            merged = input.merged(&RULES_ABOVE_BASELINE).map(|merged| merged.above(baseline));
        }
        Ok(match merged {
            Ok(merged) => Self::decoded(input, merged, baseline),
            Err(findings) => Self::refused(input, findings),
        })
    }

    fn refused(input: Input, mut findings: Vec<Diagnostic>) -> Self {
        diagnostic::sort(&mut findings);
        Self {
            input,
            root: None,
            inserted: Vec::new(),
            draft: Partial {
                value: None,
                findings,
                certain: false,
            },
            context: Context::default(),
        }
    }

    fn decoded(input: Input, merged: Merged, baseline: Option<Baseline>) -> Self {
        let tree = Tree {
            root: merged.root,
            findings: merged.findings,
        };
        let mut draft = decode(&tree);
        // Other findings about an unknown value are noise.
        let unset = |finding: &Diagnostic| finding.code == "FL0020";
        let places: Vec<_> = draft.findings.iter().filter(|it| unset(it)).map(|it| it.span).collect();
        draft
            .findings
            .retain(|finding| unset(finding) || !places.contains(&finding.span));
        hints::add(&tree, &input.source, &mut draft.findings);
        let context = Context {
            patches: input.patches.files.clone(),
            baseline,
            files: Files::default(),
        };
        if let Some(spec) = &mut draft.value {
            context.complete(spec);
        }
        Self {
            input,
            root: Some(tree.root),
            inserted: merged.inserted,
            draft,
            context,
        }
    }

    /// The same spec with the files that `source` names.
    #[must_use]
    pub fn with_files(mut self, read: Load<'_>) -> Self {
        if let Some(spec) = &mut self.draft.value {
            self.context.files = sources::load(spec, &mut self.input, read);
            self.context.complete(spec);
        }
        self
    }

    /// The spec with further values, as if they followed those of `--set`.
    #[must_use]
    pub fn with(&self, assignments: &[String]) -> Self {
        let mut input = self.input.clone();
        let set = input.assignments().map(|(text, _)| text.to_owned());
        let set: Vec<_> = set.chain(assignments.iter().cloned()).collect();
        input.set(&set);
        let Ok(mut composed) = Self::new::<Infallible>(input, |_, _| Ok(self.context.baseline.clone()));
        composed.context.files.clone_from(&self.context.files);
        if let Some(spec) = &mut composed.draft.value {
            composed.context.complete(spec);
        }
        composed
    }

    /// The spec of another tree, or the findings about its form.
    pub fn variant(&self, root: Node<'static>) -> Result<Spec, Vec<Diagnostic>> {
        let draft = decode(&Tree::from(root));
        match draft.value {
            Some(mut spec) if draft.findings.is_empty() => {
                self.context.complete(&mut spec);
                Ok(spec)
            }
            _ => Err(draft.findings),
        }
    }

    /// All texts.
    pub fn source(&self) -> &Source {
        &self.input.source
    }

    /// The files that values name, such as `source` of files.
    pub fn named_files(&self) -> impl Iterator<Item = &Path> {
        self.context.files.values().map(|file| file.path.as_path())
    }

    /// The specs on the command line: `base.yaml + prod.yaml`.
    pub fn name(&self) -> String {
        self.input.name()
    }

    /// The tree of all texts.
    pub fn root(&self) -> Option<&Node<'static>> {
        self.root.as_ref()
    }

    /// The kind of a text of the source, by its number.
    pub fn part(&self, number: usize) -> Part<'_> {
        let start = self.input.source.texts().get(number).map(|text| text.start);
        let mut files = self.context.files.values();
        let is_manifest = files.any(|file| file.start.is_some() && file.start == start);
        match self.input.part(number) {
            Part::Profile if is_manifest => Part::Manifests,
            part => part,
        }
    }

    /// The paths of the values that are wanted, by their key and themselves, parents first: keys with dots between them, where
    /// elements of a list have the path of the list.
    pub fn paths(&self, wanted: impl Fn(Option<&Node<'_>>, &Node<'_>) -> bool) -> Vec<String> {
        let mut paths = Vec::new();
        if let Some(root) = &self.root {
            collect_paths(None, root, "", &wanted, &mut paths);
        }
        paths
    }
}

impl Context {
    fn complete(&self, spec: &mut Spec) {
        spec.patch_files.clone_from(&self.patches);
        spec.baseline = self.baseline.as_ref().map(|baseline| baseline.name.clone());
        sources::fill(spec, &self.files);
    }
}

impl Merged {
    /// The name of the security profile in the texts.
    fn security_profile(&self) -> Option<String> {
        let name = self.root.get("security")?.get("profile")?;
        name.text().map(str::to_owned)
    }

    fn above(mut self, baseline: &Baseline) -> Self {
        self.root = baseline.merge_below(&self.root, &mut self.findings);
        self
    }
}

impl Input {
    /// One tree of all texts, with findings that do not prevent a tree; otherwise only findings.
    fn merged(&self, rules: &Rules) -> Result<Merged, Vec<Diagnostic>> {
        let mut findings = self.findings.clone();
        let mut trees = self.trees(&mut findings)?.into_iter();
        let Some(mut root) = trees.next().cloned() else {
            return Err(findings);
        };
        for above in trees {
            let (merged, amiss) = firelay_yaml::merge(root, above, rules);
            root = merged;
            findings.extend(amiss);
        }
        findings.extend(self.patches.findings.iter().cloned());
        let (root, amiss) = patch::patched(root, &self.patches.spec, rules);
        findings.extend(amiss);
        let mut root = assigned(root, self.assignments(), rules, &mut findings);
        let (inserted, amiss) = match &self.environment {
            Some(environment) => firelay_yaml::substitute(&mut root, environment, SPARED),
            None => (Vec::new(), firelay_yaml::unsubstituted(&mut root, SPARED, ENV_HELP)),
        };
        findings.extend(amiss);
        Ok(Merged {
            root,
            findings,
            inserted,
        })
    }

    /// The trees of the files. If one cannot be merged there is no tree at all: every key of that file would be missing.
    fn trees(&self, findings: &mut Vec<Diagnostic>) -> Result<Vec<&Node<'static>>, Vec<Diagnostic>> {
        let mut broken = diagnostic::refuse(findings);
        let mut trees = Vec::new();
        for file in &self.files {
            match &file.tree {
                Ok(tree) => {
                    findings.extend(tree.findings.iter().cloned());
                    // In a document of another form every key would be wrong; these findings would hide the cause.
                    let strange = check_form(tree);
                    broken |= !strange.is_empty();
                    findings.extend(strange);
                    trees.push(&tree.root);
                }
                Err(faults) => {
                    broken = true;
                    findings.extend(faults.iter().cloned());
                }
            }
        }
        if broken {
            Err(std::mem::take(findings))
        } else {
            Ok(trees)
        }
    }
}

/// A tree with values set in it, each by an assignment and its offset in the source.
fn assigned<'t>(
    root: Node<'static>,
    assignments: impl Iterator<Item = (&'t str, usize)>,
    rules: &Rules,
    findings: &mut Vec<Diagnostic>,
) -> Node<'static> {
    let mut root: Node<'t> = root;
    for (text, start) in assignments {
        match Assignment::parse(text, start) {
            Ok(assignment) => {
                let (key, span) = assignment.top();
                findings.extend(match FILE_KEYS.iter().find(|(name, _)| *name == key) {
                    Some((_, help)) => Some(named_late(key, span, help)),
                    None => assignment.apply(&mut root, rules).err(),
                });
            }
            Err(faults) => findings.extend(faults),
        }
    }
    root.detached()
}

/// A tree as a spec, with the findings about its form, parameters among them.
fn decode(tree: &Tree<'_>) -> Partial<Spec> {
    let mut draft: Partial<Spec> = firelay_yaml::decode_partial(tree, WORDS);
    let (_, wrong) = draft.value.as_ref().map(Spec::choices).unwrap_or_default();
    draft.certain &= !diagnostic::refuse(&wrong);
    draft.findings.extend(wrong);
    diagnostic::sort(&mut draft.findings);
    draft
}

fn collect_paths(
    key: Option<&Node<'_>>,
    node: &Node<'_>,
    path: &str,
    wanted: &impl Fn(Option<&Node<'_>>, &Node<'_>) -> bool,
    paths: &mut Vec<String>,
) {
    if wanted(key, node) {
        paths.push(path.to_owned());
    }
    match &node.content {
        Content::Scalar(_) => {}
        Content::Sequence(items) => {
            for item in items {
                collect_paths(None, item, path, wanted, paths);
            }
        }
        Content::Mapping(entries) => {
            for (key, value) in entries {
                let name = key.text().unwrap_or_default();
                let below = match path.is_empty() {
                    true => name.to_owned(),
                    false => format!("{path}.{name}"),
                };
                collect_paths(Some(key), value, &below, wanted, paths);
            }
        }
    }
}
