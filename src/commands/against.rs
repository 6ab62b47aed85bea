//! `verify --against`: the spec rendered again in memory, and a tree compared with it.

use std::{collections::BTreeSet, fs, io, path::Path};

use firelay_verify::{Finding, Other, compare};

use super::{
    assembly::Assembly,
    bundle::{bundle_path, refuse_lost},
    failure::Failure,
    kept,
    project::Project,
    rendered::Rendered,
};
use crate::{
    cli::{Inputs, SpecArgs, Verify},
    record,
    tree::{MANIFEST, TreeReader, is_update},
};

/// The differences between a tree and the render of its spec and bundle.
pub(super) fn findings(args: &Verify) -> Result<Vec<Finding>, Failure> {
    let inputs = inputs(args);
    let project = Project::load(&inputs.spec)?;
    refuse_lost(&bundle_path(&inputs), args.tree.path(), &project.plan.name)?;
    let bundle = project.bundle(&inputs, "verify --against")?;
    let last = TreeReader::open(args.tree.path())?.manifest;
    if last.bundle_fingerprint != bundle.fingerprint() {
        return Err(Failure::Secrets(format!(
            "{} was rendered with the secrets {}, these are {}: name the right bundle with --secrets",
            args.tree.path().display(),
            last.bundle_fingerprint,
            bundle.fingerprint()
        )));
    }
    let assembly = Assembly::new(&project, &bundle, last.founded)?;
    let assembly = assembly.dated(last.generations.clone(), last.administrator_issued_at);
    // A script is the difference of two specs, and one of them is gone; the record depends on earlier renders. Their own digests in the
    // manifest have to do.
    let scripts = { last.files.iter() }.filter(|file| is_update(&file.path) || file.path == record::COPY);
    let mut rendered = Rendered::of(&project, &assembly, scripts.cloned().collect(), args.tree.path())?;
    // A render of some machines takes the digests of theirs away.
    let mut inputs = kept::inputs(&project, &assembly, &rendered.manifest.files);
    inputs.retain(|name, _| last.inputs.contains_key(name));
    rendered.manifest.inputs = inputs;
    rendered.manifest.records.clone_from(&last.records);
    let own =
        fs::read(args.tree.path().join(MANIFEST)).map_err(|error| Failure::file("read", args.tree.path(), &error))?;
    let from_disk = |path: &str| fs::read(args.tree.path().join(path));
    let from_memory = |path: &str| rendered.get(path, args.tree.path());
    let manifest = rendered.manifest.to_json();
    let compared = compare(
        Other {
            manifest: manifest.as_bytes(),
            fetch: &from_memory,
        },
        Other {
            manifest: &own,
            fetch: &from_disk,
        },
        &present(args.tree.path())?,
        args.tree.path(),
    );
    Ok(compared?)
}

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
