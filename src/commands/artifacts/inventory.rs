//! Every file that a cluster's machines fetch, each once.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    mirror::{Wanted, algorithm},
    plan::{self, ManifestSource, Plan},
    spec::Arch,
};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Binary,
    Manifest,
    ImageArchive,
}

/// A file of the cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File {
    pub(super) kind: Kind,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    /// The architectures of the machines that fetch it.
    pub(super) architectures: BTreeSet<Arch>,
    #[serde(flatten)]
    pub(super) digest: Digest,
    /// The size in bytes, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    /// Where machines fetch it.
    pub(super) url: String,
    /// Where upstream publishes it; absent for a location of the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) upstream: Option<String>,
    /// The path in a mirror; absent for files that machines fetch elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    /// The path below the mirror's URL that machines request.
    #[serde(skip)]
    pub(super) asked: Option<String>,
    /// Names of machines and pools that fetch it.
    pub(super) nodes: BTreeSet<String>,
}

/// A digest in hex. Its key in JSON is the name of its algorithm.
#[derive(Clone, Debug)]
pub struct Digest(pub String);

impl Digest {
    /// `sha256` or `sha512`.
    pub(super) fn algorithm(&self) -> &'static str {
        algorithm(&self.0)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.algorithm(), &self.0)?;
        map.end()
    }
}

impl File {
    /// The mirror entry, with its source URL; `None` for files elsewhere.
    pub(super) fn wanted(&self, url: String) -> Option<Wanted> {
        Some(Wanted {
            path: self.path.clone()?,
            url,
            digest: self.digest.0.clone(),
        })
    }
}

/// Files by their URL and digest.
#[derive(Default)]
struct Files(BTreeMap<(String, String), File>);

impl Files {
    fn add(&mut self, file: File) {
        let key = (file.url.clone(), file.digest.0.clone());
        let known = self.0.entry(key).or_insert_with(|| file.clone());
        known.architectures.extend(file.architectures);
        known.nodes.extend(file.nodes);
    }
}

/// All files, in the order of kind, name, version and architecture.
pub(super) fn of(plan: &Plan) -> Vec<File> {
    let mut files = Files::default();
    for node in &plan.nodes {
        let file = |kind, name: &str, url: &str, digest: &str, upstream: Option<&String>| {
            let asked = plan::below_mirror(plan.mirror.as_deref(), url, upstream.map(String::as_str));
            File {
                kind,
                name: name.to_owned(),
                version: None,
                architectures: [node.arch].into(),
                digest: Digest(digest.to_owned()),
                size: None,
                url: url.to_owned(),
                upstream: upstream.cloned(),
                path: asked.map(plan::file_of),
                asked: asked.map(str::to_owned),
                nodes: [node.name.clone()].into(),
            }
        };
        for artifact in &*node.artifacts {
            let upstream = artifact.upstream.as_ref();
            files.add(File {
                version: Some(artifact.version.to_string()),
                ..file(Kind::Binary, &artifact.name, &artifact.url, &artifact.digest, upstream)
            });
        }
        for archive in &node.image_archives {
            let name = archive.url.rsplit('/').next().unwrap_or_default();
            files.add(file(Kind::ImageArchive, name, &archive.url, &archive.sha256, None));
        }
        for manifest in plan.manifests.iter().filter(|_| node.founder) {
            if let ManifestSource::Url { url, upstream, sha256 } = &manifest.source {
                files.add(file(Kind::Manifest, &manifest.name, url, sha256, upstream.as_ref()));
            }
        }
    }
    let mut files: Vec<_> = files.0.into_values().collect();
    files.sort_by_cached_key(|file| {
        let version = file.version.clone();
        (
            file.kind,
            file.name.clone(),
            version,
            file.architectures.clone(),
            file.url.clone(),
        )
    });
    files
}
