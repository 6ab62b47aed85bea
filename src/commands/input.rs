//! Reading of specs, patches and profiles: from files, stdin, the command line and the environment.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::failure::{Failure, shell_word};
use crate::{
    cli::SpecArgs,
    profile::Library,
    spec::{Composed, Input, Load, MOST_BYTES, Unread},
};
use firelay_yaml::{
    Tree,
    diagnostic::{Lines, Source},
};

/// The folder of patches beside the spec.
const PATCHES: &str = "patches";
/// How deep folders of patches are searched, to report files that would be ignored there.
const DEPTH: usize = 3;

/// Reads the texts that the arguments name. An included file that cannot be read is a finding, a spec of the command line a failure.
pub fn read(args: &SpecArgs) -> Result<Input, Failure> {
    if args.specs.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Failure::Usage(
            "stdin can be one spec, and `-` is given twice".to_owned(),
        ));
    }
    let mut input = Input::default();
    for path in &args.specs {
        let (name, bytes) = if is_stdin(path) {
            ("<stdin>".to_owned(), from_stdin()?)
        } else {
            let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
            (path.display().to_string(), bytes)
        };
        let text = text(&name, bytes)?;
        input.add(&name, path, text, &mut read_include);
    }
    read_patches(&args.specs, &mut input)?;
    input.set(&args.set);
    if args.env {
        // A variable that is not text cannot be meant.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        input.substitute(std::env::vars_os().filter_map(text).collect());
    }
    Ok(input)
}

/// Refuses the path of a spec that cannot be read, for a verb that needs only its place.
pub fn refuse_missing(path: &Path) -> Result<(), Failure> {
    match is_stdin(path) {
        true => Ok(()),
        false => readable(path).map_err(|error| unreadable(path, &error)),
    }
}

/// The name of the cluster in a spec, for a verb that reads nothing else of it. `None` where another verb would refuse the spec or its
/// name comes from the environment.
pub fn cluster_name(path: &Path) -> Option<String> {
    let text = fs::read_to_string(Some(path).filter(|path| readable(path).is_ok())?).ok()?;
    let tree = Tree::parse(&text).ok()?;
    let name = tree.root.get("name")?.text()?;
    (!name.contains('$')).then(|| name.to_owned())
}

fn readable(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    refuse_irregular(path).map_err(io::Error::other)
}

/// Composes a spec with the security profile and the files that it names. Without a library the embedded profiles are
/// searched.
pub fn compose(input: Input, library: Option<&Library>, read: Load<'_>) -> Result<Composed, Failure> {
    let composed = Composed::new::<Failure>(input, |source, name| match library {
        Some(library) => Ok(library.baseline(source, name)),
        None => Ok(Library::embedded_baselines(source)?.baseline(source, name)),
    });
    Ok(composed?.with_files(read))
}

/// The embedded profiles, and those of a directory, as texts of a source.
pub fn library(directory: Option<&Path>, source: &mut Source) -> Result<Library, Failure> {
    let mut library = Library::embedded(source)?;
    let Some(directory) = directory else {
        return Ok(library);
    };
    let mut files = Vec::new();
    profile_files(directory, directory, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(Failure::Io(format!(
            "there are no profiles in {}\n  = help: they are files such as os/NAME.yaml in it",
            directory.display()
        )));
    }
    for path in files {
        let text = fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))?;
        let below = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
        library.add(source, &path.display().to_string(), &below, text);
    }
    Ok(library)
}

/// Every YAML file of a directory and of its folders; deeper folders contain no profiles.
fn profile_files(directory: &Path, root: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for path in entries(directory)? {
        if is_hidden(&path) {
            continue;
        }
        let yaml = has_ending(&path, &["yaml", "yml"]);
        if path.is_dir() && directory == root {
            profile_files(&path, root, files)?;
        } else if yaml && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads the patches beside the first spec, and reports folders of patches beside the others.
fn read_patches(specs: &[PathBuf], input: &mut Input) -> Result<(), Failure> {
    let beside = |spec: &Path| spec.parent().unwrap_or(Path::new("")).join(PATCHES);
    let own = specs.first().filter(|spec| !is_stdin(spec)).map(|spec| beside(spec));
    if let Some(folder) = own.as_ref().filter(|folder| folder.is_dir()) {
        let mut files = Vec::new();
        patch_files(folder, DEPTH, &mut files)?;
        for path in files {
            let name = path.display().to_string();
            if has_ending(&path, &["yaml", "yml", "json"]) {
                let above = path.strip_prefix(folder).unwrap_or(&path).parent();
                let above = above.map_or_else(String::new, |above| above.display().to_string());
                let bytes = fs::read(&path).map_err(|error| Failure::file("read", &path, &error))?;
                input.patch(&above, &name, text(&name, bytes)?);
            } else {
                input.stray(&name);
            }
        }
    }
    for (at, spec) in specs.iter().enumerate() {
        let folder = beside(spec);
        if Some(&folder) != own.as_ref() && folder.is_dir() && (at == 0 || !is_stdin(spec)) {
            input.unread(spec, &folder);
        }
    }
    Ok(())
}

/// The files of a folder except notes, in the order of their names, and of the folders in it.
fn patch_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let mut paths = entries(folder)?;
    paths.sort();
    for path in paths {
        if path.is_dir() && depth > 0 {
            patch_files(&path, depth - 1, files)?;
        } else if !is_note(&path) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// The paths in a folder.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    entries.map_err(|error| Failure::file("read", folder, &error))
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension()
        .is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// A README, a hidden file, or a copy that an editor made.
fn is_note(path: &Path) -> bool {
    let name = path.file_name().map_or(&b""[..], |name| name.as_encoded_bytes());
    is_hidden(path) || name.starts_with(b"README") || name.ends_with(b".md") || name.ends_with(b"~")
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn text(name: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    utf8(bytes).map_err(|reason| Failure::Refused(format!("{name} is {reason}")))
}

/// The text, or what is wrong with it. Editors and spreadsheets of Windows write UTF-16 with a byte order mark.
fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| match error.as_bytes() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16: save it as UTF-8".to_owned(),
        bytes => {
            let valid = String::from_utf8_lossy(&bytes[..error.utf8_error().valid_up_to()]);
            let (line, column) = Lines::new(&valid).position(valid.len());
            format!("not UTF-8 (line {line}, column {column})")
        }
    })
}

fn from_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::file("read", Path::new("<stdin>"), &error))?;
    Ok(bytes)
}

/// Reads a file that a spec includes, or its inventory.
pub(super) fn read_include(path: &Path) -> Result<String, String> {
    refuse_irregular(path)?;
    let bytes = fs::read(path).map_err(|error| because(&error))?;
    utf8(bytes)
}

/// Reads a file that `source` names.
pub fn read_file(path: &Path) -> Result<Vec<u8>, Unread> {
    refuse_irregular(path).map_err(Unread::Because)?;
    let failed = |error| Unread::Because(because(&error));
    let file = fs::File::open(path).map_err(failed)?;
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
    // The folder itself has an empty path.
    if path.is_dir() || path.as_os_str().is_empty() {
        return Err("a directory, not a file".to_owned());
    }
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
        io::ErrorKind::IsADirectory => Failure::Io(format!(
            "{0} is a directory, not a spec\n  = help: name the file, for example {0}/cluster.yaml",
            path.display()
        )),
        _ => Failure::file("read", path, error),
    }
}
