//! `render`: load, issue, assemble, verify, write.

mod report;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use firelay_verify::{Cause, Chosen};
use rayon::prelude::*;
use time::OffsetDateTime;

use self::report::{Written, report};
use super::{
    assembly::{Assembly, for_each_node},
    audit::{self, AlikeDocument},
    bundle::{self, bundle_path, is_missing, refuse_lost, save_bundle},
    documents::{self, Documents, TreeFile},
    failure::Failure,
    git,
    in_place::{self as scripts, Base},
    kept::{self, Group},
    measure::{self, Basis},
    plan, progress,
    project::Project,
    seed,
    state::{Applying, Rendering, State, Update, same_cluster},
    streams,
    variables::{self, MachineVariables},
    verify,
};
use crate::{
    audit::{Catalogue, MachineFiles},
    changes::{Action, Counts, MachineChange, steps},
    cli::{self, OutputFormat, Render, TemplateEngine},
    delivery::{
        Engine, Manifest, ManifestFile, escape,
        tree::{self, TreeWriter},
    },
    node::NodeFile,
    plan::{NodePlan, Plan},
    record,
    secrets::Bundle,
    tree::{UnlockedManifest, is_update},
};

/// Runs the verb.
pub fn run(args: &Render) -> Result<(), Failure> {
    run_with(args, None)
}

/// Renders. For `update` it also writes the scripts that change running machines in place.
pub(super) fn run_with(args: &Render, in_place: Option<&cli::Update>) -> Result<(), Failure> {
    let (project, (state, last)) = rayon::join(
        || Project::load(&args.inputs.spec),
        || {
            let state = State::open(args.state.file.as_deref(), &args.inputs);
            (state, UnlockedManifest::read(&args.out))
        },
    );
    let project = project?;
    let nodes = chosen(args, &project)?;
    let state = state?;
    let secrets = SecretsFile::open(args, &project, &state)?;
    if args.out == Path::new("-") {
        return print(args, &project, &nodes, &secrets, &state);
    }
    let tree = begin(args, &project, (&secrets.bundle, last))?;
    let state = state.with_tree(&args.out, tree.last(), args.state.adopt_tree)?;
    let applying = in_place.map_or(Applying::NEVER, scripts::applying);
    let mut update = update(args, &project, &secrets, &state, (tree.last(), applying), &nodes)?;
    let base = in_place
        .map(|in_place| Base::open(in_place, &project, &tree, &update))
        .transpose()?;
    let assembly = update.assembly()?;
    let groups = kept_groups(args, &project, (&update, &assembly), &tree);
    let (written, shared) = rayon::join(
        || write_nodes(args, &project, &assembly, &tree, (&nodes, &groups)),
        || shared(args, &project, (&assembly, update.founder())),
    );
    let written = written?;
    let manifest = complete(args, documents::manifest(&project, &assembly), shared?, &tree, &nodes)?;
    let mut manifest = update.settle(manifest)?;
    let checks = chosen_checks(&update, &project.plan, &nodes);
    let (inputs, verified) = rayon::join(
        || inputs(args, &project, &assembly, (&tree, &manifest)),
        || verify::staged(&args.out, &tree, &manifest, secrets.bundle.issued_at, &checks),
    );
    verified?;
    manifest.inputs = inputs;
    scripts::keep(&tree, &args.out)?;
    let scripts = base
        .map(|base| base.write(&project, &update, &tree, &manifest))
        .transpose()?;
    let changes = match &scripts {
        Some(scripts) => scripts.changes().to_vec(),
        None => without_known(plan::changed_machines(
            &project,
            &update,
            (&args.out, &tree, &manifest),
        )?),
    };
    let former = in_place
        .and_then(|in_place| in_place.from.as_deref())
        .unwrap_or(&args.out);
    if !update.check_unknown(former, &changes) {
        update.refuse_forbidden()?;
    }
    let members = scripts.as_ref().map_or_else(|| replaced(&changes), |_| changes.clone());
    update.check_members(&members);
    update.check_upgrade(&changes);
    update.check_configuration(&members);
    update.refuse_forbidden()?;
    update.note_pending(&changes);
    let finished = place(&secrets, &state, &update, tree, manifest)?;
    warn_of_leftovers(&args.out, &finished.left)?;
    match in_place.zip(scripts) {
        Some((in_place, scripts)) => {
            scripts.print(in_place, &project, &update)?;
            tell_left_settings(&update)
        }
        None => {
            tell_running(Counts::of(&changes, false));
            warn_of_replaced(args, &project.plan, &changes);
            report(args, &project, &secrets.bundle, &written, &finished)
        }
    }
}

