//! `render`: check, resolve, issue, assemble, verify, write.

mod report;

use std::{borrow::Cow, collections::BTreeSet, path::Path};

use time::OffsetDateTime;

use self::report::{Written, report};
use super::{
    assembly::{Assembly, for_each_node},
    audit,
    bundle::{bundle_path, is_missing, save_bundle},
    failure::Failure,
    project::Project,
    seed, streams,
    variables::{self, Machines},
    verify,
};
use crate::{
    audit::{Catalogue, MachineFiles},
    cli::{OutputFormat, Render, TemplateEngine},
    delivery::{ArtifactFile, Engine, Manifest, ManifestFile, escape, pxe, tree::TreeWriter},
    plan::NodePlan,
    secrets::Bundle,
    spec::Beside,
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
        return print(args, &assembly, &catalogue, &chosen, save);
    }
    let tree = TreeWriter::begin(&args.out).map_err(|error| Failure::io(&error))?;
    same_cluster(&args.out, tree.last(), &project.plan.name, &bundle)?;
    let founded = founded(args, &tree);
    let assembly = Assembly::new(&project, &bundle, founded)?;
    let manifest = Manifest {
        founded,
        ports: project.plan.ports().map(Into::into).collect(),
        ..Manifest::new(
            &project.plan.name,
            &project.plan.kubernetes.version.to_string(),
            &bundle.fingerprint(),
        )
    };
    let asked = &project.plan.beside;
    let written = for_each_node(&chosen, |node| write_node(&assembly, &tree, &catalogue, asked, node))?;
    let (nodes, (machines, searched)): (Vec<_>, (Machines, Vec<_>)) = written.into_iter().unzip();
    audit::refuse(&catalogue, searched.into_iter().flatten().collect())?;
    variables::put(&tree, &project, &bundle, machines, !args.node.is_empty())?;
    if args.node.is_empty() {
        put_shared(&tree, &assembly, &project)?;
    } else {
        keep_others(args, &tree, &manifest, &chosen)?;
    }
    let manifest = tree.complete(manifest);
    verify::staged(&args.out, &tree, &manifest, bundle.issued_at)?;
    if new {
        tree.check().map_err(|error| Failure::io(&error))?;
    }
    save()?;
    let written = tree.finish(manifest).map_err(|error| Failure::io(&error))?;
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

/// What belongs to no single node.
fn put_shared(tree: &TreeWriter, assembly: &Assembly<'_>, project: &Project) -> Result<(), Failure> {
    let kubeconfig = assembly.admin_kubeconfig()?;
    put(
        tree,
        ManifestFile::new("admin.kubeconfig"),
        kubeconfig.expose().as_bytes(),
    )?;
    if let Some(first) = assembly.first_script()? {
        put(tree, ManifestFile::new(pxe::FIRST), first.as_bytes())?;
    }
    let names = node_names(&project.plan.nodes);
    put(tree, ManifestFile::new("node-names"), names.as_bytes())
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
    if last.bundle_fingerprint != bundle.fingerprint() {
        return Err(Failure::Secrets(format!(
            "{out} was rendered with the secrets {}, these are {}: other secrets are another cluster\n  \
             = help: bring the first bundle back, or name another directory with --out",
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
    asked: &BTreeSet<Beside>,
    node: &NodePlan,
) -> Result<(Written, (variables::Machine, Option<MachineFiles>)), Failure> {
    let pki = assembly.pki(node)?;
    let files = assembly.files(node, &pki)?;
    let artifact = assembly.artifact(node, &files)?;
    // A pool's document has no certificate, and its token counts from the day of founding.
    let expires = (!node.pool).then_some(pki.expires);
    let boot = assembly.pxe_files(node, &artifact)?;
    let of_boot = |file: &'_ ArtifactFile| ManifestFile {
        node: Some(node.name.clone()),
        ..ManifestFile::new(file.name.clone())
    };
    let boot = boot.iter().map(|file| (of_boot(file), file.content.as_slice()));
    let files: Vec<_> = artifact.tree_files(node, expires).chain(boot).collect();
    let searched = audit::searched(catalogue, &files);
    for (described, bytes) in files {
        put(tree, described, bytes)?;
    }
    let machine = variables::Machine::new(asked, node, &artifact, expires);
    let written = Written::new(node, artifact, pki.expires);
    Ok((written, (machine, searched)))
}

/// One line for each node of the spec that registers under its own name: what `firelay-status --cluster --expect` reads.
fn node_names(nodes: &[NodePlan]) -> String {
    let named = nodes.iter().filter(|node| node.roles.kubernetes() && !node.pool);
    named.map(|node| node.name.clone() + "\n").collect()
}

fn put(tree: &TreeWriter, described: ManifestFile, bytes: &[u8]) -> Result<(), Failure> {
    tree.put(described, bytes).map_err(|error| Failure::io(&error))
}
