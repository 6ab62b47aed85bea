//! `why`: where a value of a rendered file comes from.
//!
//! What a machine's files say is a pure function of the spec and the profiles. So nothing has to be carried along while
//! they are rendered: a line is a source of a value if the value changes when the line does
//! (docs/adr/0011-why-by-variation.md).

mod address;
mod lost;
mod redact;
mod report;
mod search;
mod steps;
mod subject;
mod vary;

use address::{Address, Part, Thing};
use redact::Secrets;
use report::{Answer, Line, lines};
use search::{Search, Verdict};
use subject::{Reading, Subject};

use super::{
    failure::Failure,
    input,
    preview::{FAKE_SECRETS, FakeSecrets, Preview},
    project::Project,
};
use crate::{
    cli::Why,
    node::NodeFile,
    patch::{self, Patched},
    plan::{self, NodePlan, Plan},
    profile::{Library, Profiles, Resolved},
    redact::{redact_profiles, redact_spec, secret_values},
    spec::{Composed, Spec},
};
use firelay_yaml::{
    Node, Tree,
    diagnostic::{Source, Span},
};

/// The permission of everybody to read.
const OTHERS: u32 = 0o004;

/// Parts of a spec that are no source of a value: what they are for is said elsewhere.
const SKIPPED: [&[&str]; 3] = [&["apiVersion"], &["kind"], &["patches"]];

/// Runs the verb.
pub fn run(args: &Why) -> Result<(), Failure> {
    let address = Address::parse(&args.address).map_err(Failure::Usage)?;
    let project = Project::load(&args.spec)?;
    let node = project.node(&address.node)?;
    let answer = match &address.thing {
        Thing::File(path) if patch::is_secret(path) => Answer::secret(&address),
        _ => answer(&project, node, &address, args)?,
    };
    report::print(&answer, args.output)
}

fn answer(project: &Project, node: &NodePlan, address: &Address, args: &Why) -> Result<Answer, Failure> {
    let (plan, profiles) = (&project.plan, &project.profiles);
    let rendered = |bundle| rendered(plan, profiles, node, bundle);
    let patched = rendered(FAKE_SECRETS[0])?;
    // Not even what keys or how many lines a closed file has is told.
    let closed = is_closed(&address.thing, node, &patched);
    let whole = Address {
        part: Part::Whole,
        ..address.clone()
    };
    let subject = Subject::find(if closed { &whole } else { address }, &patched).map_err(Failure::Usage)?;
    let reading = subject.read(&patched);
    let spec = redact_spec(&project.spec);
    let secrets = Secrets::new(secret_values(&project.spec));
    let bundle = !reading.same(&subject.read(&rendered(FAKE_SECRETS[1])?));
    let hidden = match closed {
        true => Some(report::CLOSED),
        false => (bundle || subject.is_secret(&patched) || secrets.hide(&reading)).then_some(report::SECRET),
    };
    let mut answer = Answer::new(address, &reading, hidden, &secrets);
    answer.bundle = bundle;
    if let Reading::Value(value) = &reading {
        let places = subject::patched_places(value);
        answer.patches = lines(&spec, places.iter().map(|span| (*span, false)));
        if value.span != Span::default() {
            return Ok(answer);
        }
    }
    let Some(root) = project.spec.root() else {
        return Ok(answer);
    };
    // No output shows the value of a variable of the environment.
    let inserted = project.spec.inserted.iter().map(|inserted| inserted.value.clone());
    let is_part = |value: &String| !value.is_empty() && reading.text().contains(value);
    if inserted.clone().any(|value| is_part(&value)) || Secrets::new(inserted.collect()).are_in(&reading.text()) {
        answer.hide(report::VARIABLE);
    }
    let context = VariantContext {
        composed: &project.spec,
        root,
        profiles,
        subject: &subject,
        reading: &reading,
        node: &node.name,
        number: plan
            .nodes
            .iter()
            .position(|other| other.name == node.name)
            .unwrap_or_default(),
        machines: plan.nodes.len(),
        text: reading.text(),
        words: words(profiles),
    };
    answer.spec = context.spec_lines(&spec);
    let mut source = Source::default();
    let library = match &args.spec.profiles.directory {
        Some(directory) => input::library(directory, &mut source)?,
        None => Library::embedded(&mut source)?,
    };
    let (files, shown) = (profile_files(plan, node), redact_profiles(&source));
    for file in library
        .resolve(&source)
        .0
        .iter()
        .filter(|file| files.contains(&file.path))
    {
        answer.profiles.extend(context.profile_lines(&shown, file, node));
    }
    Ok(answer)
}

/// Whether only root may read a file: one of the user, or one that is not YAML, since of firelay's own YAML files single
/// values are secret.
fn is_closed(thing: &Thing, node: &NodePlan, patched: &Patched) -> bool {
    let Thing::File(path) = thing else { return false };
    let closed = |file: &NodeFile| file.path == *path && file.mode & OTHERS == 0;
    let own = node.host.files.iter().any(|file| file.path == *path);
    patched.files.files.iter().any(closed) && (own || !patch::is_yaml(path))
}

