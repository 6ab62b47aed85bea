use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Error,
    disk::failed,
    names::{MANIFEST, last_manifest},
};
use crate::{
    delivery::{Manifest, ManifestFile},
    encoding::{gunzip, sha256_hex, unbase64},
    profile::Encoding,
};

/// A tree that was rendered, for what hands its files on.
#[derive(Debug)]
pub struct TreeReader {
    /// Where it is, without links on the way.
    pub root: PathBuf,
    /// What is in it.
    pub manifest: Manifest,
}

impl TreeReader {
    /// Opens the tree of the last render.
    pub fn open(out: &Path) -> Result<Self, Error> {
        let missing = || Error::Missing { path: out.to_owned() };
        let root = out.canonicalize().map_err(|_| missing())?;
        let manifest = last_manifest(&root.join(MANIFEST))?.ok_or_else(missing)?;
        Ok(Self { root, manifest })
    }

    /// The bytes of a file that the manifest names, if they are still those that were rendered.
    pub fn read(&self, file: &ManifestFile) -> Result<Vec<u8>, Error> {
        let path = self.root.join(&file.path);
        let bytes = fs::read(&path).map_err(failed("read", &path))?;
        if sha256_hex(&bytes) == file.sha256 {
            Ok(bytes)
        } else {
            Err(Error::Changed {
                paths: vec![file.path.clone()],
            })
        }
    }

    /// The text in a file, without the encoding that its platform wants.
    pub fn read_text(&self, file: &ManifestFile) -> Result<Vec<u8>, Error> {
        let bytes = self.read(file)?;
        let encoding = file.encoding.unwrap_or(Encoding::Plain);
        decoded(bytes, encoding).map_err(failed("decode", &self.root.join(&file.path)))
    }
}

fn decoded(bytes: Vec<u8>, encoding: Encoding) -> io::Result<Vec<u8>> {
    let bytes = if encoding.is_base64() { unbase64(&bytes)? } else { bytes };
    if encoding.is_gzip() { gunzip(&bytes) } else { Ok(bytes) }
}