/// Leaves machines out with documents that another clone rendered, and tells of them. If it was an update, their scripts are there.
fn without_known(changes: Vec<MachineChange>) -> Vec<MachineChange> {
    let (known, changes): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| change.known);
    let names: Vec<_> = { known.iter() }
        .filter(|change| change.in_place())
        .map(|change| change.name.as_str())
        .collect();
    if !names.is_empty() {
        streams::tell(format_args!(
            "another clone rendered the new documents of {} first: if by `firelay update`, the scripts are there; `firelay update --from DIR` \
             writes scripts here, where DIR has the tree of before (docs/day-two.md)",
            record::listed(&names)
        ));
    }
    changes
}

/// Tells of running machines whose documents have changed: nothing brings these to them.
fn tell_running(counts: Counts) {
    let parts = [
        (counts.in_place, "to update in place"),
        (counts.replace, "to create anew"),
        (counts.unknown, "with a change that is not known"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts.map(|(count, words)| format!("{count} {words}")).collect();
    if counts.in_place + counts.unknown > 0 {
        streams::tell(format_args!(
            "machines that run keep their former documents: {}; `firelay update` in place of `firelay render` writes scripts for them, and \
             `firelay update --from DIR` does now, where DIR has the tree of before: docs/day-two.md",
            parts.join(", ")
        ));
    }
}

/// Warns of machines that no script changes in place, in the order in which they are created anew. Programs that see new documents
/// may replace all of them at once.
fn warn_of_replaced(args: &Render, plan: &Plan, changes: &[MachineChange]) {
    let is_asked = |change: &MachineChange| args.state.replace.contains(&change.name);
    let replaced = changes.iter().filter(|change| change.action == Action::Replace);
    let replaced: Vec<_> = replaced.cloned().collect();
    if replaced.is_empty() || replaced.len() == 1 && is_asked(&replaced[0]) {
        return;
    }
    let steps = plan::listed_steps(&steps(&replaced, plan.max_unavailable, None));
    if replaced.iter().all(is_asked) {
        streams::tell(format_args!(
            "replace the machines in this order, and go on when all machines of a step are Ready\n{}",
            steps.join("\n")
        ));
        return;
    }
    streams::tell(format_args!(
        "warning: {} of the running cluster cannot be updated in place: replace them in this order, and go on when all machines of a step \
         are Ready\n{}\n  \
         = help: undo the change, or replace them one step after the other (docs/day-two.md); what creates machines may replace all at \
         once, as `terraform apply` does",
        streams::counted(replaced.len(), "machine"),
        steps.join("\n")
    ));
}

/// Tells of settings that no script applies, as some machines alone are rendered.
fn tell_left_settings(update: &Update<'_>) -> Result<(), Failure> {
    let left = update.left_settings()?;
    let names: Vec<_> = left.iter().map(|setting| setting.name()).collect();
    if !names.is_empty() {
        streams::tell(format_args!(
            "settings of the whole cluster have changed, and --node leaves them out ({}): firelay update without --node applies them",
            names.join(", ")
        ));
    }
    Ok(())
}

/// Puts bundle, tree and record in place, in this order: a record never names a document that was not written.
fn place(
    secrets: &SecretsFile,
    state: &State,
    update: &Update<'_>,
    tree: TreeWriter,
    mut manifest: Manifest,
) -> Result<tree::Report, Failure> {
    state.refuse_changed()?;
    let text = update.next.to_yaml()?;
    if update.is_founded() {
        manifest.records = state.records_before(tree.last(), &text);
    }
    tree.put(ManifestFile::new(record::COPY), text.as_bytes())?;
    secrets.save(&tree)?;
    let record = state.prepare(&text)?;
    let finished = progress::during("writing the files", || tree.finish(manifest))?;
    state.place(record)?;
    if !secrets.new {
        update.tell_unrecorded();
    }
    update.tell();
    Ok(finished)
}

/// A document that is rendered alone comes to its machine by replacement, also where an update would take it there in place.
fn replaced(changes: &[MachineChange]) -> Vec<MachineChange> {
    let whole = |change: &MachineChange| match change.in_place() || change.action == Action::Unknown {
        true => change.clone().whole(Action::Replace, None),
        false => change.clone(),
    };
    changes.iter().map(whole).collect()
}

/// The nodes and pools that are asked for, in the order of the spec.
fn chosen<'a>(args: &Render, project: &'a Project) -> Result<Cow<'a, [NodePlan]>, Failure> {
    let (nodes, names) = (&project.plan.nodes, &args.node);
    for name in names {
        project.node(name)?;
    }
    if args.engine.is_some() && args.out != Path::new("-") {
        return Err(Failure::Usage(
            "--for escapes what goes to stdout: write --out - as well".to_owned(),
        ));
    }
    if names.is_empty() {
        return Ok(Cow::Borrowed(nodes));
    }
    let asked = nodes.iter().filter(|node| names.contains(&node.name));
    Ok(Cow::Owned(asked.cloned().collect()))
}

