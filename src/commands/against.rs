//! `verify --against`: the spec rendered again in memory, and a tree compared with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use firelay_verify::{Finding, Other, compare};

use super::{
    assembly::{Assembly, for_each_node},
    bundle::{bundle_path, refuse_lost},
    documents::{self, Documents, TreeFile},
    failure::Failure,
    project::Project,
    variables::{self, MachineVariables},
};
use crate::{
    cli::{Inputs, SpecArgs, Verify},
    encoding::sha256_hex,
    secrets::Bundle,
    tree::{self, Manifest, ManifestFile, TreeReader, is_update},
};

/// The differences between a tree and the render of its spec and bundle.
pub(super) fn findings(args: &Verify) -> Result<Vec<Finding>, Failure> {
    let inputs = inputs(args);
    let project = Project::load(&inputs.spec)?;
    refuse_lost(&bundle_path(&inputs), &args.out, &project.plan.name)?;
    let bundle = project.bundle(&inputs, "verify --against")?;
    let last = TreeReader::open(&args.out)?.manifest;
    if last.bundle_fingerprint != bundle.fingerprint() {
        return Err(Failure::Secrets(format!(
            "{} was rendered with the secrets {}, these are {}: name the right bundle with --secrets",
            args.out.display(),
            last.bundle_fingerprint,
            bundle.fingerprint()
        )));
    }
    let rendered = Rendered::of(&project, &bundle, &last, &args.out)?;
    let own = fs::read(args.out.join(MANIFEST)).map_err(|error| Failure::file("read", &args.out, &error))?;
    let from_disk = |path: &str| fs::read(args.out.join(path));
    let from_memory = |path: &str| rendered.get(path, &args.out);
    let compared = compare(
        Other {
            manifest: rendered.manifest.as_bytes(),
            fetch: &from_memory,
        },
        Other {
            manifest: &own,
            fetch: &from_disk,
        },
        &present(&args.out)?,
        &args.out,
    );
    Ok(compared?)
}

/// Name of the manifest.
const MANIFEST: &str = "manifest.json";

fn inputs(args: &Verify) -> Inputs {
    Inputs {
        spec: SpecArgs {
            specs: args.against.clone(),
            set: args.set.clone(),
            env: args.env,
            profiles: args.profiles.clone(),
        },
        secrets: args.secrets.clone(),
        identity: args.identity.clone(),
    }
}

/// A tree that was rendered and not written.
struct Rendered {
    manifest: String,
    /// The bytes of files that differ from those on the disk; `None` where they are the same.
    files: BTreeMap<String, Option<Vec<u8>>>,
}

impl Rendered {
    /// Renders all nodes. Files that the tree has in the same bytes are not kept, since there may be thousands.
    fn of(project: &Project, bundle: &Bundle, last: &Manifest, out: &Path) -> Result<Self, Failure> {
        let assembly = Assembly::new(project, bundle, last.founded)?;
        let assembly = assembly.dated(last.generations.clone(), last.administrator_issued_at);
        let nodes = for_each_node(&project.plan.nodes, |node| {
            let documents = Documents::of(&assembly, node)?;
            let files = documents.files();
            let files: Vec<_> = files.into_iter().map(|(file, bytes)| one(file, bytes, out)).collect();
            Ok((files, MachineVariables::new(project, &documents)))
        })?;
        let (files, machines): (Vec<_>, Vec<_>) = nodes.into_iter().unzip();
        let mut shared = documents::shared(&assembly, project)?;
        shared.extend(variables::files(None, project, bundle, machines)?);
        shared.push(tree::gitignore());
        let shared = shared.into_iter().map(|(file, bytes): TreeFile| one(file, &bytes, out));
        // A script is the difference of two specs, and one of them is gone: its own digest in the manifest has to do.
        let scripts = last.files.iter().filter(|file| is_update(&file.path));
        let scripts = scripts.map(|file| (file.clone(), None));
        let mut files: Vec<_> = files.into_iter().flatten().chain(shared).chain(scripts).collect();
        files.sort_by(|(one, _), (other, _)| one.path.cmp(&other.path));
        let mut manifest = documents::manifest(project, &assembly);
        manifest.files = files.iter().map(|(file, _)| file.clone()).collect();
        Ok(Self {
            manifest: manifest.to_json(),
            files: files.into_iter().map(|(file, bytes)| (file.path, bytes)).collect(),
        })
    }

    fn get(&self, path: &str, out: &Path) -> io::Result<Vec<u8>> {
        match self.files.get(path) {
            Some(Some(bytes)) => Ok(bytes.clone()),
            Some(None) => fs::read(out.join(path)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// A file with its size and digest, and its bytes if the tree has others.
fn one(mut file: ManifestFile, bytes: &[u8], out: &Path) -> (ManifestFile, Option<Vec<u8>>) {
    file.bytes = bytes.len() as u64;
    file.sha256 = sha256_hex(bytes);
    let same = fs::read(out.join(&file.path)).is_ok_and(|own| own == bytes);
    (file, (!same).then(|| bytes.to_vec()))
}

/// Every file below the tree, by its path with `/`. Links are not followed.
fn present(out: &Path) -> Result<BTreeSet<String>, Failure> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![String::new()]);
    while let Some(directory) = waiting.pop() {
        let path = out.join(&directory);
        let failed = |error: io::Error| Failure::file("read", &path, &error);
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = if directory.is_empty() {
                name
            } else {
                format!("{directory}/{name}")
            };
            if entry.file_type().map_err(failed)?.is_dir() {
                waiting.push(name);
            } else {
                found.insert(name);
            }
        }
    }
    Ok(found)
}
