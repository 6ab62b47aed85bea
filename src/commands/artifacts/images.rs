//! Every image that a cluster's machines pull, and `artifacts images`, which lists them and prints commands to copy
//! them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::Ordering,
};

use firelay_yaml::{Content, Node, Tree};
use rayon::prelude::*;
use serde::Serialize;

use crate::{
    cli::ArtifactsImages,
    commands::{
        failure::Failure,
        preview::{FAKE_SECRETS, Preview},
        progress,
        project::Project,
        streams,
    },
    declaration::PhaseName,
    mirror::Reference,
    node::NodeFiles,
    plan::{self, ManifestSource, NodePlan, Plan},
    spec::Arch,
};

/// Lists of containers in a pod's specification (core/v1, PodSpec).
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// `--output json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageReport {
    /// The machines' architectures: the image has to exist for each.
    architectures: BTreeSet<Arch>,
    images: Vec<Image>,
    /// URLs of manifests that the founder fetches: their images are unknown here.
    fetched: Vec<String>,
}

/// An image of the cluster.
#[derive(Serialize)]
pub(super) struct Image {
    /// The name with which it is pulled.
    pub(super) image: String,
    /// Upstream's name; absent for what firelay only passes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) upstream: Option<String>,
    /// Files that name it, `kubeadm`, and `containerd` or `crio`.
    by: BTreeSet<String>,
}

impl Image {
    /// Where it is copied from.
    pub(super) fn source(&self) -> &str {
        self.upstream.as_deref().unwrap_or(&self.image)
    }
}

/// Runs `artifacts images`.
pub fn images(args: &ArtifactsImages) -> Result<(), Failure> {
    let registry = args.copy_to.as_deref().map(|registry| registry.trim_end_matches('/'));
    registry.map_or(Ok(()), refuse_url)?;
    let project = Project::load(&args.spec)?;
    let plan = &project.plan;
    let report = ImageReport {
        architectures: architectures(plan),
        images: collect(&project)?,
        fetched: fetched(plan),
    };
    tell_unknown(&report.fetched);
    if let Some(registry) = registry {
        tell_unused(plan, &report.images, registry);
        return streams::data(&copies(&report.images, registry)?);
    }
    streams::report(args.output, &report, || {
        let lines = report.images.iter().map(|image| format!("{}\n", image.image));
        lines.collect()
    })
}

/// Names of images have no scheme, and skopeo would read it as a part of the name.
fn refuse_url(registry: &str) -> Result<(), Failure> {
    match registry.split_once("://") {
        Some((scheme, host)) => Err(Failure::Usage(format!(
            "--copy-to takes a registry without {scheme}://, as images are named: --copy-to {host}"
        ))),
        None => Ok(()),
    }
}

/// Warns about a target registry from which no machine pulls.
fn tell_unused(plan: &Plan, images: &[Image], registry: &str) {
    let host = |place: &str| place.split('/').next().unwrap_or_default().to_owned();
    let of_url = |url: &str| host(url.split_once("://").map_or(url, |(_, rest)| rest));
    let servers = plan.runtime.registries.iter().flat_map(|own| {
        let mirrors = own.mirrors.iter().map(|mirror| &mirror.url);
        mirrors.chain(&own.server)
    });
    let named = servers.map(|url| of_url(url));
    let pulled = images
        .iter()
        .map(|image| Reference::of(&image.image).registry.to_owned());
    if !named.chain(pulled).any(|from| from == host(registry)) {
        streams::tell(format_args!(
            "note: no machine pulls from {registry}: name it in `runtime.registries`, or lead images there with \
             `artifacts.imageRewrites`"
        ));
    }
}

/// `skopeo copy` of each image, with all its architectures, to the place from which it is pulled: its own name if
/// `imageRewrites` points there, else its repository below the registry, as containerd requests it from a mirror.
fn copies(images: &[Image], registry: &str) -> Result<String, Failure> {
    let mut targets: BTreeMap<String, &str> = BTreeMap::new();
    let mut text = String::new();
    for image in images {
        let (source, pulled) = (image.source(), Reference::of(&image.image));
        let tag = pulled.tag.map(|tag| format!(":{tag}")).unwrap_or_default();
        let rewritten = image.upstream.as_ref().is_some_and(|upstream| *upstream != image.image);
        let own = rewritten && pulled.registry != Reference::of(source).registry;
        let registry = if own { pulled.registry } else { registry };
        let target = format!("{registry}/{}{tag}", pulled.path());
        if let Some(other) = targets.insert(target.clone(), source) {
            return Err(Failure::Usage(format!(
                "{other} and {source} would both be {target}: lead them apart with artifacts.imageRewrites"
            )));
        }
        // A digest identifies the bytes; a tag may have moved on.
        let from = match (source.contains('@'), pulled.digest) {
            (false, Some(digest)) => format!("{}@{digest}", source.rsplit_once(':').map_or(source, |(name, _)| name)),
            _ => source.to_owned(),
        };
        text += &format!("skopeo copy --all --preserve-digests docker://{from} docker://{target}\n");
    }
    Ok(text)
}

