//! `render`: check, resolve, issue, assemble, verify, write.

mod report;

use std::{
    borrow::Cow,
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use time::OffsetDateTime;

use self::report::{Written, report};
use super::{
    assembly::{Assembly, for_each_node},
    audit,
    bundle::{bundle_path, is_missing, refuse_lost, save_bundle},
    documents::{self, Documents},
    failure::Failure,
    git, measure,
    project::Project,
    seed, streams,
    variables::{self, Machines},
    verify,
};
use crate::{
    audit::{Catalogue, MachineFiles},
    cli::{OutputFormat, Render, TemplateEngine},
    delivery::{Engine, Manifest, ManifestFile, escape, tree::TreeWriter},
    plan::{NodePlan, Plan},
    secrets::Bundle,
    verify::{Cause, Chosen},
};

/// Runs the verb.
pub fn run(args: &Render) -> Result<(), Failure> {
    let project = Project::load(&args.inputs.spec)?;
    let chosen = chosen(&project, &args.node)?;
    if args.engine.is_some() && args.out != Path::new("-") {
        return Err(Failure::Usage(
            "--for escapes what goes to stdout: write --out - as well".to_owned(),
        ));
    }
    let path = bundle_path(&args.inputs);
    refuse_lost(&path, &args.out, &project.plan.name)?;
    let new = args.new_secrets && path != Path::new("-") && is_missing(&path);
    let bundle = if new {
        project.new_bundle()?
    } else {
        project.bundle(&args.inputs, "render")?
    };
    still_valid(&project, &bundle, OffsetDateTime::now_utc())?;
    let save = || if new { save_bundle(&path, &bundle) } else { Ok(()) };
    let catalogue = audit::catalogue(&project.plan, &bundle);
    if args.out == Path::new("-") {
        let assembly = Assembly::new(&project, &bundle, args.founded)?;
        let printed = print(args, &assembly, &catalogue, &chosen, save);
        return printed.map_err(|failure| measure::explained(project.subject(), &bundle, failure));
    }
    let tree = TreeWriter::begin(&args.out).map_err(|error| Failure::io(&error))?;
    same_cluster(&args.out, tree.last(), &project.plan.name, &bundle)?;
    let founded = founded(args, &tree);
    let assembly = Assembly::new(&project, &bundle, founded)?;
    let manifest = documents::manifest(&project, &bundle, founded);
    let written = for_each_node(&chosen, |node| write_node(&assembly, &tree, &catalogue, &project, node));
    let written = written.map_err(|failure| measure::explained(project.subject(), &bundle, failure))?;
    let (nodes, (machines, searched)): (Vec<_>, (Machines, Vec<_>)) = written.into_iter().unzip();
    audit::refuse(&catalogue, searched.into_iter().flatten().collect())?;
    variables::put(&tree, &project, &bundle, machines, !args.node.is_empty())?;
    if args.node.is_empty() {
        put_shared(&tree, &assembly, &project)?;
    } else {
        keep_others(args, &tree, &manifest, &chosen)?;
    }
    let manifest = tree.complete(manifest);
    let checks = chosen_checks(args, &project.plan);
    verify::staged(&args.out, &tree, &manifest, bundle.issued_at, &checks)?;
    if new {
        tree.check().map_err(|error| Failure::io(&error))?;
    }
    save()?;
    git::warn_of_bundle(&path);
    let written = tree.finish(manifest).map_err(|error| Failure::io(&error))?;
    warn_of_left(&written.left);
    seed::warn_of_stale(&args.out)?;
    report(args, &project, &bundle, &nodes, &written)
}

/// The nodes and pools of these names, in the order of the spec, or all.
fn chosen<'a>(project: &'a Project, names: &[String]) -> Result<Cow<'a, [NodePlan]>, Failure> {
    let nodes = &project.plan.nodes;
    if names.is_empty() {
        return Ok(Cow::Borrowed(nodes));
    }
    for name in names {
        project.node(name)?;
    }
    let asked = nodes.iter().filter(|node| names.contains(&node.name));
    Ok(Cow::Owned(asked.cloned().collect()))
}

