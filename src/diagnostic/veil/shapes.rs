//! What is hidden for how it looks, wherever it stands: keys in PEM or base64, passwords before an `@`.

use std::ops::Range;

use super::hide;

/// A line of base64 that is as long is a key's rather than a word.
const LONG: usize = 40;
const BEGIN: &str = "-----BEGIN";
const END: &str = "-----END";

/// Hides what stands in PEM, and lines that are nothing but long base64.
pub(super) fn mask_keys(text: &mut String) {
    let blocks: Vec<_> = text.match_indices(BEGIN).map(|(at, _)| block(text, at)).collect();
    let lines: Vec<_> = lines(text).filter_map(|line| long(text, line)).collect();
    for range in blocks.into_iter().chain(lines) {
        hide(text, range.start, range.end);
    }
}

/// What stands between the marks of a block that begins at an offset; without an end, all that looks like it.
fn block(text: &str, at: usize) -> Range<usize> {
    let after = at + BEGIN.len();
    let label = |character: char| character.is_ascii_uppercase() || character.is_ascii_digit() || character == ' ';
    let marked = text[after..].trim_start_matches(label).strip_prefix("-----");
    let start = marked.map_or(after, |inner| text.len() - inner.len());
    let next = text[start..].find(BEGIN).map_or(text.len(), |next| start + next);
    let end = text[start..next].find(END).map(|end| start + end);
    start..end.unwrap_or_else(|| without_end(&text[..next], start))
}

fn without_end(text: &str, start: usize) -> usize {
    let mut own = lines(&text[start..]).take_while(|line| {
        let line = &text[start + line.start..start + line.end];
        line.trim().bytes().all(is_base64)
    });
    // The mark's own line goes with the block, whatever is on it.
    let first = text[start..].find('\n').map_or(text.len(), |end| start + end);
    let rest = own.by_ref().last().map_or(first, |line| start + line.end);
    first.max(rest)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split('\n').map(move |line| {
        let range = start..start + line.len();
        start += line.len() + 1;
        range
    })
}

/// Where a line has nothing but base64, beside a list's mark and quotes. A path has neither digits nor capitals.
fn long(text: &str, line: Range<usize>) -> Option<Range<usize>> {
    let inner = text[line.start..line.end].trim_start_matches(['-', ' ', '\t', '"', '\'']);
    let start = line.end - inner.len();
    let inner = inner.trim_end_matches([' ', '\r', '"', '\'', ',']);
    let inner = inner.trim_end_matches("\\n");
    let drawn = inner
        .bytes()
        .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    (inner.len() >= LONG && drawn && inner.bytes().all(is_base64)).then(|| start..start + inner.len())
}

/// Hides user names and passwords: of URLs, and of what looks as if it was to be one.
pub(super) fn mask_users(text: &mut String) {
    let mut from = 0;
    while let Some(found) = text[from..].find("://") {
        let start = from + found + 3;
        if let Some(length) = user_of_url(&text[start..]) {
            hide(text, start, start + length);
        }
        from = start;
    }
    // From the last on: a password may have an `@`, too.
    let marks: Vec<_> = text.rmatch_indices('@').map(|(at, _)| at).collect();
    for at in marks.into_iter().filter(|at| *at > 0) {
        if let Some(start) = user_before(text, at) {
            hide(text, start, at);
        }
    }
}

/// How long the user and password are with which a URL's rest begins. A password may have blanks, too.
fn user_of_url(rest: &str) -> Option<usize> {
    let url = &rest[..rest.find([' ', '\t', '\n', '"', '\'']).unwrap_or(rest.len())];
    if let Some(at) = url.rfind('@') {
        return Some(at);
    }
    let (_, password) = url.split_once(':')?;
    let value = &rest[..rest.find(['\n', '"', '\'']).unwrap_or(rest.len())];
    let value = value.split(", ").next()?.split(" #").next()?;
    // A port and a path are no password.
    let port = password
        .split('/')
        .next()
        .is_some_and(|port| port.parse::<u16>().is_ok());
    value
        .rfind('@')
        .filter(|at| !port || value[..*at].trim_end().len() == url.len())
}

/// Where `user:password` begins that ends at an `@`. The digest of an image is none.
fn user_before(text: &str, at: usize) -> Option<usize> {
    let after = text[at..].strip_prefix('@')?;
    if after.starts_with("sha256:") || after.starts_with("sha512:") {
        return None;
    }
    let before = &text[..at];
    let start = before.rfind(|character: char| character.is_ascii_whitespace() || "\"'`".contains(character));
    let word = &before[start.map_or(0, |start| start + 1)..];
    let word = word.trim_start_matches(['[', '{', '(', '/']);
    // `path=value` on the command line.
    let word = match (word.find('='), word.find(':')) {
        (Some(assigned), Some(colon)) if assigned < colon => &word[assigned + 1..],
        _ => word,
    };
    let (user, password) = word.split_once(':')?;
    let plain = !user.is_empty() && !user.contains('@') && !password.is_empty() && !word.contains("://");
    plain.then(|| at - word.len())
}
