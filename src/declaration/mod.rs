//! Network plugins and add-ons as data: `templates/{cni,addons}/NAME/addon.yaml`.
//!
//! A declaration defines the parameters in the spec, the images and manifests of each release, constraints, and
//! requirements on machines. No other file knows a plugin or add-on by name.

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod checks;
mod choice;
mod implies;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock, OnceLock},
};

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use checks::REFUSED;
pub use choice::{Choice, addons, cni, kms, with_needed};
pub use implies::{Binary, Handler, HostFile, On, Place, Port, Requirement, Roles, Unit};

use crate::template;

/// The parameter that every declaration has.
pub const VERSION: &str = "version";

/// The kind of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A network plugin, of which a cluster has one.
    Cni,
    /// An add-on.
    Addon,
    /// A plugin of a key service, of which a cluster may have several.
    Kms,
}

impl Kind {
    /// The folder below `templates/`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Cni => "cni",
            Self::Addon => "addons",
            Self::Kms => "kms",
        }
    }
}

/// A group of manifests that is applied together, when the API server has accepted the group before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PhaseName {
    /// Definitions of kinds, which the API server must have taken up before the next phase.
    Crds,
    /// The network plugin.
    Cni,
    /// Services that others rely on: DNS, cloud controller managers.
    Core,
    /// Add-ons.
    Addons,
    /// Objects of kinds that the phases before define.
    Resources,
    /// Independent objects.
    Manifests,
}

impl PhaseName {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [
        Self::Crds,
        Self::Cni,
        Self::Core,
        Self::Addons,
        Self::Resources,
        Self::Manifests,
    ];

    /// The directory that holds its files; directories are applied in the order of their names.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Crds => "10-crds",
            Self::Cni => "20-cni",
            Self::Core => "30-core",
            Self::Addons => "40-addons",
            Self::Resources => "50-resources",
            Self::Manifests => "60-manifests",
        }
    }
}

/// A folder under `templates/`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Declaration {
    /// The folder, `kube-router`.
    #[serde(skip)]
    pub name: String,
    /// The key of the spec, `kubeRouter`.
    #[serde(skip)]
    pub key: String,
    /// Plugin or add-on, by its folder.
    #[serde(skip, default = "Declaration::cni")]
    pub kind: Kind,
    /// One line.
    pub summary: String,
    /// Taken where the spec says nothing.
    #[serde(default)]
    pub default: bool,
    /// A JSON Schema for each parameter.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// Parameters without which it cannot be.
    #[serde(default)]
    pub required: Vec<String>,
    /// Parameters that name the key of a key service: objects of another key are not readable with it.
    #[serde(default)]
    pub key_parameters: Vec<String>,
    /// Releases; none for what has no version of its own.
    #[serde(default)]
    pub releases: BTreeMap<Version, Release>,
    #[serde(default)]
    pub files: Vec<ManifestFile>,
    /// The parameter that lists manifests of the user, as `manifests` does.
    pub manifests: Option<String>,
    /// API groups whose kinds it defines, by its manifests or when its programs start.
    #[serde(default)]
    pub defines: Vec<String>,
    /// Checks of parameters and cluster.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Requirements for machines and Kubernetes.
    #[serde(default)]
    pub implies: Vec<Requirement>,
    /// Bytes of each packet between nodes; the first entry whose condition holds.
    #[serde(default)]
    pub overhead: Vec<Overhead>,
    #[serde(default)]
    pub certificates: Vec<Authority>,
    /// Parameters on which the packets of all nodes have to agree.
    #[serde(default)]
    pub datapath: Vec<Datapath>,
    /// How it brings updates to machines that run.
    pub updates: Option<Updates>,
    /// Parameters of every mode.
    #[serde(default)]
    pub examples: Vec<Map<String, Value>>,
}

/// Parameters whose change separates the pods of nodes that have it from those of others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datapath {
    /// Their names, with dots between keys. None of them holds a secret: the record has their values.
    pub parameters: Vec<String>,
    /// How a cluster that runs takes the change.
    pub way: String,
    /// The values of parameters that are left out, where the schema has no default; texts are filled in.
    #[serde(default)]
    pub unset: BTreeMap<String, Value>,
}

/// How an add-on brings the scripts of an update to their machines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Updates {
    /// The template of the objects of one script, in the folder.
    pub file: String,
    /// A label of pods that a machine's drain leaves: those that run the script.
    pub undrained: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {
    /// The versions of Kubernetes that it goes with.
    pub kubernetes: VersionReq,
    /// Upstream's references by role, with `{version}` in them.
    #[serde(default)]
    pub images: BTreeMap<String, String>,
    /// Templates that take the place of others, by their names.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Manifests that are too large for a document: the founder fetches them.
    #[serde(default)]
    pub fetched: Vec<Fetched>,
}

/// A manifest that the founder fetches and checks.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fetched {
    /// File name without ending.
    pub name: String,
    /// When it is applied.
    pub phase: PhaseName,
    /// Upstream's URL, with `{version}` in it.
    pub url: String,
    /// Its digest, lower-case hex.
    pub sha256: String,
    /// When it is needed.
    #[serde(rename = "if")]
    pub when: Option<String>,
}

