//! `catalog update`: digests of newer releases in profiles of the user.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use semver::Version;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    artifacts::{self, Digest},
    clock,
    failure::Failure,
    project::{ProfileSet, load_profiles},
    streams,
};
use crate::{
    cli::{CatalogUpdate, ProfilesArg},
    disk::{self, Access},
    mirror,
    profile::{
        Artifact, Profiles,
        checksums::{Table, in_sums},
    },
    spec::Arch,
};

/// The name that means all binaries of a Kubernetes release.
const KUBERNETES: &str = "kubernetes";
/// The first line of files that this verb writes.
const HEAD: &str = "# Written by `firelay catalog update`; it may be run again.\n";

/// A release of one binary for one architecture.
struct Release<'p> {
    name: &'p str,
    artifact: &'p Artifact,
    version: Version,
    arch: Arch,
}

/// A digest that was found.
#[derive(Serialize)]
struct Found<'p> {
    name: &'p str,
    version: String,
    arch: Arch,
    #[serde(flatten)]
    digest: Digest,
    source: String,
    /// The catalog had it already.
    known: bool,
}

/// Runs `catalog update`.
pub fn update(args: &CatalogUpdate) -> Result<(), Failure> {
    let Some(directory) = &args.profiles.directory else {
        return Err(Failure::Usage(
            "name the directory of your own profiles with --profiles or FIRELAY_PROFILES: the digests are written there".to_owned(),
        ));
    };
    let name = directory.display().to_string();
    // A new directory is created with its first file.
    let existing = match directory.exists() {
        true => args.profiles.clone(),
        false => ProfilesArg::default(),
    };
    let ProfileSet { profiles, .. } = &load_profiles(&existing, &name)?;
    let releases = releases(args, profiles)?;
    let digests = match &args.from {
        Some(path) => from_table(path, &releases)?,
        None => from_upstream(args, &releases)?,
    };
    let found = compare(&releases, digests)?;
    write(directory, &found, profiles)?;
    if directory.exists() {
        load_profiles(&args.profiles, &name)?;
    }
    streams::report(args.output, &found, || text(&found, &args.profiles))
}

/// The releases that are asked for, in all architectures.
fn releases<'p>(args: &CatalogUpdate, profiles: &'p Profiles) -> Result<Vec<Release<'p>>, Failure> {
    let mut releases = Vec::new();
    for asked in &args.releases {
        let (name, version) = asked.split_once('=').unwrap_or((asked, ""));
        let version: Version = version.trim_start_matches('v').parse().map_err(|_| {
            Failure::Usage(format!(
                "{asked} is no release: write NAME=VERSION, for example containerd=2.3.7"
            ))
        })?;
        let artifacts = named(name, &version, profiles)?;
        for (name, artifact) in artifacts {
            let known: BTreeSet<Arch> = artifact
                .releases
                .values()
                .flat_map(|digests| digests.keys().copied())
                .collect();
            let wanted = known
                .into_iter()
                .filter(|arch| args.arch.is_empty() || args.arch.contains(arch));
            releases.extend(wanted.map(|arch| Release {
                name,
                artifact,
                version: version.clone(),
                arch,
            }));
        }
    }
    Ok(releases)
}

/// One artifact of the catalog, or all that have the version of Kubernetes.
fn named<'p>(name: &str, version: &Version, profiles: &'p Profiles) -> Result<Vec<(&'p str, &'p Artifact)>, Failure> {
    let all = profiles
        .catalog
        .artifacts
        .iter()
        .map(|(name, artifact)| (name.as_str(), artifact));
    if name != KUBERNETES {
        let found: Vec<_> = all.filter(|(own, _)| *own == name).collect();
        let names = || {
            profiles
                .catalog
                .artifacts
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        };
        return match found.is_empty() {
            true => Err(Failure::Usage(format!(
                "the catalog has no {name}\n  = help: it has {KUBERNETES}, {}",
                names()
            ))),
            false => Ok(found),
        };
    }
    let Some(profile) = profiles.kubernetes(version) else {
        return Err(Failure::Usage(format!(
            "firelay has no profile of Kubernetes {}.{}\n  \
             = help: a minor needs flags, images and versions that go with it: take a newer firelay, or write {}/{}.{}.yaml of your own",
            version.major, version.minor, KUBERNETES, version.major, version.minor
        )));
    };
    Ok(all
        .filter(|(name, _)| !profile.components.contains_key(*name))
        .collect())
}