/// The bundle of a render, and its file.
struct SecretsFile {
    bundle: Bundle,
    path: PathBuf,
    /// It is not saved yet.
    new: bool,
}

impl SecretsFile {
    /// Loads the bundle, or creates one if there is none and `--new-secrets` allows it.
    fn open(args: &Render, project: &Project, state: &State) -> Result<Self, Failure> {
        let path = bundle_path(&args.inputs);
        refuse_lost(&path, &args.out, &project.plan.name)?;
        state.refuse_lost(&path, &project.plan.name)?;
        let new = args.new_secrets && path != Path::new("-") && is_missing(&path);
        let bundle = match new {
            true => bundle::create(&project.plan)?,
            false => project.bundle(&args.inputs, "render")?,
        };
        Ok(Self { bundle, path, new })
    }

    /// Saves a new bundle, as the last step before the tree is put in place.
    fn save(&self, tree: &TreeWriter) -> Result<(), Failure> {
        if self.new {
            tree.check()?;
            save_bundle(&self.path, &self.bundle)?;
        }
        git::warn_of_bundle(&self.path);
        Ok(())
    }
}

/// Compares the record, the tree in place and the spec, and refuses what the running cluster cannot take.
fn update<'a>(
    args: &'a Render,
    project: &'a Project,
    secrets: &'a SecretsFile,
    state: &'a State,
    (last, applying): (Option<&Manifest>, Applying),
    nodes: &'a [NodePlan],
) -> Result<Update<'a>, Failure> {
    let rendering = Rendering {
        args: &args.state,
        out: &args.out,
        project,
        bundle: &secrets.bundle,
        nodes,
        whole: args.node.is_empty(),
        applying,
        now: OffsetDateTime::now_utc(),
    };
    let mut update = Update::begin(rendering, state, last)?;
    update.refuse_forbidden()?;
    update.tell_founded();
    Ok(update)
}

/// Writes the document of one node to stdout, and nothing else anywhere.
fn print(
    args: &Render,
    project: &Project,
    nodes: &[NodePlan],
    secrets: &SecretsFile,
    state: &State,
) -> Result<(), Failure> {
    let bundle = &secrets.bundle;
    let update = update(args, project, secrets, state, (None, Applying::NEVER), nodes)?;
    update.refuse_undated()?;
    let assembly = update.assembly()?;
    let document = document(args, project, &assembly, nodes);
    let document = document.map_err(|failure| measure::explained(project, Basis::of(&assembly), failure))?;
    match secrets.new {
        true => save_bundle(&secrets.path, bundle)?,
        false => update.tell_unrecorded(),
    }
    streams::bytes(&document)
}

