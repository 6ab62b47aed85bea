//! A tree that is rendered in memory: `verify --against` compares it, and `report` shows it.

use std::{collections::BTreeMap, fs, io, path::Path};

use super::{
    assembly::{Assembly, for_each_node},
    documents::{self, Documents, TreeFile},
    failure::Failure,
    project::Project,
    variables::{self, MachineVariables},
};
use crate::{
    encoding::sha256_hex,
    tree::{self, Manifest, ManifestFile},
};

/// A tree that was rendered and not written.
pub(super) struct Rendered {
    pub(super) manifest: Manifest,
    /// The bytes of files that differ from those on the disk; `None` where they are the same.
    files: BTreeMap<String, Option<Vec<u8>>>,
}

impl Rendered {
    /// Renders all nodes. Files that the tree has in the same bytes are not kept, since there may be thousands. `others` are
    /// files of the tree that no render makes.
    pub(super) fn of(
        project: &Project,
        assembly: &Assembly<'_>,
        others: Vec<ManifestFile>,
        out: &Path,
    ) -> Result<Self, Failure> {
        let nodes = for_each_node(&project.plan.nodes, |node| {
            let documents = Documents::of(assembly, node)?;
            let files = documents.files();
            let files: Vec<_> = files.into_iter().map(|(file, bytes)| one(file, bytes, out)).collect();
            Ok((files, MachineVariables::new(project, &documents)))
        })?;
        let (files, machines): (Vec<_>, Vec<_>) = nodes.into_iter().unzip();
        let founder = documents::founder_files(project, assembly.bundle())?;
        let mut shared = documents::shared(assembly, project, &founder)?;
        shared.extend(variables::files(None, project, assembly.bundle(), machines)?);
        shared.push(tree::gitignore());
        let shared = shared.into_iter().map(|(file, bytes): TreeFile| one(file, &bytes, out));
        let others = others.into_iter().map(|file| (file, None));
        let mut files: Vec<_> = files.into_iter().flatten().chain(shared).chain(others).collect();
        files.sort_by(|(one, _), (other, _)| one.path.cmp(&other.path));
        let mut manifest = documents::manifest(project, assembly);
        manifest.files = files.iter().map(|(file, _)| file.clone()).collect();
        Ok(Self {
            manifest,
            files: files.into_iter().map(|(file, bytes)| (file.path, bytes)).collect(),
        })
    }

    /// The bytes of a file.
    pub(super) fn get(&self, path: &str, out: &Path) -> io::Result<Vec<u8>> {
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
