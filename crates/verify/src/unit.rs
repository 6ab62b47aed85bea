//! Units as systemd reads them (systemd.syntax(7)): sections of assignments.

/// One assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment<'a> {
    pub(super) section: &'a str,
    pub(super) key: &'a str,
    pub(super) value: String,
}

/// The assignments of a unit or drop-in, in order; continued lines are one.
pub(super) fn assignments(text: &str) -> Vec<Assignment<'_>> {
    let mut found: Vec<Assignment<'_>> = Vec::new();
    let (mut section, mut continues) = ("", false);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with(['#', ';']) {
            continue;
        }
        let (part, more) = match trimmed.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (trimmed, false),
        };
        if continues {
            if let Some(last) = found.last_mut() {
                last.value.push(' ');
                last.value.push_str(part);
            }
        } else if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if let Some((key, value)) = part.split_once('=') {
            found.push(Assignment {
                section,
                key: key.trim(),
                value: value.trim().to_owned(),
            });
        }
        continues = more;
    }
    found
}

/// The arguments of a command, without quotes.
pub(super) fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in command.chars() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_on_and_comments_do_not_count() {
        let unit = "[Unit]\n# a=b\nAfter=a.service \\\n  b.service\n[Service]\nExecStart=-\"/bin/a b\" 'c d' e\n";
        let read = assignments(unit);
        assert_eq!(read.len(), 2, "{read:?}");
        assert_eq!(words(&read[0].value), ["a.service", "b.service"]);
        assert_eq!((read[1].section, read[1].key), ("Service", "ExecStart"));
        assert_eq!(words(&read[1].value), ["-/bin/a b", "c d", "e"]);
    }
}
