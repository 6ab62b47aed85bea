//! One file: fetched into `NAME.part`, from where an earlier try stopped, and given its name when its digest is right.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use ureq::http::header;

use super::{
    Wanted,
    client::{Client, Method, Refusal, field},
    digest_of,
    progress::Progress,
};
use crate::disk::sync_directory;

/// Where the bytes of a file lie while it is not whole, and the validator of their version (RFC 9110 §8.8) beside them.
struct Part {
    bytes: PathBuf,
    validator: PathBuf,
}

impl Part {
    fn of(path: &Path) -> Self {
        let beside = |ending: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Self {
            bytes: beside(".part"),
            validator: beside(".part.version"),
        }
    }

    /// How many bytes are there, and of which version; nothing without either.
    fn begun(&self) -> Option<(u64, String)> {
        let length = fs::metadata(&self.bytes).ok()?.len();
        let version = fs::read_to_string(&self.validator).ok()?;
        (length > 0 && !version.is_empty()).then_some((length, version))
    }

    fn remove(&self) {
        // What is left is written over by the next try.
        let _ = fs::remove_file(&self.bytes);
        let _ = fs::remove_file(&self.validator);
    }
}

/// One try. Bytes that have come stay for the next one, unless they are wrong.
pub(super) fn attempt(client: &Client, wanted: &Wanted, path: &Path, progress: &Progress) -> Result<u64, Refusal> {
    let part = Part::of(path);
    let begun = part.begun();
    let measured = receive(client, &wanted.url, &part, begun.as_ref(), progress)?;
    let (sha256, bytes) = digest_of(&part.bytes).map_err(|error| disk(&part.bytes, &error))?;
    if sha256 != wanted.sha256 {
        part.remove();
        progress.took_back(bytes);
        let what = format!("it has sha256 {sha256}, expected {}", wanted.sha256);
        // A part of another version may have been gone on with, and without a length the end may not be the end.
        return Err(Refusal {
            passing: begun.is_some() || !measured,
            ..Refusal::lasting(&what)
        });
    }
    settle(&part, path).map_err(|error| disk(path, &error))?;
    Ok(bytes)
}

/// Asks for what is missing of the version that is there; a server that has another one, or cannot do it, sends all.
/// Whether the answer said where it ends.
fn receive(
    client: &Client,
    url: &str,
    part: &Part,
    begun: Option<&(u64, String)>,
    progress: &Progress,
) -> Result<bool, Refusal> {
    let range = begun.map(|(length, version)| (format!("bytes={length}-"), version.as_str()));
    let mut headers = vec![("accept-encoding", "identity")];
    if let Some((range, version)) = &range {
        headers.extend([("range", range.as_str()), ("if-range", version)]);
    }
    let mut answer = client.ask(Method::Get, url, &headers)?;
    let begins = |offset| starts_at(field(answer.headers(), header::CONTENT_RANGE), offset);
    let offset = begun.map_or(0, |(length, _)| *length);
    let goes_on = answer.status() == 206 && begun.is_some() && begins(offset);
    if answer.status() != 200 && !goes_on {
        part.remove();
        return Err(Refusal::passing("the server sends another part than it was asked for"));
    }
    let version = validator(&answer);
    progress.goes_on(if goes_on { offset } else { 0 });
    let file = open(part, goes_on, version.as_deref()).map_err(|error| disk(&part.bytes, &error))?;
    let measures = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    let measured = measures.iter().any(|name| answer.headers().contains_key(name));
    copy(&mut answer.body_mut().as_reader(), file, &part.bytes, progress)?;
    Ok(measured)
}

/// A strong validator: an entity tag, or the date where there is none.
fn validator(answer: &ureq::http::Response<ureq::Body>) -> Option<String> {
    let tag = field(answer.headers(), header::ETAG);
    let strong = tag.filter(|tag| !tag.starts_with("W/"));
    let date = || field(answer.headers(), header::LAST_MODIFIED).filter(|_| tag.is_none());
    strong.or_else(date).map(str::to_owned)
}

/// `bytes 100-199/200` begins at 100.
fn starts_at(range: Option<&str>, offset: u64) -> bool {
    let first = range.and_then(|range| range.strip_prefix("bytes ")?.split('-').next());
    first.and_then(|first| first.parse().ok()) == Some(offset)
}

fn open(part: &Part, goes_on: bool, version: Option<&str>) -> io::Result<File> {
    if goes_on {
        return OpenOptions::new().append(true).open(&part.bytes);
    }
    part.remove();
    let file = File::create(&part.bytes)?;
    if let Some(version) = version {
        fs::write(&part.validator, version)?;
    }
    Ok(file)
}

fn copy(body: &mut impl Read, mut file: File, path: &Path, progress: &Progress) -> Result<(), Refusal> {
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let read = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Refusal::passing(&format!("the connection broke off: {error}"))),
        };
        file.write_all(&buffer[..read]).map_err(|error| disk(path, &error))?;
        progress.received(read as u64);
    }
    file.sync_all().map_err(|error| disk(path, &error))
}

fn settle(part: &Part, path: &Path) -> io::Result<()> {
    fs::rename(&part.bytes, path)?;
    part.remove();
    path.parent().map_or(Ok(()), sync_directory)
}

fn disk(path: &Path, error: &io::Error) -> Refusal {
    Refusal::lasting(&format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_begins_where_it_says() {
        assert!(starts_at(Some("bytes 100-199/200"), 100));
        assert!(!starts_at(Some("bytes 0-199/200"), 100));
        assert!(!starts_at(Some("items 100-199/200"), 100));
        assert!(!starts_at(None, 0));
    }
}
