//! How values begin and end, and how they are hidden.

/// `|`, `>-`, `|2`: a text follows below.
pub(super) fn is_header(text: &str) -> bool {
    let text = text.split(" #").next().unwrap_or_default().trim_end();
    let more = text.strip_prefix(['|', '>']);
    more.is_some_and(|more| more.len() <= 2 && more.chars().all(|sign| sign.is_ascii_digit() || "+-".contains(sign)))
}

/// A path of keys, which begin in lower case, with `=` behind it.
pub(super) fn is_assignment(line: &str) -> bool {
    let key = line.find(|character: char| !character.is_ascii_alphanumeric());
    line.starts_with(|first: char| first.is_ascii_lowercase())
        && key.is_some_and(|end| line[end..].starts_with(['.', '[', '=']))
}

/// Where the quote or bracket that opens at an offset closes.
pub(super) fn closing(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut quote = None;
    let mut at = at;
    let mut before = b' ';
    while let Some(&byte) = bytes.get(at) {
        match quote {
            Some(b'"') if byte == b'\\' => at += 1,
            Some(open) if byte == open => {
                if byte == b'\'' && bytes.get(at + 1) == Some(&b'\'') {
                    at += 1;
                } else {
                    quote = None;
                    if depth == 0 {
                        return Some(at);
                    }
                }
            }
            // Within a word a quote is a letter like others.
            None if (byte == b'"' || byte == b'\'') && b" \t\n[{,:=".contains(&before) => quote = Some(byte),
            None if byte == b'[' || byte == b'{' => depth += 1,
            None if byte == b']' || byte == b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            Some(_) | None => {}
        }
        before = byte;
        at += 1;
    }
    None
}

/// Bytes replaced by as many `*`.
pub(in crate::diagnostic) fn hide(text: &mut String, start: usize, end: usize) {
    if text.is_char_boundary(start) && text.is_char_boundary(end) && start <= end {
        let stars = text[start..end]
            .bytes()
            .map(|byte| if byte == b'\n' { '\n' } else { '*' });
        let stars: String = stars.collect();
        text.replace_range(start..end, &stars);
    }
}
