//! Several documents in one text.

use std::ops::Range;

/// The bytes of each document of a stream, without the marker lines between them; empty documents are included. `---`
/// at the start of a line is always a marker (YAML 1.2.2 §9.1.2).
pub fn split(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if is_marker(line) {
            parts.push(start..at);
            start = end;
        }
        at = end;
    }
    parts.push(start..text.len());
    parts
}

fn is_marker(line: &str) -> bool {
    let rest = line.strip_prefix("---");
    // Text after a marker on its line belongs to the document; in practice it is a comment.
    rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_lie_between_markers() {
        let text = "# head\n---\na: |\n  ---\n--- # second\nb: 1\n";
        let parts: Vec<_> = split(text).into_iter().map(|part| &text[part]).collect();
        assert_eq!(parts, ["# head\n", "a: |\n  ---\n", "b: 1\n"]);
    }
}