/// The architectures of machines that run containers.
pub(super) fn architectures(plan: &Plan) -> BTreeSet<Arch> {
    let kubernetes = plan.nodes.iter().filter(|node| node.roles.kubernetes());
    kubernetes.map(|node| node.arch).collect()
}

/// Reports manifests with unknown images.
pub(super) fn tell_unknown(fetched: &[String]) {
    for url in fetched {
        streams::tell(format_args!(
            "note: the images of {url} are not known before it is fetched"
        ));
    }
}

/// URLs of manifests that the founder fetches, without the definitions of add-ons, which name no image.
pub(super) fn fetched(plan: &Plan) -> Vec<String> {
    let urls = plan.manifests.iter().filter_map(|manifest| match &manifest.source {
        ManifestSource::Url { upstream: Some(_), .. } if manifest.phase == PhaseName::Crds => None,
        ManifestSource::Url { url, .. } => Some(url.clone()),
        ManifestSource::Content(_) => None,
    });
    urls.collect()
}

/// The images that kubeadm, the container runtime and the files of all machines name, in the order of their names.
pub(super) fn collect(project: &Project) -> Result<Vec<Image>, Failure> {
    let plan = &project.plan;
    let preview = Preview::new(plan, &project.profiles, FAKE_SECRETS[0])?;
    let mut upstream: BTreeMap<String, String> = plan::of_kubeadm(plan).into_iter().collect();
    let mut by: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for image in upstream.keys() {
        by.entry(image.clone()).or_default().insert("kubeadm".to_owned());
    }
    let sandbox = plan.runtime.sandbox_image.clone();
    by.entry(sandbox).or_default().insert(plan.runtime.service.name.clone());
    upstream.extend(
        plan.images
            .named()
            .map(|(pulled, upstream)| (pulled.to_owned(), upstream.to_owned())),
    );
    let nodes = plan
        .nodes
        .iter()
        .filter(|node| node.roles.kubernetes())
        .collect::<Vec<_>>();
    let named = progress::counted(nodes.len(), |finished| {
        let of_node = |node: &&NodePlan| {
            let named = of_files(plan, &preview.patched(node)?.files);
            finished.fetch_add(1, Ordering::Relaxed);
            Ok(named)
        };
        nodes.par_iter().map(of_node).collect::<Result<Vec<_>, Failure>>()
    })?;
    for (image, path) in named.into_iter().flatten() {
        by.entry(image).or_default().insert(path);
    }
    let image = |(image, by): (String, BTreeSet<String>)| Image {
        upstream: upstream.get(&image).cloned(),
        image,
        by,
    };
    Ok(by.into_iter().map(image).collect())
}

/// Images with the paths of the files that name them: firelay's own in all files, and those of containers in any
/// manifest.
fn of_files(plan: &Plan, files: &NodeFiles) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for file in files.files.iter().filter(|file| file.path.ends_with(".yaml")) {
        let named = plan.images.named().map(|(image, _)| image.to_owned());
        let mut images: Vec<_> = named.filter(|image| names(&file.content, image)).collect();
        for range in firelay_yaml::split(&file.content) {
            if let Ok(tree) = Tree::parse(&file.content[range]) {
                of_containers(&tree.root, &mut images);
            }
        }
        found.extend(images.into_iter().map(|image| (image, file.path.clone())));
    }
    found
}

/// Whether a text has the image as a whole, not as the beginning of a longer name.
fn names(text: &str, image: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c));
    text.match_indices(image)
        .any(|(at, _)| !goes_on(&text[at + image.len()..]))
}

fn of_containers(node: &Node<'_>, images: &mut Vec<String>) {
    match &node.content {
        Content::Mapping(entries) => {
            for (key, value) in entries {
                match &value.content {
                    Content::Sequence(items) if key.text().is_some_and(|key| CONTAINERS.contains(&key)) => {
                        let named = items
                            .iter()
                            .filter_map(|item| item.get("image")?.text().map(str::to_owned));
                        images.extend(named);
                    }
                    _ => of_containers(value, images),
                }
            }
        }
        Content::Sequence(items) => items.iter().for_each(|item| of_containers(item, images)),
        Content::Scalar(_) => {}
    }
}
