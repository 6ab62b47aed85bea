//! The texts that a spec is made of, from files, stdin, the command line and the environment.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use firelay_yaml::diagnostic::Source;

use super::{
    failure::{Failure, shell_word},
    patches,
};
use crate::{
    cli::SpecArgs,
    profile::Library,
    spec::{Layers, MOST_BYTES, Unread},
};

/// Reads everything that the arguments name. A file that cannot be included is a finding, one that was asked for a failure.
pub fn layers(args: &SpecArgs) -> Result<Layers, Failure> {
    let stdin = Path::new("-");
    if args.specs.iter().filter(|path| *path == stdin).count() > 1 {
        return Err(Failure::Usage(
            "stdin can be one spec, and `-` is given twice".to_owned(),
        ));
    }
    let mut layers = Layers::default();
    for path in &args.specs {
        let (name, bytes) = if path == stdin {
            ("<stdin>".to_owned(), from_stdin()?)
        } else {
            let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
            (path.display().to_string(), bytes)
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            Failure::Refused(format!("{name} is not UTF-8 (byte {byte})"))
        })?;
        layers.add(&name, path, text, &mut included);
    }
    if let Some(first) = args.specs.first() {
        patches::read(first, &mut layers)?;
    }
    patches::unread(&args.specs, &mut layers);
    layers.set(&args.set);
    if args.env {
        // A variable that is not text cannot be meant.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        layers.substitute(std::env::vars_os().filter_map(text).collect());
    }
    lay_over(&mut layers, args.profiles.directory.as_deref())?;
    layers.load(&mut loaded);
    Ok(layers)
}

/// Lays a spec over the security profile that it asks for; one that is not there is `plan`'s to tell.
pub fn lay_over(layers: &mut Layers, directory: Option<&Path>) -> Result<(), Failure> {
    let Some(name) = layers.security_profile() else {
        return Ok(());
    };
    let library = profiles(directory, &mut layers.source)?;
    if let Some(under) = library.under(&layers.source, &name) {
        layers.lay_over(under);
    }
    Ok(())
}

/// The profiles that come with firelay, and those of a directory, as texts of a source.
pub fn profiles(directory: Option<&Path>, source: &mut Source) -> Result<Library, Failure> {
    let mut library = Library::embedded(source).map_err(|error| Failure::io(&error))?;
    let Some(directory) = directory else {
        return Ok(library);
    };
    let mut files = Vec::new();
    yaml_files(directory, directory, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(Failure::Io(format!(
            "there are no profiles in {}\n  = help: they are files such as os/NAME.yaml in it",
            directory.display()
        )));
    }
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))?;
        let below = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
        library.add(source, &path.display().to_string(), &below, text);
    }
    Ok(library)
}

/// Every YAML file of a directory and of the folders in it, which have none that could hold profiles.
fn yaml_files(directory: &Path, root: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::file("read", directory, &error);
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let yaml = path
            .extension()
            .is_some_and(|ending| ending == "yaml" || ending == "yml");
        if path.is_dir() && directory == root && !hidden {
            yaml_files(&path, root, files)?;
        } else if yaml && !hidden && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn from_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::file("read", Path::new("<stdin>"), &error))?;
    Ok(bytes)
}

fn included(path: &Path) -> Result<String, String> {
    refuse_irregular(path)?;
    let bytes = std::fs::read(path).map_err(|error| because(&error))?;
    String::from_utf8(bytes).map_err(|error| format!("not UTF-8 (byte {})", error.utf8_error().valid_up_to()))
}

/// A file that `source` names.
pub fn loaded(path: &Path) -> Result<Vec<u8>, Unread> {
    refuse_irregular(path).map_err(Unread::Because)?;
    let failed = |error| Unread::Because(because(&error));
    let file = std::fs::File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(Unread::Large(size)),
        false => Ok(bytes),
    }
}

/// Reading a pipe or a device might never end.
fn refuse_irregular(path: &Path) -> Result<(), String> {
    match path.exists() && !path.is_file() {
        true => Err("not a regular file".to_owned()),
        false => Ok(()),
    }
}

fn because(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => Failure::Io(format!(
            "there is no spec at {}\n  = help: write a starter with: firelay init {}",
            path.display(),
            shell_word(path)
        )),
        _ => Failure::file("read", path, error),
    }
}