/// The one document that is asked for, escaped for a template engine.
fn document(args: &Render, project: &Project, assembly: &Assembly<'_>, nodes: &[NodePlan]) -> Result<Vec<u8>, Failure> {
    let ([node], false) = (nodes, args.node.is_empty()) else {
        return Err(Failure::Usage(
            "stdout takes one document: name it with one --node".to_owned(),
        ));
    };
    if args.output == OutputFormat::Json {
        return Err(Failure::Usage(
            "stdout takes the document: --output json would be beside it".to_owned(),
        ));
    }
    let artifact = assembly.artifact(node, &assembly.files(node, &assembly.pki(node)?)?)?;
    let files: Vec<_> = artifact.tree_files(node, None).collect();
    let catalogue = audit::catalogue(&project.plan, assembly.bundle());
    let searched = audit::searched(&catalogue, &files, Vec::new, (artifact.shared_end, None));
    audit::refuse(&catalogue, searched.into_iter().collect())?;
    let file = artifact.files.iter().find(|file| file.name == artifact.handover.file);
    let content = file.map_or(&[][..], |file| &file.content);
    match args.engine {
        Some(engine) => Ok(escaped(content, engine)?.into_bytes()),
        None => Ok(content.to_vec()),
    }
}

fn escaped(content: &[u8], engine: TemplateEngine) -> Result<String, Failure> {
    let engine = match engine {
        TemplateEngine::Terraform => Engine::Terraform,
        TemplateEngine::Jinja => Engine::Jinja,
    };
    let text = std::str::from_utf8(content);
    let text = text.map_err(|_| Failure::Usage("the platform takes bytes, which go through no template".to_owned()))?;
    Ok(escape(text, engine))
}

/// Begins a new tree beside the last one, which must be of the same cluster.
fn begin(
    args: &Render,
    project: &Project,
    (bundle, last): (&Bundle, Option<UnlockedManifest>),
) -> Result<TreeWriter, Failure> {
    let tree = TreeWriter::begin_after(&args.out, last)?;
    same_cluster(&args.out, tree.last(), &project.plan.name, bundle)?;
    Ok(tree)
}

/// Workers whose documents may stay as they are. Terraform's variables have values of all machines, which are rendered then.
fn kept_groups<'a>(
    args: &Render,
    project: &'a Project,
    (update, assembly): (&Update<'_>, &Assembly<'_>),
    tree: &TreeWriter,
) -> Vec<Group<'a>> {
    let whole = args.node.is_empty() && !variables::are_written(&project.plan);
    let last = tree.last().filter(|_| whole);
    last.map_or_else(Vec::new, |last| {
        kept::with_same_inputs(project, (update, assembly), last)
    })
}

/// The digests of the workers' inputs. A render of some machines removes those of machines whose files it changes, and keeps the others.
fn inputs(
    args: &Render,
    project: &Project,
    assembly: &Assembly<'_>,
    (tree, manifest): (&TreeWriter, &Manifest),
) -> BTreeMap<String, String> {
    if args.node.is_empty() {
        return kept::inputs(project, assembly, &manifest.files);
    }
    let mut inputs = tree.last().map(|last| last.inputs.clone()).unwrap_or_default();
    inputs.retain(|name, _| !args.node.contains(name) || tree.is_unchanged(name));
    inputs
}

/// The line of the report, Terraform's variables and the searched files of a node.
type WrittenNode = (Written, (MachineVariables, Option<MachineFiles>));

