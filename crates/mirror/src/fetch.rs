//! Downloading one file to `NAME.part`, resuming an earlier attempt, and renaming it when its digest is correct.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use firelay_base::disk::sync_directory;
use ureq::http::header;

use crate::{
    Wanted, algorithm,
    client::{Client, Method, RequestError, field},
    digest_of,
    progress::Progress,
    read_pieces,
};

/// The partial download of a file, with the validator of its version in a second file (RFC 9110 §8.8).
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

    /// The number of bytes present, and their version; nothing without either.
    fn begun(&self) -> Option<(u64, String)> {
        let length = fs::metadata(&self.bytes).ok()?.len();
        let version = fs::read_to_string(&self.validator).ok()?;
        (length > 0 && !version.is_empty()).then_some((length, version))
    }

    fn remove(&self) {
        // The next try overwrites what could not be removed.
        let _ = fs::remove_file(&self.bytes);
        let _ = fs::remove_file(&self.validator);
    }
}

/// One attempt. Received bytes are kept for the next one, unless they are wrong.
pub(crate) fn attempt(client: &Client, wanted: &Wanted, path: &Path, progress: &Progress) -> Result<u64, RequestError> {
    let part = Part::of(path);
    let begun = part.begun();
    let measured = receive(client, &wanted.url, &part, begun.as_ref(), progress)?;
    let (digest, bytes) = digest_of(&part.bytes, &wanted.digest).map_err(|error| disk(&part.bytes, &error))?;
    if digest != wanted.digest {
        part.remove();
        progress.discarded(bytes);
        let what = format!("it has {} {digest}, expected {}", algorithm(&digest), wanted.digest);
        // The part may have been of another version, and without a length a broken connection looks like the end.
        return Err(RequestError {
            temporary: begun.is_some() || !measured,
            ..RequestError::permanent(what)
        });
    }
    settle(&part, path).map_err(|error| disk(path, &error))?;
    Ok(bytes)
}

/// Requests the missing bytes of the version that was begun; a server that has another one, or no ranges, sends all.
/// Returns whether the answer gave its length.
fn receive(
    client: &Client,
    url: &str,
    part: &Part,
    begun: Option<&(u64, String)>,
    progress: &Progress,
) -> Result<bool, RequestError> {
    let range = begun.map(|(length, version)| (format!("bytes={length}-"), version.as_str()));
    let mut headers = vec![("accept-encoding", "identity")];
    if let Some((range, version)) = &range {
        headers.extend([("range", range.as_str()), ("if-range", version)]);
    }
    let mut answer = client.request(Method::Get, url, &headers)?;
    let begins = |offset| starts_at(field(answer.headers(), header::CONTENT_RANGE), offset);
    let offset = begun.map_or(0, |(length, _)| *length);
    let resumes = answer.status() == 206 && begun.is_some() && begins(offset);
    if answer.status() != 200 && !resumes {
        part.remove();
        return Err(RequestError::temporary(
            "the server sends another part than it was asked for",
        ));
    }
    let version = validator(&answer);
    progress.resumed(if resumes { offset } else { 0 });
    let file = open(part, resumes, version.as_deref()).map_err(|error| disk(&part.bytes, &error))?;
    let measures = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    let measured = measures.iter().any(|name| answer.headers().contains_key(name));
    copy(&mut answer.body_mut().as_reader(), file, &part.bytes, progress)?;
    Ok(measured)
}

/// A strong validator: an entity tag, or the date if there is none.
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

fn open(part: &Part, resumes: bool, version: Option<&str>) -> io::Result<File> {
    if resumes {
        return OpenOptions::new().append(true).open(&part.bytes);
    }
    part.remove();
    let file = File::create(&part.bytes)?;
    if let Some(version) = version {
        fs::write(&part.validator, version)?;
    }
    Ok(file)
}

fn copy(body: &mut impl Read, mut file: File, path: &Path, progress: &Progress) -> Result<(), RequestError> {
    let take = |piece: &[u8]| {
        file.write_all(piece).map_err(|error| disk(path, &error))?;
        progress.received(piece.len() as u64);
        Ok(())
    };
    let broken = |error| RequestError::temporary(format!("the connection broke off: {error}"));
    read_pieces(body, take, broken)?;
    file.sync_all().map_err(|error| disk(path, &error))
}

fn settle(part: &Part, path: &Path) -> io::Result<()> {
    fs::rename(&part.bytes, path)?;
    part.remove();
    path.parent().map_or(Ok(()), sync_directory)
}

fn disk(path: &Path, error: &io::Error) -> RequestError {
    RequestError::permanent(format!("cannot write {}: {error}", path.display()))
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