/// Digest and source of each release.
type Digests = Vec<Result<(String, String), String>>;

fn from_table(path: &Path, releases: &[Release<'_>]) -> Result<Digests, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
    let name = path.display().to_string();
    let value: Value = firelay_yaml::parse(&name, text.trim_start_matches("---\n"))?;
    let table = Table::of(value).ok_or_else(|| {
        Failure::Usage(format!(
            "{name} is neither Kubespray's checksums.yml nor asset data of kops"
        ))
    })?;
    let source = format!("{name}, {}", clock::now()?.date());
    let one = |release: &Release<'_>| {
        let digest = table.digest(release.artifact, &release.version, release.arch);
        digest
            .map(|digest| (digest, source.clone()))
            .ok_or_else(|| format!("{name} does not have it"))
    };
    Ok(releases.iter().map(one).collect())
}

fn from_upstream(args: &CatalogUpdate, releases: &[Release<'_>]) -> Result<Digests, Failure> {
    let url = |release: &Release<'_>| {
        let template = release.artifact.checksums.as_deref();
        template.map(|template| crate::profile::fill(template, &release.version, release.arch))
    };
    let urls: BTreeSet<_> = releases.iter().filter_map(url).collect();
    let urls: Vec<_> = urls.into_iter().collect();
    let texts = mirror::texts(
        &artifacts::client(&args.fetching)?,
        &urls,
        usize::from(args.fetching.parallel),
    );
    let texts: BTreeMap<_, _> = urls.iter().zip(texts).collect();
    let today = clock::now()?.date();
    let one = |release: &Release<'_>| {
        let url = url(release).ok_or("the catalog does not say where its checksums are")?;
        let text = texts[&url].as_ref().map_err(|error| format!("{url}: {error}"))?;
        let file = release.artifact.url_of(&release.version, release.arch);
        let file = file.rsplit('/').next().unwrap_or_default();
        let digest = in_sums(text, file).ok_or_else(|| format!("{url} has no digest of {file}"))?;
        Ok((digest, format!("{url}, {today}")))
    };
    Ok(releases.iter().map(one).collect())
}

/// All digests, or every release without one. A digest that differs from the catalog's is never taken.
fn compare<'p>(releases: &[Release<'p>], digests: Digests) -> Result<Vec<Found<'p>>, Failure> {
    let mut faults = Vec::new();
    let mut found = Vec::new();
    for (release, digest) in releases.iter().zip(digests) {
        let Release {
            name,
            artifact,
            version,
            arch,
        } = release;
        let known = artifact.digest(version, *arch);
        match digest {
            Err(why) => faults.push(format!("{name} {version} for {arch}: {why}")),
            Ok((digest, source)) => match known.filter(|known| **known != digest) {
                Some(known) => faults.push(format!(
                    "{name} {version} for {arch}: the catalog has {known}, and {source} has {digest}: one of them was changed"
                )),
                None => found.push(Found {
                    name,
                    version: version.to_string(),
                    arch: *arch,
                    digest: Digest(digest),
                    source,
                    known: known.is_some(),
                }),
            },
        }
    }
    match faults.is_empty() {
        true => Ok(found),
        false => Err(Failure::Io(format!(
            "{}\n  = help: nothing was written",
            faults.join("\n")
        ))),
    }
}

/// The sources of a release: some projects have a file of checksums for each architecture.
fn all_sources(known: Option<&str>, source: &str) -> String {
    match known {
        Some(known) if known.split("; ").any(|it| it == source) => known.to_owned(),
        Some(known) => format!("{known}; {source}"),
        None => source.to_owned(),
    }
}

