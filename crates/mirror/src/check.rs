//! Files that a directory or a server lacks.

use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
};

use ureq::http::header::CONTENT_LENGTH;

use crate::{
    Wanted,
    client::{Client, Method, RequestError, field},
    digest, digest_of, in_parallel,
};

/// A file of a mirror that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The path or URL that was checked.
    pub place: String,
    pub fault: Fault,
}

/// How a file of a mirror can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Missing,
    /// It has another digest, lower-case hex.
    Digest(String),
    /// The file exists and is empty.
    Empty,
    /// It could not be read, with the reason.
    Unreadable(String),
    /// The server did not answer, and why.
    NoAnswer(String),
}

/// Checks every file of a directory; `quick` only checks that it exists and is not empty.
pub fn check_local(wanted: &[Wanted], directory: &Path, quick: bool, parallel: usize) -> Vec<Problem> {
    let check = |file: &Wanted| {
        let path = directory.join(&file.path);
        let fault = if file.is_below() {
            local_fault(file, &path, quick)
        } else {
            Some(Fault::Unreadable("it would lie outside of the directory".to_owned()))
        };
        fault.map(|fault| Problem {
            place: path.display().to_string(),
            fault,
        })
    };
    in_parallel(wanted, parallel, check).into_iter().flatten().collect()
}

fn local_fault(file: &Wanted, path: &Path, quick: bool) -> Option<Fault> {
    match if quick {
        length(path)
    } else {
        digest_of(path, &file.digest)
    } {
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Fault::Missing),
        Err(error) => Some(Fault::Unreadable(error.to_string())),
        Ok((_, 0)) => Some(Fault::Empty),
        Ok((digest, _)) if !quick && digest != file.digest => Some(Fault::Digest(digest)),
        Ok(_) => None,
    }
}

fn length(path: &Path) -> io::Result<(String, u64)> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok((String::new(), metadata.len()))
}

/// Requests every file at its `url`; `quick` only checks that it exists.
pub fn check_remote(client: &Client, wanted: &[Wanted], quick: bool, parallel: usize) -> Vec<Problem> {
    let check = |file: &Wanted| {
        let fault = if quick { head(client, file) } else { get(client, file) };
        fault.map(|fault| Problem {
            place: file.url.clone(),
            fault,
        })
    };
    in_parallel(wanted, parallel, check).into_iter().flatten().collect()
}

fn head(client: &Client, file: &Wanted) -> Option<Fault> {
    match client.request(Method::Head, &file.url, &[]) {
        Err(error) => Some(fault(error)),
        // The length in an answer to HEAD is that of the answer to GET.
        Ok(answer) => (field(answer.headers(), CONTENT_LENGTH) == Some("0")).then_some(Fault::Empty),
    }
}

fn get(client: &Client, file: &Wanted) -> Option<Fault> {
    let mut answer = match client.request(Method::Get, &file.url, &[("accept-encoding", "identity")]) {
        Ok(answer) => answer,
        Err(error) => return Some(fault(error)),
    };
    match digest(&mut answer.body_mut().as_reader(), &file.digest) {
        Err(error) => Some(Fault::Unreadable(format!("the connection broke off: {error}"))),
        Ok((_, 0)) => Some(Fault::Empty),
        Ok((digest, _)) => (digest != file.digest).then_some(Fault::Digest(digest)),
    }
}

fn fault(error: RequestError) -> Fault {
    match error {
        RequestError { absent: true, .. } => Fault::Missing,
        RequestError {
            no_answer: true, text, ..
        } => Fault::NoAnswer(text),
        RequestError { text, .. } => Fault::Unreadable(text),
    }
}
