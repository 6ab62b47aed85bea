//! A step's script, as far as order goes: which lines run in which function, and which of them wait.
//!
//! This is no shell. It knows the form in which the steps are written: functions at the left margin that end with `}` there,
//! and a call at the beginning of a command.

use std::{collections::BTreeMap, sync::LazyLock};

use regex_lite::Regex;

/// Functions within each other before they count as a circle, and lines that a script runs at most.
const DEEPEST: usize = 16;
const LONGEST: usize = 10_000;

static WAIT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:^|[\s;&|(!{])(wait_for|poll)\s+"));
static HOST: LazyLock<Regex> = LazyLock::new(|| pattern(r"https?://(\[[^\]]*\]|[^/:\s,]+)"));
static FUNCTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([A-Za-z_][A-Za-z0-9_]*)\(\) \{"));
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?:^|[;&|({!])\s*(?:(?:if|elif|then|else|do|until|while|!)\s+)*([A-Za-z_][A-Za-z0-9_]*)")
});

pub fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("patterns are constants, and tests use them")
}

/// A line that runs, with those that are continued joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The function that it stands in, or nothing.
    pub within: &'a str,
    /// The line.
    pub text: &'a str,
}

/// A call of `wait_for` or `poll`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Seconds, or what stands for them.
    pub limit: String,
    /// The command that it repeats.
    pub command: Vec<String>,
}

/// A script in its functions.
#[derive(Debug, Default)]
pub struct Script {
    functions: BTreeMap<String, Vec<String>>,
}

impl Script {
    /// Reads a script; what is no function is the function without a name.
    pub fn parse(text: &str) -> Self {
        let mut functions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut within = String::new();
        for line in text.replace("\\\n", " ").lines() {
            if let Some(found) = FUNCTION.captures(line) {
                found[1].clone_into(&mut within);
            } else if line == "}" {
                within.clear();
            } else if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                let lines = functions.entry(within.clone()).or_default();
                lines.push(line.trim().to_owned());
            }
        }
        Self { functions }
    }

    /// All lines, of whatever function.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let functions = self.functions.iter();
        functions.flat_map(|(within, lines)| lines.iter().map(|text| Line { within, text }))
    }

    /// The lines of one function.
    pub fn function(&self, name: &str) -> Option<&[String]> {
        self.functions.get(name).map(Vec::as_slice)
    }

    /// The lines in the order of running: after a line those of the functions that it calls, if they are entered.
    pub fn run(&self, enters: &dyn Fn(&str) -> bool) -> Vec<Line<'_>> {
        let mut lines = Vec::new();
        self.enter("", enters, 0, &mut lines);
        lines
    }

    fn enter<'a>(&'a self, name: &str, enters: &dyn Fn(&str) -> bool, depth: usize, lines: &mut Vec<Line<'a>>) {
        let Some((within, own)) = self.functions.get_key_value(name).filter(|_| depth < DEEPEST) else {
            return;
        };
        for text in own {
            if lines.len() >= LONGEST {
                return;
            }
            lines.push(Line { within, text });
            for called in commands(text).filter(|called| enters(called)) {
                self.enter(called, enters, depth + 1, lines);
            }
        }
    }
}

/// The first words of the commands of a line.
pub fn commands(line: &str) -> impl Iterator<Item = &str> {
    let found = COMMAND.captures_iter(line).filter_map(|found| found.get(1));
    let whole = |end: usize| line[end..].chars().next().is_none_or(|next| " \t;)&|".contains(next));
    found.filter(move |word| whole(word.end())).map(|word| word.as_str())
}

/// The waits of a line.
pub fn calls(line: &str) -> Vec<Call> {
    let found = WAIT.find_iter(line);
    found
        .map(|found| {
            let mut words = words(&line[found.end()..]).into_iter();
            let mut next = || words.next().unwrap_or_default();
            let limit = next();
            // What it says that it waits for is for people.
            next();
            Call {
                limit,
                command: words.collect(),
            }
        })
        .collect()
}

/// Hosts of the URLs in a text, each once, without brackets.
pub fn hosts(text: &str) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for found in HOST.captures_iter(text) {
        let host = found[1].trim_matches(['[', ']']).to_owned();
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

/// How many URLs there are in a text.
pub fn urls(text: &str) -> u64 {
    HOST.find_iter(text).count() as u64
}

/// The words of the first command in a line, without quotes.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), _) if open == char => quote = None,
            (None, '"' | '\'') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, ';' | '|' | '&' | '<' | '>' | ')' | '}') => break,
            (None, _) if char.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_wherever_a_command_begins() {
        let line = r#"if [ -e x ] && poll 120 "an earlier try" registered; then"#;
        let call = Call {
            limit: "120".to_owned(),
            command: vec!["registered".to_owned()],
        };
        assert_eq!(calls(line), [call]);
        let line = r#"wait_for "$FL_WAIT" "mount of $source" mount "$directory" </dev/null"#;
        let found = calls(line);
        assert_eq!(found[0].limit, "$FL_WAIT");
        assert_eq!(found[0].command, ["mount", "$directory"]);
        assert!(calls("report wait_form x; poller 1 2").is_empty());
        assert_eq!(calls("wait_for")[..], [], "nothing follows");
    }

    #[test]
    fn functions_run_where_they_are_called() {
        let script =
            Script::parse("a() {\n  one\n}\nb() {\n  two\n  a || b\n}\nif x; then\n  a\nelse\n  b\nfi\n# a\nmark a\n");
        let run = |enters: &dyn Fn(&str) -> bool| {
            let lines = script.run(enters);
            lines.iter().map(|line| line.text).collect::<Vec<_>>().join(",")
        };
        assert_eq!(run(&|name| name == "a"), "if x; then,a,one,else,b,fi,mark a");
        assert!(run(&|_| true).len() < 20_000, "a circle ends");
        assert_eq!(script.run(&|name| name == "a")[2].within, "a");
    }
}