/// Adds the new digests to the files of the user.
fn write(directory: &Path, found: &[Found<'_>], profiles: &Profiles) -> Result<(), Failure> {
    let new: Vec<_> = found.iter().filter(|found| !found.known).collect();
    if new.is_empty() {
        return Ok(());
    }
    let mut catalog = OwnFile::open(directory.join("catalog.yaml"))?;
    for Found {
        name,
        version,
        arch,
        digest,
        source,
        ..
    } in new
    {
        let artifact = &mut catalog.value["artifacts"][*name];
        artifact["releases"][version][arch.to_string()] = json!(digest.0);
        let sources = &mut artifact["sources"][version];
        *sources = json!(all_sources(sources.as_str(), source));
    }
    let mut minors = Vec::new();
    for version in kubernetes_versions(found, profiles) {
        let minor = format!("{}.{}", version.major, version.minor);
        let profile = profiles.kubernetes(&version).map(|profile| profile.versions.clone());
        let mut versions: BTreeSet<_> = profile.unwrap_or_default().into_iter().collect();
        versions.insert(version);
        let mut own = OwnFile::open(directory.join(format!("{KUBERNETES}/{minor}.yaml")))?;
        own.value["minor"] = json!(minor);
        own.value["versions"] = versions.iter().rev().map(ToString::to_string).collect();
        minors.push(own);
    }
    // The catalog first: a version without digests is an error.
    catalog.write()?;
    minors.iter().try_for_each(OwnFile::write)
}

/// The new versions of Kubernetes of which all binaries have digests.
fn kubernetes_versions(found: &[Found<'_>], profiles: &Profiles) -> BTreeSet<Version> {
    let versions: BTreeSet<Version> = found.iter().filter_map(|found| found.version.parse().ok()).collect();
    let is_whole = |version: &Version| {
        let Some(profile) = profiles.kubernetes(version).filter(|profile| !profile.knows(version)) else {
            return false;
        };
        let mut names = profiles
            .catalog
            .artifacts
            .keys()
            .filter(|name| !profile.components.contains_key(*name));
        let has = |name: &String| {
            found
                .iter()
                .any(|own| own.name == name && own.version == version.to_string())
        };
        names.all(|name| has(name) || profiles.catalog.artifacts[name].releases.contains_key(version))
    };
    versions.into_iter().filter(is_whole).collect()
}

/// A file of the user's profiles that is read, changed and written.
struct OwnFile {
    path: std::path::PathBuf,
    value: Value,
}

impl OwnFile {
    /// Comments would be lost, so that a file with others than this verb's is refused.
    fn open(path: std::path::PathBuf) -> Result<Self, Failure> {
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::file("read", &path, &error)),
            Ok(text) => text,
        };
        let own = text.strip_prefix(HEAD).unwrap_or(&text);
        if let Some(line) = own.lines().position(|line| line.trim_start().starts_with('#')) {
            let line = line + 1 + usize::from(own.len() < text.len());
            return Err(Failure::Usage(format!(
                "{}:{line} is a comment, which would be lost\n  = help: remove the file's comments, or give another directory to --profiles",
                path.display()
            )));
        }
        let value = match own.trim().is_empty() {
            true => json!({}),
            false => firelay_yaml::parse(&path.display().to_string(), own)?,
        };
        Ok(Self { path, value })
    }

    fn write(&self) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::file("write", &self.path, &error);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let text = HEAD.to_owned() + &firelay_yaml::emit(&self.value)?;
        let prepared = disk::prepare(&self.path, text.as_bytes(), Access::Umask).map_err(failed)?;
        prepared.place().map_err(failed)
    }
}

fn text(found: &[Found<'_>], profiles: &ProfilesArg) -> String {
    let line = |own: &Found<'_>| {
        let known = if own.known { "  (known)" } else { "" };
        format!(
            "{:<12} {:<8} {:<6} {}{known}\n",
            own.name,
            own.version,
            own.arch.to_string(),
            own.digest.0
        )
    };
    let lines: String = found.iter().map(line).collect();
    let directory = profiles.directory.as_deref().unwrap_or(Path::new(""));
    let end = match found.iter().all(|own| own.known) {
        true => "nothing is new".to_owned(),
        false => format!("wrote {0}: give --profiles {0} to the other verbs", directory.display()),
    };
    lines + &end + "\n"
}