fn rendered(plan: &Plan, profiles: &Profiles, node: &NodePlan, bundle: FakeSecrets) -> Result<Patched, Failure> {
    Preview::new(plan, profiles, bundle)?.patched(node)
}

/// The profiles that a machine is made with.
fn profile_files(plan: &Plan, node: &NodePlan) -> Vec<String> {
    vec![
        format!("os/{}.yaml", node.os.name),
        format!("platform/{}.yaml", node.platform.name),
        format!("kubernetes/{}.yaml", plan.kubernetes.profile.minor),
        "runtime/containerd.yaml".to_owned(),
        "endpoint.yaml".to_owned(),
        "etcd.yaml".to_owned(),
        "catalog.yaml".to_owned(),
    ]
}

/// The context in which variants of the spec and of profiles are judged.
struct VariantContext<'a> {
    composed: &'a Composed,
    root: &'a Node<'static>,
    profiles: &'a Profiles,
    subject: &'a Subject,
    reading: &'a Reading,
    node: &'a str,
    /// Its number among the machines, by which it is known when its name is varied.
    number: usize,
    machines: usize,
    text: String,
    words: Vec<Vec<String>>,
}

/// Words that may stand for each other: the names of systems, of platforms, and versions.
fn words(profiles: &Profiles) -> Vec<Vec<String>> {
    let versions = profiles.kubernetes.values().flat_map(|profile| &profile.versions);
    vec![
        profiles.os.keys().cloned().collect(),
        profiles.platform.keys().cloned().collect(),
        versions.map(ToString::to_string).collect(),
    ]
}

/// Whether a place of the catalog, or one below it, is about what a machine fetches.
fn fetched(keys: &[&str], node: &NodePlan) -> bool {
    let arch = serde_json::to_value(node.arch).ok();
    let arch = arch.as_ref().and_then(|arch| arch.as_str()).unwrap_or_default();
    node.artifacts.iter().any(|artifact| {
        let version = artifact.version.to_string();
        let wanted = ["artifacts", &artifact.name, "releases", &version, arch];
        let leads = keys.iter().zip(wanted).all(|(key, wanted)| *key == wanted);
        leads || (keys.len() == 3 && keys[1] == artifact.name && keys[2] != "releases")
    })
}

impl VariantContext<'_> {
    fn spec_lines(&self, source: &Source) -> Vec<Line> {
        let judge = |variant: Node<'static>| match self.composed.variant(variant) {
            Ok(spec) => self.judge(&spec, self.profiles),
            Err(findings) => Verdict::Useless(findings),
        };
        let skipped = |keys: &[&str]| keys.ends_with(&["patches"]) || SKIPPED.contains(&keys);
        let sites = vary::sites(self.root, &skipped);
        let sources = self.search(self.root, &judge).run(&sites);
        lines(source, sources.iter().map(|source| (source.span, source.guess)))
    }

    fn profile_lines(&self, source: &Source, file: &Resolved<'_>, node: &NodePlan) -> Vec<Line> {
        let path = file.path.as_str();
        let root = file.root.detached();
        let Some(spec) = &self.composed.draft.value else {
            return Vec::new();
        };
        let judge = |variant: Node<'static>| {
            let tree = Tree {
                root: variant,
                findings: Vec::new(),
            };
            match self.profiles.varied(path, &tree) {
                Some(profiles) => self.judge(spec, &profiles),
                None => Verdict::Useless(Vec::new()),
            }
        };
        let skipped =
            |keys: &[&str]| keys == ["name"] || keys == ["minor"] || (path == "catalog.yaml" && !fetched(keys, node));
        let sites = vary::sites(&root, &skipped);
        let sources = self.search(&root, &judge).run(&sites);
        lines(
            source,
            sources
                .iter()
                .filter(|source| !source.guess)
                .map(|source| (source.span, false)),
        )
    }

    fn search<'s>(
        &'s self,
        root: &'s Node<'static>,
        judge: &'s (dyn Fn(Node<'static>) -> Verdict + Sync),
    ) -> Search<'s> {
        Search {
            root,
            text: &self.text,
            judge,
            words: &self.words,
        }
    }

    fn judge(&self, spec: &Spec, profiles: &Profiles) -> Verdict {
        let plan = match plan::resolve(spec, profiles) {
            Ok((plan, _)) => plan,
            Err(findings) => return Verdict::Useless(findings),
        };
        let named = plan.nodes.iter().find(|node| node.name == self.node);
        let numbered = || {
            plan.nodes
                .get(self.number)
                .filter(|_| plan.nodes.len() == self.machines)
        };
        let Some(node) = named.or_else(numbered) else {
            return Verdict::Useless(Vec::new());
        };
        match rendered(&plan, profiles, node, FAKE_SECRETS[0]) {
            Err(_) => Verdict::Useless(Vec::new()),
            Ok(patched) => match self.subject.read(&patched) {
                Reading::Gone => Verdict::Useless(Vec::new()),
                reading if reading.same(self.reading) => Verdict::Same,
                _ => Verdict::Changed,
            },
        }
    }
}
