//! All differences between operating systems, platforms and Kubernetes versions, as data.
//!
//! `profiles/{os,platform,kubernetes,runtime,security}/*.yaml` and `profiles/*.yaml` are embedded in the binary; code
//! queries them and never compares a name or a version.

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod catalog;
mod check;
pub mod checksums;
mod endpoint;
mod etcd;
mod feature_gates;
mod flags;
mod kubernetes;
mod library;
mod objects;
mod os;
mod platform;
mod runtime;
mod security;
mod store;
mod time_zones;
mod units;

use std::{collections::BTreeMap, sync::Arc};

use include_dir::{Dir, File, include_dir};
use semver::Version;
use serde::de::DeserializeOwned;

use check::Check;

use firelay_yaml::{
    Tree,
    config_schema::ConfigSchema,
    diagnostic::{self, Diagnostic, Source},
};

pub use catalog::*;
pub use endpoint::*;
pub use etcd::*;
pub use feature_gates::*;
pub use flags::*;
pub use kubernetes::*;
pub use library::{Library, Resolved, SHIPPED};
pub use objects::*;
pub use os::*;
pub use platform::*;
pub use runtime::*;
pub use security::*;
pub use store::*;
pub use time_zones::*;
pub use units::*;

static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles");

/// Why a profile was refused; with the embedded ones, a mistake in firelay itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("profile refused: {0}")]
    Invalid(#[source] firelay_yaml::Diagnostics),
    #[error("profile {file} is not UTF-8")]
    NotText {
        /// Path below `profiles/`.
        file: String,
    },
    #[error("profile {file} calls itself {name}: name and file name must be the same")]
    Misnamed {
        /// Path below `profiles/`.
        file: String,
        /// The name in the file.
        name: String,
    },
    #[error("profile {file} is missing")]
    Missing {
        /// Path below `profiles/`.
        file: &'static str,
    },
}

#[derive(Clone, Debug)]
pub struct Profiles {
    /// Operating systems by name, `ubuntu-24.04`.
    pub os: BTreeMap<String, Arc<OsProfile>>,
    /// Platforms by name, `aws`.
    pub platform: BTreeMap<String, Arc<PlatformProfile>>,
    /// Kubernetes by minor, `1.36`.
    pub kubernetes: BTreeMap<String, Arc<KubernetesProfile>>,
    /// Settings under specs, by name, `hardened`.
    pub security: BTreeMap<String, Arc<SecurityProfile>>,
    /// containerd by ranges of versions.
    pub containerd: ContainerdReleases,
    pub crio: Arc<CrioProfile>,
    /// Binaries with their locations and digests.
    pub catalog: Arc<Catalog>,
    /// Providers that route the endpoint's name to an API server.
    pub endpoint: Arc<EndpointProfile>,
    /// Flags of etcd's versions.
    pub etcd: Arc<EtcdProfile>,
    /// Feature gates of Kubernetes' components.
    pub feature_gates: Arc<FeatureGates>,
    /// Flags of the programs that are started.
    pub flags: Arc<Flags>,
    /// Kinds of configuration that programs of Kubernetes read.
    pub kinds: Arc<ConfigSchema>,
    /// Kinds of objects that Kubernetes has by itself.
    pub objects: Arc<Objects>,
    /// Names of time zones.
    pub time_zones: Arc<TimeZones>,
    /// Sections and keys of systemd's units.
    pub units: Arc<UnitSections>,
}

impl Profiles {
    /// The profiles that come with firelay.
    pub fn embedded() -> Result<Self, Error> {
        Ok(Self {
            os: by_name("os", |profile: &OsProfile| &profile.name)?,
            platform: by_name("platform", |profile: &PlatformProfile| &profile.name)?,
            kubernetes: by_name("kubernetes", |profile: &KubernetesProfile| &profile.minor)?,
            security: by_name("security", |profile: &SecurityProfile| &profile.name)?,
            containerd: one("runtime/containerd.yaml")?,
            crio: Arc::new(one("runtime/crio.yaml")?),
            catalog: Arc::new(one("catalog.yaml")?),
            endpoint: Arc::new(one("endpoint.yaml")?),
            etcd: Arc::new(one("etcd.yaml")?),
            feature_gates: Arc::new(one("feature-gates.yaml")?),
            flags: Arc::new(one("flags.yaml")?),
            kinds: Arc::new(one("kinds.yaml")?),
            objects: Arc::new(one("objects.yaml")?),
            time_zones: Arc::new(one("time-zones.yaml")?),
            units: Arc::new(one("units.yaml")?),
        })
    }

