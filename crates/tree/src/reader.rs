//! A rendered tree, read.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use firelay_base::encoding::{gunzip, sha256_hex, unbase64};

use crate::{
    Encoding, Error, Manifest, ManifestFile,
    disk::failed,
    names::{MANIFEST, last_manifest},
};

/// A tree that was rendered, for what hands its files on.
#[derive(Debug)]
pub struct TreeReader {
    /// Where it is, without links on the way.
    pub root: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

impl TreeReader {
    /// Opens the tree of the last render.
    pub fn open(out: &Path) -> Result<Self, Error> {
        let missing = || Error::Missing(out.to_owned());
        let root = out.canonicalize().map_err(|_| missing())?;
        let manifest = last_manifest(&root.join(MANIFEST))?.ok_or_else(missing)?;
        Ok(Self { root, manifest })
    }

    /// The bytes of a file that the manifest names, if they are still those that were rendered.
    pub fn read(&self, file: &ManifestFile) -> Result<Vec<u8>, Error> {
        read(&self.root, file)
    }

    /// The text of a file, decoded from its platform's encoding.
    pub fn read_text(&self, file: &ManifestFile) -> Result<Vec<u8>, Error> {
        let bytes = self.read(file)?;
        let encoding = file.encoding.unwrap_or(Encoding::Plain);
        decoded(bytes, encoding).map_err(failed("decode", &self.root.join(&file.path)))
    }
}

/// The bytes of a file of a tree, which must have the manifest's digest.
pub(crate) fn read(root: &Path, file: &ManifestFile) -> Result<Vec<u8>, Error> {
    let path = root.join(&file.path);
    let paths = || vec![file.path.clone()];
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::Gone { paths: paths() }),
        Err(error) => Err(failed("read", &path)(error)),
        Ok(bytes) if sha256_hex(&bytes) == file.sha256 => Ok(bytes),
        Ok(_) => Err(Error::Changed { paths: paths() }),
    }
}

fn decoded(bytes: Vec<u8>, encoding: Encoding) -> io::Result<Vec<u8>> {
    let bytes = if encoding.is_base64() { unbase64(&bytes)? } else { bytes };
    if encoding.is_gzip() { gunzip(&bytes) } else { Ok(bytes) }
}
