//! `seed`: volumes for machines, from a tree that was rendered.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    failure::{Failure, shell_word},
    project::did_you_mean,
    streams,
};
use crate::{
    cli::{self, SeedForm},
    delivery::{Form, Machine, Seed, SeedError, iso9660, machines, seed, tree::TreeReader},
    disk::{self, Access},
    profile::Profiles,
};

/// The maximum size of an older seed; a larger file is something else.
const MOST_BYTES: u64 = 64 << 20;

/// The default directory for volumes, in the tree.
const DIRECTORY: &str = "seed";

/// The seed of one machine.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
}

/// Runs the verb. Everything is read before anything is written.
pub fn run(args: &cli::Seed) -> Result<(), Failure> {
    let tree = TreeReader::open(args.tree.path())?;
    let machines = machines(&tree.manifest);
    let chosen = chosen(&args.node, machines.values().collect())?;
    let seeds = chosen.into_iter().map(|machine| {
        let form = args.form.map_or_else(|| Form::of(machine.document.format), Form::from);
        Ok((machine.name, seed(&tree, machine, form, platform_of).map_err(failure)?))
    });
    let seeds = seeds.collect::<Result<Vec<_>, Failure>>()?;
    let to = args.to.clone().unwrap_or_else(|| args.tree.path().join(DIRECTORY));
    let made = seeds.into_iter().map(|(name, seed)| make(name, seed, &to));
    let made = made.collect::<Result<Vec<_>, _>>()?;
    streams::report(args.output, &made, || made.iter().map(line).collect())
}

/// The platform that has the name of a form as an alias.
fn platform_of(form: Form) -> Option<String> {
    let profiles = Profiles::embedded().ok()?;
    let mut platforms = profiles.platform.values();
    let named = platforms.find(|platform| platform.aliases.iter().any(|alias| alias == form.name()))?;
    Some(named.name.clone())
}

impl From<SeedForm> for Form {
    fn from(form: SeedForm) -> Self {
        match form {
            SeedForm::Cidata => Self::Cidata,
            SeedForm::ConfigDrive => Self::ConfigDrive,
            SeedForm::FwCfg => Self::FwCfg,
        }
    }
}

fn failure(error: SeedError) -> Failure {
    match error {
        SeedError::Form { .. } => Failure::Usage(error.to_string()),
        error => error.into(),
    }
}

/// The machines of these names, or all.
fn chosen<'m>(names: &[String], machines: Vec<&'m Machine<'m>>) -> Result<Vec<&'m Machine<'m>>, Failure> {
    if names.is_empty() {
        return Ok(machines);
    }
    let find = |name: &String| {
        machines
            .iter()
            .copied()
            .find(|machine| machine.name == name)
            .ok_or_else(|| {
                let help = did_you_mean(name, machines.iter().map(|machine| machine.name));
                Failure::Usage(format!("the tree has no node or pool {name}{help}"))
            })
    };
    names.iter().map(find).collect()
}

/// Warns of volumes of an earlier render, which a new render does not replace.
pub(super) fn warn_of_stale(out: &Path) -> Result<(), Failure> {
    let stale = stale(out)?;
    if !stale.is_empty() {
        let paths: Vec<_> = stale.iter().map(|path| path.display().to_string()).collect();
        streams::tell(format_args!(
            "warning: volumes that are not of these documents: {}\n  = help: firelay seed {} makes those of its nodes anew; \
             remove the others, they hold secrets",
            paths.join(", "),
            shell_word(out)
        ));
    }
    Ok(())
}

/// Volumes in the tree's own directory that do not match its documents: of an earlier render, or of a removed node.
/// They contain secrets, and a machine with one starts with old settings.
fn stale(out: &Path) -> Result<Vec<PathBuf>, Failure> {
    let Ok(found) = fs::read_dir(out.join(DIRECTORY)) else {
        return Ok(Vec::new());
    };
    let tree = TreeReader::open(out)?;
    let machines = machines(&tree.manifest);
    let is_stale = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".iso"));
        let Some((name, image)) = name.zip(our_image(path)) else {
            return false;
        };
        machines.get(name).is_none_or(|machine| !is_of(&tree, machine, &image))
    };
    let paths = found.filter_map(|entry| Some(entry.ok()?.path()));
    let mut stale: Vec<_> = paths.filter(is_stale).collect();
    stale.sort();
    Ok(stale)
}

/// Whether a volume equals a machine's current seed, in any form.
fn is_of(tree: &TreeReader, machine: &Machine<'_>, image: &[u8]) -> bool {
    [Form::Cidata, Form::ConfigDrive]
        .into_iter()
        .any(|form| matches!(seed(tree, machine, form, |_| None), Ok(Seed::Image { bytes, .. }) if bytes == image))
}

/// The bytes of a volume that firelay wrote.
fn our_image(path: &Path) -> Option<Vec<u8>> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > MOST_BYTES {
        return None;
    }
    fs::read(path).ok().filter(|image| iso9660::is_ours(image))
}

fn make(node: &str, seed: Seed, to: &Path) -> Result<Made, Failure> {
    let node = node.to_owned();
    match seed {
        Seed::Arguments(arguments) => Ok(Made {
            node,
            arguments: Some(arguments),
            ..Made::default()
        }),
        Seed::Image { label, bytes } => {
            let path = to.join(format!("{node}.iso"));
            write(to, &path, &bytes)?;
            Ok(Made {
                node,
                file: Some(path.display().to_string()),
                label: Some(label),
                bytes: Some(bytes.len()),
                ..Made::default()
            })
        }
    }
}

/// Puts an image in the place of an older one and of nothing else, whole and for its owner alone.
fn write(to: &Path, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
        .create(to)
        .map_err(|error| Failure::file("create", to, &error))?;
    if !may_replace(path).map_err(|error| Failure::file("read", path, &error))? {
        return Err(Failure::Io(format!(
            "{} is no seed of firelay's: move it, or choose another directory with --to",
            path.display()
        )));
    }
    disk::replace(path, bytes, Access::Owner).map_err(|error| Failure::file("write", path, &error))
}

fn may_replace(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
        Ok(_) => Ok(our_image(path).is_some()),
    }
}

/// A line for each machine.
fn line(made: &Made) -> String {
    match (&made.file, &made.arguments) {
        (Some(file), _) => format!(
            "{file}  {} bytes, labelled {}\n",
            made.bytes.unwrap_or_default(),
            made.label.unwrap_or_default()
        ),
        (None, arguments) => format!("{}\n", arguments.as_deref().unwrap_or_default()),
    }
}
