//! Certificates that lack their public keys in a document, completed by ssh-keygen as on the machine.

use std::{io::Write, process::Command};

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{Files, output};

/// The step that completes the certificates.
pub const STEP: &str = "/usr/local/lib/firelay/steps/11-public-keys";

/// Bytes of the coordinates of a point of P-256.
const POINT: usize = 64;

/// The files with whole certificates.
pub fn completed(mut files: Files) -> Files {
    if !files.contains_key(STEP) {
        return files;
    }
    let whole: Vec<_> = files.keys().filter_map(|path| whole(&files, path)).collect();
    for (path, text) in whole {
        files.get_mut(&path).unwrap().1 = text;
    }
    files
}

fn whole(files: &Files, path: &str) -> Option<(String, String)> {
    let key = files.get(&format!("{}.key", path.strip_suffix(".crt")?))?;
    let lines: Vec<_> = files[path].1.lines().collect();
    let [begin, before, after, end] = lines.as_slice() else {
        return None;
    };
    let decoded = |line: &str| STANDARD.decode(line).unwrap();
    let der = [decoded(before), point(&key.1), decoded(after)].concat();
    Some((path.to_owned(), format!("{begin}\n{}\n{end}\n", STANDARD.encode(der))))
}

/// The coordinates of a private key's public key.
fn point(key: &str) -> Vec<u8> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(key.as_bytes()).unwrap();
    let mut keygen = Command::new("ssh-keygen");
    let printed = output(keygen.arg("-y").arg("-f").arg(file.path()), "openssh-client").stdout;
    let printed = String::from_utf8(printed).unwrap();
    let blob = STANDARD.decode(printed.split(' ').nth(1).unwrap().trim()).unwrap();
    blob[blob.len() - POINT..].to_vec()
}