    /// Those profiles merged with files of the user, and warnings; or what is wrong with the files.
    pub fn with(mut self, source: &Source, library: &Library) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (resolved, mut findings) = library.resolve(source);
        for profile in resolved.iter().filter(|profile| profile.own) {
            findings.extend(self.put(source, profile).err().unwrap_or_default());
        }
        diagnostic::sort(&mut findings);
        if diagnostic::refuse(&findings) {
            Err(findings)
        } else {
            Ok((self, findings))
        }
    }

    fn put(&mut self, source: &Source, profile: &Resolved<'_>) -> Result<(), Vec<Diagnostic>> {
        let name = profile.name().to_owned();
        match (profile.kind(), profile.name()) {
            ("os", _) => drop(self.os.insert(name, checked(profile, source, Check::os)?)),
            ("platform", _) => drop(self.platform.insert(name, checked(profile, source, Check::platform)?)),
            ("kubernetes", _) => drop(
                self.kubernetes
                    .insert(name, checked(profile, source, Check::kubernetes)?),
            ),
            ("security", _) => drop(self.security.insert(name, checked(profile, source, Check::security)?)),
            (_, "catalog") => self.catalog = checked(profile, source, Check::catalog)?,
            (_, "crio") => self.crio = Arc::new(profile.decode(source)?),
            (_, "endpoint") => self.endpoint = checked(profile, source, Check::endpoint)?,
            (_, "etcd") => self.etcd = Arc::new(profile.decode(source)?),
            (_, "feature-gates") => self.feature_gates = Arc::new(profile.decode(source)?),
            (_, "flags") => self.flags = Arc::new(profile.decode(source)?),
            (_, "objects") => self.objects = Arc::new(profile.decode(source)?),
            (_, "time-zones") => self.time_zones = Arc::new(profile.decode(source)?),
            (_, "kinds") => self.kinds = Arc::new(profile.decode(source)?),
            (_, "units") => self.units = Arc::new(profile.decode(source)?),
            _ => self.containerd = Arc::unwrap_or_clone(checked(profile, source, Check::containerd)?),
        }
        Ok(())
    }

    /// Systems that `init` offers by name, the first for whoever says nothing.
    pub fn suggested_systems(&self) -> Vec<&str> {
        suggested(self.os.values().map(|os| (os.suggest, os.name.as_str())))
    }

    /// As of systems, platforms.
    pub fn suggested_platforms(&self) -> Vec<&str> {
        suggested(
            self.platform
                .values()
                .map(|platform| (platform.suggest, platform.name.as_str())),
        )
    }

    /// The profile of a version's minor.
    pub fn kubernetes(&self, version: &Version) -> Option<&Arc<KubernetesProfile>> {
        self.kubernetes.get(&format!("{}.{}", version.major, version.minor))
    }

    /// How a version of containerd wants to be configured; `None` for one that firelay does not know.
    pub fn containerd(&self, version: &Version) -> Option<&Arc<ContainerdProfile>> {
        self.containerd.of(version)
    }
}

impl Profiles {
    /// These profiles with another content of one file; `None` if it cannot be read.
    pub fn varied(&self, path: &str, tree: &Tree<'_>) -> Option<Self> {
        let mut profiles = self.clone();
        let (folder, file) = path.split_once('/').unwrap_or(("", path));
        let name = file.strip_suffix(".yaml")?.to_owned();
        match (folder, name.as_str()) {
            ("os", _) => drop(profiles.os.insert(name, Arc::new(read(tree)?))),
            ("platform", _) => drop(profiles.platform.insert(name, Arc::new(read(tree)?))),
            ("kubernetes", _) => drop(profiles.kubernetes.insert(name, Arc::new(read(tree)?))),
            ("runtime", "containerd") => profiles.containerd = read(tree)?,
            ("runtime", "crio") => profiles.crio = Arc::new(read(tree)?),
            ("", "catalog") => profiles.catalog = Arc::new(read(tree)?),
            ("", "endpoint") => profiles.endpoint = Arc::new(read(tree)?),
            ("", "etcd") => profiles.etcd = Arc::new(read(tree)?),
            _ => return None,
        }
        Some(profiles)
    }
}

fn suggested<'a>(profiles: impl Iterator<Item = (Option<u8>, &'a str)>) -> Vec<&'a str> {
    let mut ranked: Vec<_> = profiles.filter_map(|(rank, name)| Some((rank?, name))).collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// A profile of the user with nothing wrong.
fn checked<'p, T: DeserializeOwned>(
    profile: &'p Resolved<'_>,
    source: &Source,
    check: fn(&mut Check<'p>, &T),
) -> Result<Arc<T>, Vec<Diagnostic>> {
    let value: T = profile.decode(source)?;
    let mut desk = Check::of(profile);
    check(&mut desk, &value);
    desk.finish()?;
    Ok(Arc::new(value))
}

fn read<T: DeserializeOwned>(tree: &Tree<'_>) -> Option<T> {
    firelay_yaml::decode_partial(tree, &[]).complete().ok()
}

/// Every file of a folder under the name that it gives itself.
fn by_name<T: DeserializeOwned>(
    folder: &'static str,
    name: fn(&T) -> &String,
) -> Result<BTreeMap<String, Arc<T>>, Error> {
    let files = PROFILES.get_dir(folder).ok_or(Error::Missing { file: folder })?.files();
    files
        .map(|file| {
            let profile: T = parse(file)?;
            let name = name(&profile).clone();
            match file.path().file_stem() {
                Some(stem) if stem == name.as_str() => Ok((name, Arc::new(profile))),
                _ => Err(Error::Misnamed {
                    file: file.path().display().to_string(),
                    name,
                }),
            }
        })
        .collect()
}

fn one<T: DeserializeOwned>(path: &'static str) -> Result<T, Error> {
    parse(PROFILES.get_file(path).ok_or(Error::Missing { file: path })?)
}

fn parse<T: DeserializeOwned>(file: &File<'_>) -> Result<T, Error> {
    let name = file.path().display().to_string();
    match file.contents_utf8() {
        Some(text) => firelay_yaml::parse(&format!("profiles/{name}"), text).map_err(Error::Invalid),
        None => Err(Error::NotText { file: name }),
    }
}
