//! `source` of files and manifests: content in a separate file.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{HostFile, Input, Spec};
use firelay_yaml::{Spanned, diagnostic::Span};

/// The maximum size of such a file. A platform's limit is far below; without a limit, a machine unpacks the whole
/// document in its memory.
pub const MOST_BYTES: u64 = 1 << 20;

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The message of the system.
    Because(String),
    /// It is larger than [`MOST_BYTES`].
    Large(u64),
}

/// Reads a file that a spec names.
pub type Load<'r> = &'r mut dyn FnMut(&Path) -> Result<Vec<u8>, Unread>;

/// A file that a spec names, or the reason why it cannot be read.
#[derive(Clone, PartialEq)]
pub struct Loaded {
    /// The path as written in the spec.
    pub path: PathBuf,
    /// Its bytes, which may be secret.
    pub bytes: Result<Arc<[u8]>, Unread>,
    /// Where its text begins in the source, if findings may point into it.
    pub start: Option<usize>,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loaded({})", self.path.display())
    }
}

impl Loaded {
    /// The content, if it is text. A byte of zero is in no text: shells drop it.
    pub fn text(&self) -> Option<&str> {
        let bytes = self.bytes.as_ref().ok()?;
        std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
    }
}

/// Files by the position and text of the value that names them: the same text means another file in another spec file.
pub(super) type Files = BTreeMap<(Span, String), Loaded>;

/// Reads the files that `source` names. The texts of manifests become texts of the input.
pub(super) fn load(spec: &Spec, input: &mut Input, read: Load<'_>) -> Files {
    let mut files = Files::new();
    for (source, is_manifest) in named(spec) {
        let path = input.beside(source);
        let mut loaded = Loaded {
            bytes: read(&path).map(Into::into),
            start: None,
            path,
        };
        if let Some(text) = loaded.text().filter(|_| is_manifest) {
            let number = input.source.add(loaded.path.display().to_string(), text);
            loaded.start = Some(input.source.texts()[number].start);
        }
        files.insert((source.span, source.value.clone()), loaded);
    }
    files
}

/// The values of `source`, and whether the file is a manifest.
fn named(spec: &Spec) -> Vec<(&Spanned<String>, bool)> {
    let files = spec
        .levels()
        .flat_map(|level| level.files)
        .filter_map(|file| file.source.as_ref());
    let manifests = spec.manifests.iter().filter_map(|manifest| manifest.source.as_ref());
    let files = files.map(|source| (source, false));
    files.chain(manifests.map(|source| (source, true))).collect()
}

/// Gives every `source` what it names.
pub(super) fn fill(spec: &mut Spec, files: &Files) {
    if files.is_empty() {
        return;
    }
    let find = |source: &Spanned<String>| {
        let known = files.get(&(source.span, source.value.clone())).cloned();
        known.or_else(|| another(source, files))
    };
    for manifest in &mut spec.manifests {
        manifest.loaded = manifest.source.as_ref().and_then(find);
    }
    every_file(spec, &mut |file| file.loaded = file.source.as_ref().and_then(find));
}

/// The file of a value that `why` varies after the files were read: some other file.
fn another(source: &Spanned<String>, files: &Files) -> Option<Loaded> {
    let first = (source.span, String::new());
    let (_, loaded) = files
        .range(first..)
        .next()
        .filter(|((span, _), _)| *span == source.span)?;
    let other = |bytes: &Arc<[u8]>| bytes.iter().chain(b"\n# another\n").copied().collect();
    Some(Loaded {
        path: source.value.clone().into(),
        bytes: loaded.bytes.as_ref().map(other).map_err(Clone::clone),
        start: loaded.start,
    })
}

fn every_file(spec: &mut Spec, visit: &mut impl FnMut(&mut HostFile)) {
    spec.files.iter_mut().for_each(&mut *visit);
    let roles = &mut spec.roles;
    for role in [&mut roles.control_plane, &mut roles.worker, &mut roles.etcd] {
        role.files.iter_mut().for_each(&mut *visit);
    }
    for node in &mut spec.nodes.value {
        node.value.files.iter_mut().for_each(&mut *visit);
    }
    for pool in &mut spec.pools {
        pool.value.files.iter_mut().for_each(&mut *visit);
    }
}
