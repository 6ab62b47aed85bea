//! `why`: the origin of a value in a rendered file.
//!
//! A machine's files are a pure function of the spec and the profiles, so rendering does not track positions. A line is
//! a source of a value if changing the line changes the value (docs/adr/0011-why-by-variation.md).

mod address;
mod redact;
mod report;
mod search;
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
    progress,
    project::Project,
};
use crate::{
    cli::Why,
    node::NodeFile,
    patch::{self, Patched},
    plan::{self, NodePlan, Plan},
    profile::{Profiles, Resolved},
    redact::{redact_profiles, redact_spec, secret_values},
    spec::Spec,
};
use firelay_yaml::{
    Node, Tree,
    diagnostic::{Source, Span},
};

/// The read permission for all users.
const OTHERS: u32 = 0o004;

/// Parts of a spec that are never the source of a value: their use is reported elsewhere.
const SKIPPED: [&[&str]; 3] = [&["apiVersion"], &["kind"], &["patches"]];

/// Runs the verb.
pub fn run(args: &Why) -> Result<(), Failure> {
    let address = Address::parse(&args.address).map_err(Failure::Usage)?;
    let project = Project::load(&args.spec)?;
    let node = project.node(&address.node)?;
    let answer = match &address.thing {
        Thing::File(path) if patch::is_secret(path) => Answer::secret(&address),
        _ => progress::during("trying variants of the spec", || answer(&project, node, &address, args))?,
    };
    report::print(&answer, args.output)
}

/// The lines of the spec and of patches that affect a part of a machine's file, as `cluster.yaml:12`. Files that only
/// root may read have none.
pub(super) fn spec_places(project: &Project, node: &NodePlan, address: &str) -> Result<Vec<String>, Failure> {
    let address = Address::parse(address).map_err(Failure::Usage)?;
    let patched = preview(project, node, FAKE_SECRETS[0])?;
    if is_closed(&address.thing, node, &patched) {
        return Ok(Vec::new());
    }
    match Subject::find(&address, &patched) {
        Ok(subject) => Ok(places(project, node, &subject, &patched)),
        Err(_) => Ok(Vec::new()),
    }
}

/// The lines of the spec without which a machine does not have a file.
pub(super) fn places_of_file(project: &Project, node: &NodePlan, path: &str) -> Result<Vec<String>, Failure> {
    let patched = preview(project, node, FAKE_SECRETS[0])?;
    let subject = Subject::presence(Thing::File(path.to_owned()));
    Ok(places(project, node, &subject, &patched))
}

fn places(project: &Project, node: &NodePlan, subject: &Subject, patched: &Patched) -> Vec<String> {
    let (spec, reading) = (redact_spec(&project.spec), subject.read(patched));
    let context = VariantContext::new(project, node, subject, &reading);
    context.spec_lines(&spec).iter().map(Line::place).collect()
}

fn answer(project: &Project, node: &NodePlan, address: &Address, args: &Why) -> Result<Answer, Failure> {
    let patched = preview(project, node, FAKE_SECRETS[0])?;
    let closed = is_closed(&address.thing, node, &patched);
    // The keys and the number of lines of a closed file are not shown either.
    let whole = Address {
        part: Part::Whole,
        ..address.clone()
    };
    let subject = Subject::find(if closed { &whole } else { address }, &patched).map_err(Failure::Usage)?;
    let reading = subject.read(&patched);
    let secrets = Secrets::new(secret_values(&project.spec));
    let bundle = !reading.same(&subject.read(&preview(project, node, FAKE_SECRETS[1])?));
    let hidden = match closed {
        true => Some(report::CLOSED),
        false => (bundle || subject.is_secret(&patched) || secrets.hide(&reading)).then_some(report::SECRET),
    };
    let mut answer = Answer::new(address, &reading, hidden, &secrets);
    answer.bundle = bundle;
    add_sources(&mut answer, project, node, &subject, &reading, args)?;
    Ok(answer)
}

/// Adds the lines of patches, of the spec and of profiles that determine a value.
fn add_sources(
    answer: &mut Answer,
    project: &Project,
    node: &NodePlan,
    subject: &Subject,
    reading: &Reading,
    args: &Why,
) -> Result<(), Failure> {
    let spec = redact_spec(&project.spec);
    if let Reading::Value(value) = reading {
        let places = subject::patched_places(value);
        answer.patches = lines(&spec, places.iter().map(|span| (*span, false)));
        if value.span != Span::default() {
            return Ok(());
        }
    }
    if holds_variable(project, &reading.text()) {
        answer.hide(report::VARIABLE);
    }
    let context = VariantContext::new(project, node, subject, reading);
    answer.spec = context.spec_lines(&spec);
    let mut source = Source::default();
    let library = input::library(args.spec.profiles.directory.as_deref(), &mut source)?;
    let (files, shown) = (profile_files(&project.plan, node), redact_profiles(&source));
    let profiles = library.resolve(&source).0;
    for file in profiles.iter().filter(|file| files.contains(&file.path)) {
        answer.profiles.extend(context.profile_lines(&shown, file));
    }
    Ok(())
}

