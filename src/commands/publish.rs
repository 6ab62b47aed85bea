//! `publish`: from the rendered tree to where machines fetch their payloads.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{failure::Failure, streams};
use crate::{
    cli::Publish,
    delivery::{ManifestFile, tree::TreeReader},
    disk::{self, Access},
    profile::{Place, Store},
};

/// One payload.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Published<'a> {
    node: &'a str,
    file: PathBuf,
    url: String,
    sha256: &'a str,
    sealed: bool,
    /// How to upload it.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Where it was copied to.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: &Publish) -> Result<(), Failure> {
    let tree = TreeReader::open(args.tree.path())?;
    let payloads = tree.manifest.files.iter().filter(|file| file.url.is_some());
    let published = payloads.map(|file| publish(args, &tree, file));
    let published = published.collect::<Result<Vec<_>, _>>()?;
    if published.is_empty() {
        streams::tell(format_args!(
            "nothing to publish: no document in {} is a pointer",
            args.tree.path().display()
        ));
    }
    if let (Some(to), true) = (&args.to, published.iter().any(|payload| !payload.sealed)) {
        streams::tell(format_args!(
            "payloads that are not sealed hold the secrets of their nodes: only their owner can read them in {}",
            to.display()
        ));
    }
    streams::report(args.output, &published, || published.iter().map(line).collect())
}

/// The command, or where the copy is.
fn line(payload: &Published<'_>) -> String {
    match (&payload.command, &payload.copy) {
        (Some(command), _) => format!("{command}\n"),
        (None, Some(copy)) => format!("{}  for {}\n", copy.display(), payload.url),
        (None, None) => String::new(),
    }
}

fn publish<'a>(args: &Publish, tree: &TreeReader, file: &'a ManifestFile) -> Result<Published<'a>, Failure> {
    let bytes = tree.read(file)?;
    let url = file.url.clone().unwrap_or_default();
    let odd = || Failure::Io(format!("{} lies nowhere: {url} in manifest.json", file.path));
    let place = Place::parse(&url).filter(|place| place.url() == url).ok_or_else(odd)?;
    let store = Store::of(&place.scheme).ok_or_else(odd)?;
    let path = args.tree.path().join(&file.path);
    let sealed = file.sealed.unwrap_or_default();
    let (command, copy) = match &args.to {
        Some(directory) => (None, Some(copy(directory, &place, &bytes, sealed)?)),
        None => {
            let path = path
                .to_str()
                .ok_or_else(|| Failure::Usage(format!("{} is not text", args.tree.path().display())))?;
            let command = Store::fill(&store.upload, &place, Some(path))?;
            (Some(command), None)
        }
    };
    Ok(Published {
        node: file.node.as_deref().unwrap_or_default(),
        file: path,
        url,
        sha256: &file.sha256,
        sealed,
        command,
        copy,
    })
}

/// Writes a payload atomically under its name. An existing one has the same bytes, or is not firelay's.
fn copy(directory: &Path, place: &Place, bytes: &[u8], sealed: bool) -> Result<PathBuf, Failure> {
    let name = place.path.rsplit('/').next().unwrap_or_default();
    if name.is_empty() || name.starts_with('.') {
        return Err(Failure::Io(format!("{} names no file", place.url())));
    }
    let path = directory.join(name);
    match fs::read(&path) {
        Ok(found) if found == bytes => return Ok(path),
        Ok(_) => {
            return Err(Failure::Io(format!(
                "{} has other bytes than its name says: remove it",
                path.display()
            )));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Failure::file("read", &path, &error)),
        Err(_) => {}
    }
    let failed = |error: io::Error| Failure::file("write", &path, &error);
    // With write access, another user could replace these documents: the mode must not depend on the umask.
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o755).create(directory).map_err(failed)?;
    let access = if sealed { Access::Everyone } else { Access::Owner };
    disk::replace(&path, bytes, access).map_err(failed)?;
    Ok(path)
}