/// A template of manifests.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ManifestFile {
    /// When it is applied.
    pub phase: PhaseName,
    /// Its name in the folder.
    pub file: String,
    /// When it is needed.
    #[serde(rename = "if")]
    pub when: Option<String>,
}

/// A condition that must not hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// Refused if this expression holds.
    pub refuse: Option<String>,
    /// Warned of if this one does.
    pub warn: Option<String>,
    /// Refused without one of these parameters; the help names those that are missing.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The parameter concerned, with dots between keys; the plugin as a whole if absent.
    pub at: Option<String>,
    pub message: String,
    /// The correct form.
    pub help: Option<String>,
}

/// Bytes of each packet between nodes that pods do not have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// When it is so; an expression over the parameters, `p`.
    #[serde(rename = "if")]
    pub when: String,
    /// Between nodes with IPv4 addresses.
    pub ipv4: u16,
    /// Between nodes with IPv6 addresses.
    pub ipv6: u16,
}

/// A CA of its own with certificates.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Authority {
    /// When it is needed.
    #[serde(rename = "if")]
    pub when: Option<String>,
    /// Certificates by name.
    pub leaves: BTreeMap<String, Leaf>,
}

/// A certificate; texts are filled in.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Leaf {
    /// Common name.
    pub common_name: String,
    /// DNS names.
    #[serde(default)]
    pub dns_names: Vec<String>,
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Permitted uses.
    pub usages: Vec<Usage>,
}

/// A permitted use of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Usage {
    Server,
    Client,
}

/// A declaration that is not what its type says; a mistake in firelay itself.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("declaration refused: {0}")]
    Invalid(String),
    #[error("templates/{file} is missing")]
    Missing {
        /// Path below `templates/`.
        file: String,
    },
}

/// A folder with a declaration, which is read at its first use: most specs use few of them.
struct Folder {
    kind: Kind,
    name: &'static str,
    declaration: OnceLock<Result<Arc<Declaration>, Error>>,
}

/// Plugins first, in the order of their names.
static FOLDERS: LazyLock<Vec<Folder>> = LazyLock::new(|| {
    let folders = [Kind::Cni, Kind::Addon, Kind::Kms].map(|kind| {
        let names = template::folders(kind.folder()).into_iter();
        names.map(move |name| Folder {
            kind,
            name,
            declaration: OnceLock::new(),
        })
    });
    folders.into_iter().flatten().collect()
});

impl Folder {
    fn read(&self) -> Result<&Arc<Declaration>, &Error> {
        let load = || Declaration::load(self.kind, self.name);
        self.declaration.get_or_init(load).as_ref()
    }
}

/// Every network plugin and add-on that can be read, plugins first, in the order of their names; see [`check`].
pub fn all() -> impl Iterator<Item = &'static Arc<Declaration>> {
    of(Kind::Cni).chain(of(Kind::Addon))
}

/// Whether the declarations of this build can be read.
pub fn check() -> Result<(), Error> {
    let mut folders = FOLDERS.iter();
    folders.try_for_each(|folder| folder.read().map(drop).map_err(Clone::clone))
}

pub fn of(kind: Kind) -> impl Iterator<Item = &'static Arc<Declaration>> {
    let folders = FOLDERS.iter().filter(move |folder| folder.kind == kind);
    folders.filter_map(|folder| folder.read().ok())
}

/// The declaration of a key of the spec; no other one is read.
pub fn find(kind: Kind, key: &str) -> Option<&'static Arc<Declaration>> {
    let mut folders = FOLDERS.iter();
    let folder = folders.find(|folder| folder.kind == kind && camel(folder.name) == key)?;
    folder.read().ok()
}

impl Declaration {
    fn cni() -> Kind {
        Kind::Cni
    }

    fn load(kind: Kind, name: &str) -> Result<Arc<Self>, Error> {
        let file = format!("{}/{name}/addon.yaml", kind.folder());
        let text = template::source(&file).ok_or_else(|| Error::Missing { file: file.clone() })?;
        let read = firelay_yaml::parse(&format!("templates/{file}"), text);
        let declaration: Self = read.map_err(|error| Error::Invalid(error.to_string()))?;
        Ok(Arc::new(Self {
            name: name.to_owned(),
            key: camel(name),
            kind,
            ..declaration
        }))
    }

    /// The folder below `templates/`.
    pub fn folder(&self) -> String {
        format!("{}/{}", self.kind.folder(), self.name)
    }

    /// The schema of all parameters, `version` among them.
    pub fn schema(&self) -> Value {
        let mut properties = self.parameters.clone();
        let versions: Vec<_> = self.releases.keys().rev().map(ToString::to_string).collect();
        if let Some(newest) = versions.first() {
            let version = json!({
                "type": "string",
                "enum": versions,
                "description": "Another release than the one that goes with the version of Kubernetes.",
                "examples": [newest],
            });
            properties.insert(VERSION.to_owned(), version);
        }
        let mut schema = json!({ "type": "object", "description": self.summary });
        if properties.is_empty() {
            schema["examples"] = json!([{}]);
        }
        schema["properties"] = properties.into();
        schema["additionalProperties"] = false.into();
        if !self.required.is_empty() {
            schema["required"] = self.required.clone().into();
        }
        schema
    }
}

/// `kube-router` as a key of the spec.
fn camel(name: &str) -> String {
    let mut words = name.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut camel, word| {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel + letters.as_str()
    })
}