/// Whether a text contains the value of an environment variable, which no output shows.
fn holds_variable(project: &Project, text: &str) -> bool {
    let inserted = project.spec.inserted.iter().map(|inserted| inserted.value.clone());
    let is_part = |value: &String| !value.is_empty() && text.contains(value);
    inserted.clone().any(|value| is_part(&value)) || Secrets::new(inserted.collect()).are_in(text)
}

/// Whether only root may read a file: one of the user, or one that is not YAML, since of firelay's own YAML files single
/// values are secret.
fn is_closed(thing: &Thing, node: &NodePlan, patched: &Patched) -> bool {
    let Thing::File(path) = thing else { return false };
    let closed = |file: &NodeFile| file.path == *path && file.mode & OTHERS == 0;
    let own = node.host.files.iter().any(|file| file.path == *path);
    patched.files.files.iter().any(closed) && (own || !patch::is_yaml(path))
}

fn preview(project: &Project, node: &NodePlan, secrets: FakeSecrets) -> Result<Patched, Failure> {
    Preview::new(&project.plan, &project.profiles, secrets)?.patched(node)
}

/// The profiles that a machine is made with.
fn profile_files(plan: &Plan, node: &NodePlan) -> Vec<String> {
    vec![
        format!("os/{}.yaml", node.os.name),
        format!("platform/{}.yaml", node.platform.name),
        format!("kubernetes/{}.yaml", plan.kubernetes.profile.minor),
        format!("runtime/{}.yaml", plan.runtime.service.name),
        "endpoint.yaml".to_owned(),
        "etcd.yaml".to_owned(),
        "catalog.yaml".to_owned(),
    ]
}

/// The context in which variants of the spec and of profiles are evaluated.
struct VariantContext<'a> {
    project: &'a Project,
    node: &'a NodePlan,
    /// The node's number, by which it is found when its name is varied.
    number: Option<usize>,
    subject: &'a Subject,
    reading: &'a Reading,
    text: String,
    words: Vec<Vec<String>>,
}

/// Words that can replace each other: the names of systems, of platforms, and versions.
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

impl<'a> VariantContext<'a> {
    fn new(project: &'a Project, node: &'a NodePlan, subject: &'a Subject, reading: &'a Reading) -> Self {
        let mut nodes = project.plan.nodes.iter();
        Self {
            number: nodes.position(|other| other.name == node.name),
            text: reading.text(),
            words: words(&project.profiles),
            project,
            node,
            subject,
            reading,
        }
    }

    fn spec_lines(&self, source: &Source) -> Vec<Line> {
        let Some(root) = self.project.spec.root() else {
            return Vec::new();
        };
        let verdict = |variant: Node<'static>| match self.project.spec.variant(variant) {
            Ok(spec) => self.verdict(&spec, &self.project.profiles),
            Err(findings) => Verdict::Useless(findings),
        };
        let skipped = |keys: &[&str]| keys.ends_with(&["patches"]) || SKIPPED.contains(&keys);
        lines(source, self.search(root, &verdict, &skipped).into_iter())
    }

    fn profile_lines(&self, source: &Source, file: &Resolved<'_>) -> Vec<Line> {
        let (path, root) = (file.path.as_str(), file.root.detached());
        let Some(spec) = &self.project.spec.draft.value else {
            return Vec::new();
        };
        let verdict = |variant: Node<'static>| {
            let tree = Tree::from(variant);
            match self.project.profiles.varied(path, &tree) {
                Some(profiles) => self.verdict(spec, &profiles),
                None => Verdict::Useless(Vec::new()),
            }
        };
        let skipped = |keys: &[&str]| {
            keys == ["name"] || keys == ["minor"] || (path == "catalog.yaml" && !fetched(keys, self.node))
        };
        let found = self.search(&root, &verdict, &skipped);
        lines(source, found.into_iter().filter(|(_, guess)| !guess))
    }

    fn search(
        &self,
        root: &Node<'static>,
        verdict: &(dyn Fn(Node<'static>) -> Verdict + Sync),
        skipped: &impl Fn(&[&str]) -> bool,
    ) -> Vec<(Span, bool)> {
        let search = Search {
            root,
            text: &self.text,
            verdict,
            words: &self.words,
        };
        search.run(&vary::sites(root, skipped))
    }

    fn verdict(&self, spec: &Spec, profiles: &Profiles) -> Verdict {
        let plan = match plan::resolve(spec, profiles) {
            Ok((plan, _)) => plan,
            Err(findings) => return Verdict::Useless(findings),
        };
        let named = plan.nodes.iter().find(|node| node.name == self.node.name);
        let as_many = plan.nodes.len() == self.project.plan.nodes.len();
        let numbered = || self.number.filter(|_| as_many).and_then(|at| plan.nodes.get(at));
        let preview = |node| Preview::new(&plan, profiles, FAKE_SECRETS[0])?.patched(node);
        let Some(Ok(patched)) = named.or_else(numbered).map(preview) else {
            return Verdict::Useless(Vec::new());
        };
        match self.subject.read(&patched) {
            Reading::Gone => Verdict::Useless(Vec::new()),
            reading if reading.same(self.reading) => Verdict::Same,
            _ => Verdict::Changed,
        }
    }
}
