//! What a directory lacks.

use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
};

use super::{Fault, Problem, Wanted, digest_of, work};

/// Looks at every file; `quick` looks only whether it is there and has bytes.
pub fn inspect(wanted: &[Wanted], directory: &Path, quick: bool, parallel: usize) -> Vec<Problem> {
    let look = |file: &Wanted| {
        let path = directory.join(&file.path);
        let what = if file.is_below() {
            fault(file, &path, quick)
        } else {
            Some(Fault::Unknown("it would lie outside of the directory".to_owned()))
        };
        what.map(|what| Problem {
            place: path.display().to_string(),
            what,
        })
    };
    work::each(wanted, parallel, look).into_iter().flatten().collect()
}

fn fault(file: &Wanted, path: &Path, quick: bool) -> Option<Fault> {
    let read = if quick { length(path) } else { digest_of(path) };
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Fault::Missing),
        Err(error) => Some(Fault::Unknown(error.to_string())),
        Ok((_, 0)) => Some(Fault::Empty),
        Ok((sha256, _)) if !quick && sha256 != file.sha256 => Some(Fault::Digest(sha256)),
        Ok(_) => None,
    }
}

fn length(path: &Path) -> io::Result<(String, u64)> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok((String::new(), about.len()))
}