/// Writes what the platform takes of one node to stdout, and nothing else anywhere.
fn print(
    args: &Render,
    assembly: &Assembly<'_>,
    catalogue: &Catalogue,
    nodes: &[NodePlan],
    save: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
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
    let file = artifact.files.iter().find(|file| file.name == artifact.handover.file);
    let content = file.map_or(&[][..], |file| &file.content);
    let files: Vec<_> = artifact.tree_files(node, None).collect();
    let searched = audit::searched(catalogue, &files);
    audit::refuse(catalogue, searched.into_iter().collect())?;
    let escaped = args.engine.map(|engine| escaped(content, engine)).transpose()?;
    save()?;
    streams::bytes(escaped.as_deref().map_or(content, str::as_bytes))
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

/// Leftovers with files that are not firelay's are not removed: their owner has to do it.
fn warn_of_left(left: &[PathBuf]) {
    for path in left {
        streams::tell(format_args!(
            "warning: {} is left of an earlier tree and holds secrets; it was not removed, because not everything in it is firelay's\n  \
             = help: take out what is yours and remove it",
            path.display()
        ));
    }
}

/// Files that belong to no single node.
fn put_shared(tree: &TreeWriter, assembly: &Assembly<'_>, project: &Project) -> Result<(), Failure> {
    let files = documents::shared(assembly, project)?;
    files.into_iter().try_for_each(|(file, bytes)| put(tree, file, &bytes))
}

/// Checks that this tree can fail. A render of some nodes keeps documents that somebody may have changed since.
fn chosen_checks(args: &Render, plan: &Plan) -> Chosen {
    match args.node.is_empty() {
        true => Chosen::By(causes(plan)),
        false => Chosen::All,
    }
}

/// What of this spec can make a tree fail a check that firelay has just rendered.
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
        !variables::is_one(&file.path) && !nodes.iter().any(|node| file.node.as_ref() == Some(&node.name))
    };
    tree.keep(other).map_err(|error| Failure::io(&error))
}

/// Whether the cluster stands. It does not fall because someone forgets to say so once more: a founder that is replaced then
/// would have another `kubeadm init`.
fn founded(args: &Render, tree: &TreeWriter) -> bool {
    if args.founded || args.refound {
        return args.founded;
    }
    let before = tree.last().is_some_and(|last| last.founded);
    if before {
        streams::tell(format_args!(
            "{} is of a cluster that stands: no document has kubeadm init (--refound writes it again)",
            args.out.display()
        ));
    }
    before
}

/// A node waits for a clock inside its certificates' validity: with ones that have ended it would wait for ever.
fn still_valid(project: &Project, bundle: &Bundle, now: OffsetDateTime) -> Result<(), Failure> {
    let end = bundle.issued_at + project.plan.pki.leaf_validity;
    if now < end {
        return Ok(());
    }
    Err(Failure::Secrets(format!(
        "the certificates of this bundle ended on {}, pki.leafValidity after it was made\n  \
         = help: a longer pki.leafValidity makes new ones of the same keys; every node then gets a new document",
        end.date()
    )))
}

/// A tree of another cluster, or of the same name with other secrets, is not replaced: its machines would be, too.
fn same_cluster(out: &Path, last: Option<&Manifest>, cluster: &str, bundle: &Bundle) -> Result<(), Failure> {
    let Some(last) = last else { return Ok(()) };
    let out = out.display();
    if last.cluster != cluster {
        return Err(Failure::Secrets(format!(
            "{out} holds the documents of cluster {}, the spec describes cluster {cluster}: name another directory with --out",
            last.cluster
        )));
    }
    if !bundle.has_fingerprint(&last.bundle_fingerprint) {
        return Err(Failure::Secrets(format!(
            "{out} was rendered with the secrets {}, these are {}: another bundle is another cluster, and in one of the same \
             cluster a token, a key, epoch or issuedAt was changed\n  \
             = help: bring the bundle back as it was; if all machines are to be replaced, name another directory with --out",
            last.bundle_fingerprint,
            bundle.fingerprint()
        )));
    }
    Ok(())
}

fn write_node(
    assembly: &Assembly<'_>,
    tree: &TreeWriter,
    catalogue: &Catalogue,
    project: &Project,
    node: &NodePlan,
) -> Result<(Written, (variables::Machine, Option<MachineFiles>)), Failure> {
    let documents = Documents::of(assembly, node)?;
    let files = documents.files();
    let searched = audit::searched(catalogue, &files);
    for (described, bytes) in files {
        put(tree, described, bytes)?;
    }
    let machine = documents.variables(project);
    let written = Written::new(node, documents.artifact, documents.ends);
    Ok((written, (machine, searched)))
}

fn put(tree: &TreeWriter, described: ManifestFile, bytes: &[u8]) -> Result<(), Failure> {
    tree.put(described, bytes).map_err(|error| Failure::io(&error))
}
