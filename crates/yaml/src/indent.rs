//! Indentation of block mappings and lists: what a line that the parser refuses was meant to continue.
//!
//! The parser stops where a line fits no open mapping. It names neither the line that was to be continued nor the column,
//! so the columns of the lines above are read again here.

/// Complaints of the parser that a wrong column causes.
const COMPLAINTS: [&str; 4] = [
    "did not find expected key",
    "did not find expected '-' indicator",
    "mapping values are not allowed",
    "invalid indentation",
];

/// A column at which a line could begin, and the line that set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Level {
    column: usize,
    line: usize,
    /// Elements of a list begin here, else keys.
    element: bool,
}

/// The correct indentation of a refused line, if its indentation may be the cause. `offset` is within the line.
pub(super) fn help(text: &str, offset: usize, complaint: &str) -> Option<String> {
    if !COMPLAINTS.iter().any(|known| complaint.contains(known)) {
        return None;
    }
    let before = &text[..text.floor_char_boundary(offset.min(text.len()))];
    let number = before.matches('\n').count();
    let lines: Vec<_> = text.lines().collect();
    let line = lines.get(number)?;
    let above = lines[..number].iter().rfind(|line| !line.trim().is_empty());
    if is_glued(line) || above.is_some_and(|line| is_glued(line)) {
        return Some("write a blank after `-`".to_owned());
    }
    let column = indent(line);
    let element = is_element(line);
    let levels = levels(&lines[..number]);
    let fitting = levels.iter().filter(|level| level.element == element);
    let nearest = fitting.min_by_key(|level| level.column.abs_diff(column));
    let Some(nearest) = nearest.filter(|level| level.column != column) else {
        return inner_colon(line).map(str::to_owned);
    };
    let what = if element {
        "elements of one list"
    } else {
        "keys of one mapping"
    };
    Some(format!(
        "{what} begin in the same column: {}, as line {}",
        indented(nearest.column),
        nearest.line
    ))
}

/// `name: a: b`, whose value only quotes can save.
fn inner_colon(line: &str) -> Option<&'static str> {
    let twice = line.matches(": ").count() > 1;
    twice.then_some("quote the value: it has a colon and a blank in it")
}

/// The columns of the mappings and lists that are open after these lines, the innermost first.
fn levels(lines: &[&str]) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for (number, line) in lines.iter().enumerate().rev() {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') || content.starts_with("---") {
            continue;
        }
        let first = indent(line);
        let inside = is_element(line).then(|| first + 1 + indent(&content[1..]));
        let found = inside.into_iter().map(|column| (column, false));
        for (column, element) in found.chain([(first, inside.is_some())]) {
            let lowest = levels.last();
            // Elements may have the same indentation as their key.
            let below =
                lowest.is_none_or(|level| column < level.column || column == level.column && level.element && !element);
            if below {
                levels.push(Level {
                    column,
                    line: number + 1,
                    element,
                });
            }
        }
        if first == 0 && inside.is_none() {
            break;
        }
    }
    levels
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_element(line: &str) -> bool {
    let content = line.trim_start();
    content == "-" || content.starts_with("- ")
}

/// `-name: a` and `-{ name: a }`.
fn is_glued(line: &str) -> bool {
    let content = line.trim_start().strip_prefix('-');
    content.is_some_and(|content| content.starts_with(|next: char| next.is_alphabetic() || "{[\"'".contains(next)))
}

fn indented(column: usize) -> String {
    match column {
        0 => "do not indent this line".to_owned(),
        1 => "indent this line by 1 space".to_owned(),
        column => format!("indent this line by {column} spaces"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn told(text: &str, line: &str) -> String {
        help(text, text.find(line).unwrap(), "did not find expected key").unwrap()
    }

    #[test]
    fn a_key_is_compared_with_the_keys_above() {
        let text = "network:\n  pods: [a]\n   services: [b]\n";
        assert!(told(text, "   services").ends_with("by 2 spaces, as line 2"));
        let text = "network:\n    pods: [a]\n  services: [b]\n";
        assert!(told(text, "  services").ends_with("by 4 spaces, as line 2"));
    }

    #[test]
    fn keys_of_an_element_stand_behind_its_dash() {
        let text = "nodes:\n  - name: cp1\n  roles: [worker]\n";
        assert!(told(text, "  roles").ends_with("by 4 spaces, as line 2"));
    }

    #[test]
    fn an_element_is_compared_with_elements() {
        let text = "nodes:\n  - { name: a }\n - { name: b }\n";
        assert!(told(text, " - { name: b").ends_with("by 2 spaces, as line 2"));
    }

    #[test]
    fn a_dash_has_a_blank_behind_it() {
        let text = "nodes:\n  - { name: a }\n  -{ name: b }\n";
        assert_eq!(told(text, "  -{"), "write a blank after `-`");
        let text = "nodes:\n  -name: a\n   os: b\n";
        assert_eq!(told(text, "   os"), "write a blank after `-`");
    }

    #[test]
    fn a_value_with_a_colon_is_quoted() {
        let help = help(
            "os: x\nname: a: b\n",
            13,
            "mapping values are not allowed in this context",
        );
        assert!(help.unwrap().starts_with("quote the value"));
    }
}