/// Writes the files of each node, and Terraform's variables of all of them. Of groups the first one is rendered before the others.
fn write_nodes(
    args: &Render,
    project: &Project,
    assembly: &Assembly<'_>,
    tree: &TreeWriter,
    (nodes, groups): (&[NodePlan], &[Group<'_>]),
) -> Result<Vec<Written>, Failure> {
    let bundle = assembly.bundle();
    let catalogue = audit::catalogue(&project.plan, bundle);
    let write = |nodes: &[&NodePlan]| write_some(assembly, tree, (&catalogue, project), nodes);
    let others: BTreeSet<_> = { groups.iter() }
        .flat_map(|group| group.others.iter().map(|node| node.name.as_str()))
        .collect();
    let (last, first): (Vec<_>, Vec<_>) = nodes.iter().partition(|node| others.contains(node.name.as_str()));
    let mut written = write(&first)?;
    let kept = kept::keep(tree, groups);
    let last: Vec<_> = last
        .into_iter()
        .filter(|node| !kept.contains(node.name.as_str()))
        .collect();
    written.extend(write(&last)?);
    let (mut written, (machines, searched)): (Vec<_>, (Vec<_>, Vec<_>)) = written.into_iter().unzip();
    audit::refuse(&catalogue, searched.into_iter().flatten().collect())?;
    variables::put(tree, project, bundle, machines, !args.node.is_empty())?;
    written.extend(Written::of_kept(tree, &kept));
    Ok(in_order(nodes, written))
}

/// Writes the files of some nodes. Of documents that are alike, the first one is written and searched before the others. The error is that
/// of the first node that fails in the given order.
fn write_some(
    assembly: &Assembly<'_>,
    tree: &TreeWriter,
    (catalogue, project): (&Catalogue, &Project),
    nodes: &[&NodePlan],
) -> Result<Vec<WrittenNode>, Failure> {
    let alike = audit::alike(&project.plan, nodes);
    let own = |node: &NodePlan| alike.get(node.name.as_str());
    let explained = |failure| measure::explained(project, Basis::of(assembly), failure);
    let write = |node: &NodePlan| write_node(assembly, tree, (catalogue, own(node)), project, node);
    let (first, mut others): (Vec<_>, Vec<_>) =
        { nodes.iter().enumerate() }.partition(|(_, node)| own(node).is_some_and(|own| own.is_first));
    let written: Vec<_> = first.par_iter().map(|(_, node)| write(node)).collect();
    let failed = written.iter().position(Result::is_err).map(|at| first[at].0);
    others.retain(|(place, _)| failed.is_none_or(|failed| *place < failed));
    let others: Vec<_> = others.into_iter().map(|(_, node)| *node).collect();
    let others = for_each_node(&others, write).map_err(explained)?;
    let mut written = written.into_iter().collect::<Result<Vec<_>, _>>().map_err(explained)?;
    written.extend(others);
    Ok(written)
}

/// The lines of the report in the order of the spec.
fn in_order(nodes: &[NodePlan], mut written: Vec<Written>) -> Vec<Written> {
    let names = nodes.iter().map(|node| node.name.clone());
    let places: BTreeMap<_, usize> = names.zip(0..).collect();
    written.sort_by_key(|own| places.get(&own.node).copied());
    written
}

/// The files of the whole cluster, if that is rendered.
fn shared(
    args: &Render,
    project: &Project,
    (assembly, founder): (&Assembly<'_>, &[NodeFile]),
) -> Result<Vec<TreeFile>, Failure> {
    match args.node.is_empty() {
        true => documents::shared(assembly, project, founder),
        false => Ok(Vec::new()),
    }
}

/// Adds the files of the whole cluster, or keeps those of other nodes, and completes the manifest.
fn complete(
    args: &Render,
    manifest: Manifest,
    shared: Vec<TreeFile>,
    tree: &TreeWriter,
    nodes: &[NodePlan],
) -> Result<Manifest, Failure> {
    if args.node.is_empty() {
        for (file, bytes) in shared {
            tree.put(file, &bytes)?;
        }
    } else {
        keep_others(args, tree, &manifest, nodes)?;
    }
    Ok(tree.complete(manifest))
}

/// Warns of secrets that are left of an earlier tree: files that are not firelay's, and volumes of other documents.
fn warn_of_leftovers(out: &Path, left: &[PathBuf]) -> Result<(), Failure> {
    for path in left {
        streams::tell(format_args!(
            "warning: {} is left of an earlier tree and holds secrets; it was not removed, because not everything in it is firelay's\n  \
             = help: take out what is yours and remove it",
            path.display()
        ));
    }
    seed::warn_of_stale(out)
}

/// Checks that this tree can fail. Of machines that are set up alike the first one stands for all. A render of some nodes keeps
/// documents of others: they were verified when they were rendered, unless somebody changed them together with the manifest.
fn chosen_checks(update: &Update<'_>, plan: &Plan, nodes: &[NodePlan]) -> Chosen {
    let first = |class: &Vec<(usize, &NodePlan)>| class.first().map(|(_, node)| node.name.clone());
    match update.knows_kept_documents() {
        true => Chosen::By {
            causes: causes(plan),
            machines: Some(plan.classes(nodes).iter().filter_map(first).collect()),
        },
        false => Chosen::All,
    }
}

/// The parts of this spec by which a fresh tree can fail a check.
fn causes(plan: &Plan) -> BTreeSet<Cause> {
    let any = |has: fn(&NodePlan) -> bool| plan.nodes.iter().any(has);
    let brings_manifests = !plan.manifests.is_empty()
        || plan
            .addons
            .iter()
            .any(|addon| addon.choice.declaration.manifests.is_some());
    let found = [
        (!plan.patches.is_empty(), Cause::Patches),
        (any(brings_files), Cause::Files),
        (any(brings_commands), Cause::Commands),
        (brings_manifests, Cause::Manifests),
    ];
    let found = found.into_iter().filter_map(|(has, cause)| has.then_some(cause));
    found.chain(Cause::ALWAYS).collect()
}

fn brings_files(node: &NodePlan) -> bool {
    let host = &node.host;
    !host.files.is_empty() || !host.disks.is_empty() || !host.mounts.is_empty()
}

fn brings_commands(node: &NodePlan) -> bool {
    let host = &node.host;
    let lists = [&host.first, &host.before, &host.after, &host.packages];
    lists.into_iter().any(|list| !list.is_empty())
}

/// Keeps what the last render wrote for others. The manifest has one version of firelay and of Kubernetes for all files, so a
/// render of some cannot change either.
fn keep_others(args: &Render, tree: &TreeWriter, manifest: &Manifest, nodes: &[NodePlan]) -> Result<(), Failure> {
    let Some(last) = tree.last() else { return Ok(()) };
    let differs = [
        ("firelay", &last.firelay_version, &manifest.firelay_version),
        ("Kubernetes", &last.kubernetes_version, &manifest.kubernetes_version),
    ];
    if let Some((what, was, is)) = differs.into_iter().find(|(_, was, is)| was != is) {
        return Err(Failure::Usage(format!(
            "{} was rendered for {what} {was}, this is {is}: the documents beside would be of another version\n  \
             = help: render all nodes, or name another directory with --out",
            args.out.display()
        )));
    }
    let other = |file: &ManifestFile| {
        !variables::is_one(&file.path)
            && !is_update(&file.path)
            && file.path != record::COPY
            && !nodes.iter().any(|node| file.node.as_ref() == Some(&node.name))
    };
    Ok(tree.keep(other)?)
}

fn write_node(
    assembly: &Assembly<'_>,
    tree: &TreeWriter,
    (catalogue, alike): (&Catalogue, Option<&AlikeDocument>),
    project: &Project,
    node: &NodePlan,
) -> Result<WrittenNode, Failure> {
    let documents = Documents::of(assembly, node)?;
    let files = documents.files();
    let beside = (documents.artifact.shared_end, alike);
    let searched = audit::searched(catalogue, &files, || documents.made(), beside);
    for (described, bytes) in files {
        tree.put(described, bytes)?;
    }
    let machine = MachineVariables::new(project, &documents);
    let written = Written::new(node, documents.artifact, documents.ends);
    Ok((written, (machine, searched)))
}
