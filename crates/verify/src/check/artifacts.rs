//! The list of the step artifacts, compared with the catalogue: digests, versions and the machine's architecture.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use include_dir::{Dir, include_dir};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::Known;
use crate::{
    Finding, Machine, Tree,
    cluster::{runtime, sandbox},
    embedded,
};

/// The chain's list: name, digest, format, URL, directory, members.
const LIST: &str = "/etc/firelay/artifacts";

/// How a line begins whose file is a manifest for the founder.
const MANIFEST: &str = "manifest-";

/// Programs that have the cluster's version.
const OF_KUBERNETES: [&str; 3] = ["kubeadm", "kubectl", "kubelet"];

static RELEASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../profiles/kubernetes");

/// `profiles/catalog.yaml`, parsed independently: only the compared fields.
#[derive(Debug, Deserialize)]
struct Catalogue {
    artifacts: BTreeMap<String, Artifact>,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    /// With placeholders.
    url: String,
    /// Digests by version and architecture.
    releases: BTreeMap<String, BTreeMap<String, String>>,
}

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| some("catalog.yaml", include_str!("../../../../profiles/catalog.yaml")));

/// The tag of the sandbox image, by minor. Only one line of a profile is read: the rest describes firelay's own output.
static SANDBOXES: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let tag = |text: &'static str| text.lines().find_map(|line| line.strip_prefix("pause:"));
    let files = RELEASES.files().filter_map(|file| {
        let minor = file.path().file_stem()?.to_str()?;
        Some((minor, tag(file.contents_utf8()?)?.trim().trim_matches('"')))
    });
    files.collect()
});

/// Some of the keys of a file that is built in.
fn some<T: DeserializeOwned>(name: &str, text: &str) -> T {
    let value: Value = embedded(name, text);
    serde_json::from_value(value).expect("facts that are built in, and that every test reads")
}

/// A machine of the tree fetches manifests, so their objects are unknown here.
pub(super) fn fetches_manifests(tree: &Tree) -> bool {
    let lists = tree.machines.iter().filter_map(|machine| machine.text(LIST));
    lists.flat_map(str::lines).any(|line| line.starts_with(MANIFEST))
}

/// A line of the list.
struct Line<'a> {
    name: &'a str,
    digest: &'a str,
    url: &'a str,
    directory: &'a str,
}

fn lines(machine: &Machine) -> impl Iterator<Item = Line<'_>> {
    let lines = machine.text(LIST).unwrap_or_default().lines();
    lines.filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, digest, _, url, directory, ..] = words[..] else {
            return None;
        };
        Some(Line {
            name,
            digest,
            url,
            directory,
        })
    })
}

/// The directory into which a machine fetches an artifact.
pub(super) fn directory<'a>(machine: &'a Machine, name: &str) -> Option<&'a str> {
    lines(machine).find(|line| line.name == name).map(|line| line.directory)
}

/// All downloads of a machine, and its sandbox image.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let version = known.cluster.version.as_str();
    let mut findings = Vec::new();
    let mut architectures = BTreeSet::new();
    for line in lines(machine) {
        let wrong = |message: String| {
            let help = "render the document again; a digest of your own belongs into artifacts.overrides";
            machine.warning("FL1062", LIST, message).help(help)
        };
        if !is_digest(line.digest) {
            let message = format!("{} has no digest to check what is fetched by", line.name);
            findings.push(machine.error("FL1062", LIST, message));
        }
        let Some((release, architecture, digest)) = line.published() else {
            continue;
        };
        architectures.insert(architecture);
        if !digest.eq_ignore_ascii_case(line.digest) {
            findings.push(wrong(format!(
                "the digest of {} {release} for {architecture} is not the catalogue's",
                line.name
            )));
        }
        if OF_KUBERNETES.contains(&line.name) && release != version {
            findings.push(wrong(format!(
                "{} {release} is fetched, the cluster has {version}",
                line.name
            )));
        }
    }
    if architectures.len() > 1 {
        let message = format!(
            "programs for {} on one machine",
            architectures.into_iter().collect::<Vec<_>>().join(" and ")
        );
        findings.push(machine.error("FL1062", LIST, message));
    }
    findings.extend(of_sandbox(machine, known));
    findings
}

fn is_digest(text: &str) -> bool {
    matches!(text.len(), 64 | 128) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Line<'_> {
    /// Version, architecture and digest of the release that upstream has at this URL, or a mirror under the same path.
    fn published(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let artifact = CATALOGUE.artifacts.get(self.name)?;
        let place = artifact
            .url
            .split_once("://")
            .map_or(artifact.url.as_str(), |(_, place)| place);
        let mut releases = artifact.releases.iter().flat_map(|(version, digests)| {
            digests
                .iter()
                .map(move |(architecture, digest)| (version.as_str(), architecture.as_str(), digest.as_str()))
        });
        releases.find(|(version, architecture, _)| {
            let machine = if *architecture == "arm64" { "aarch64" } else { "x86_64" };
            let place = place
                .replace("{version}", version)
                .replace("{short}", version.strip_suffix(".0").unwrap_or(version))
                .replace("{arch}", architecture)
                .replace("{machine}", machine);
            self.url.ends_with(&place)
        })
    }
}

/// All machines have the same sandbox image, of the tag that their Kubernetes names.
fn of_sandbox(machine: &Machine, known: &Known<'_>) -> Option<Finding> {
    let (own, usual) = (sandbox(machine)?, known.cluster.sandbox.as_ref()?);
    let config = runtime(machine).config;
    let document = machine.document_of(config);
    if own != *usual {
        let message = format!("the sandbox image is {own}, on the other machines it is {usual}");
        return Some(Finding::error("FL1062", document, message).at(config));
    }
    let (minor, _) = known.cluster.version.rsplit_once('.')?;
    let tag = SANDBOXES.get(minor)?;
    let (_, told) = own.rsplit_once("/pause:")?;
    (told.split('@').next() != Some(*tag)).then(|| {
        let message = format!("the sandbox image is {own}, Kubernetes {minor} names pause:{tag}");
        Finding::warning("FL1062", document, message).at(config)
    })
}
