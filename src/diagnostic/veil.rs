//! What of a text nobody is shown: the values of keys that hold secrets, or what the user alone knows whether it is one.
//!
//! Texts that are not YAML yet have to be veiled as well, so lines and their indentation are looked at, not a tree. In doubt
//! more is hidden, never less. Hidden bytes become as many `*`, so that offsets stay true; lines stay lines.

mod forms;
mod shapes;

use std::ops::Range;

use super::{Diagnostic, Source, Span};

pub(super) use forms::hide;
use forms::{closing, is_assignment, is_header};
use shapes::{mask_keys, mask_users};

/// Keys whose values are secrets wherever they stand.
const SECRET: &[&str] = &["password", "passwordHash", "token", "staticPodURLHeader"];
/// Keys of a spec and its patches whose values are the user's own texts.
const OWN: &[&str] = &["content", "query"];
/// Keys below which every value is hidden, and keys are shown.
const BELOW: &[&str] = &["stringData"];
/// As of [`BELOW`], in a spec and its patches: a `data` is a Secret's as likely as a ConfigMap's.
const OWN_BELOW: &[&str] = &["auth", "client", "commands", "data", "Environment", "headers"];
/// Lists of which the `value` of each element is hidden.
const LISTS: &[&str] = &["extraEnvs"];
/// As of [`LISTS`], in a spec and its patches.
const OWN_LISTS: &[&str] = &["json"];
/// The key of an element that holds its value.
const VALUE: &str = "value";

/// Which keys are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What a user wrote: a spec, a patch, `--set`.
    Written,
    /// A file of a machine, in which `content` or `data` are no more than words.
    Rendered,
}

/// What holds below a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    /// The value of `value` is hidden.
    List,
    /// Every value is.
    All,
}

/// Until where lines are hidden.
#[derive(Clone, Copy)]
enum Open {
    /// To the next line that is not indented further.
    Column(usize),
    /// To the next `path=` or `path.key=`.
    Assignment,
}

/// A spec, a patch or what was set on the command line, without its secrets.
pub fn veiled(text: &str) -> String {
    Veil::new(text, Kind::Written).run()
}

/// A rendered file without its secrets.
pub fn masked(text: &str) -> String {
    Veil::new(text, Kind::Rendered).run()
}

/// The findings without secrets in their words: where one is pointed at, it is not told.
pub(super) fn told(source: &Source, findings: &[Diagnostic]) -> Vec<Diagnostic> {
    let veils: Vec<_> = source.texts().iter().map(|text| veiled(&text.text)).collect();
    let hidden = |span: Span| {
        let number = source.number(span.start);
        let (text, veil) = (source.texts().get(number)?, veils.get(number)?);
        let place = span.start - text.start..span.end.checked_sub(text.start)?;
        let (word, shown) = (text.text.get(place.clone())?, veil.get(place)?);
        (word != shown).then_some(word)
    };
    let told = |finding: &Diagnostic| match finding.span.and_then(hidden) {
        Some(word) => finding.clone().without(word.trim_matches(['"', '\''])),
        None => finding.clone(),
    };
    findings.iter().map(told).collect()
}

/// Whether the value that some keys of a rendered file lead to is a secret.
pub fn is_secret(keys: &[&str]) -> bool {
    let veil = Veil::new("", Kind::Rendered);
    let (last, above) = keys.split_last().map_or(("", &[][..]), |(last, above)| (*last, above));
    let all = |key: &str| veil.below(key) == Within::All;
    let listed = above.iter().any(|key| veil.below(key) == Within::List);
    keys.iter().any(|key| veil.secret(key)) || keys.iter().any(|key| all(key)) || (listed && last == VALUE)
}

struct Veil<'t> {
    text: &'t str,
    kind: Kind,
    hidden: Vec<Range<usize>>,
    /// What holds below a column.
    around: Vec<(usize, Within)>,
    open: Option<Open>,
    /// Everything before this offset is done.
    done: usize,
}

/// A key, and where its value begins.
struct Key<'t> {
    text: &'t str,
    start: usize,
    value: usize,
    /// `key=value`.
    assigned: bool,
}

impl<'t> Veil<'t> {
    fn new(text: &'t str, kind: Kind) -> Self {
        Veil {
            text,
            kind,
            hidden: Vec::new(),
            around: Vec::new(),
            open: None,
            done: 0,
        }
    }

    fn run(mut self) -> String {
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            self.line(start, start + line.trim_end_matches(['\n', '\r']).len());
            start += line.len();
        }
        let mut out = self.text.to_owned();
        for range in std::mem::take(&mut self.hidden) {
            hide(&mut out, range.start, range.end);
        }
        mask_keys(&mut out);
        mask_users(&mut out);
        out
    }

    fn secret(&self, key: &str) -> bool {
        SECRET.contains(&key) || (self.kind == Kind::Written && OWN.contains(&key))
    }

    fn below(&self, key: &str) -> Within {
        let own = self.kind == Kind::Written;
        if BELOW.contains(&key) || (own && OWN_BELOW.contains(&key)) {
            Within::All
        } else if LISTS.contains(&key) || (own && OWN_LISTS.contains(&key)) {
            Within::List
        } else {
            Within::Nothing
        }
    }

    fn line(&mut self, start: usize, end: usize) {
        let line = &self.text[start..end];
        let inner = line.trim_start();
        if inner.is_empty() || end <= self.done {
            return;
        }
        let indent = line.len() - inner.len();
        let element = inner == "-" || inner.starts_with("- ");
        let marks = line.len() - inner.trim_start_matches(['-', ' ']).len();
        let words = (start + marks).max(self.done).min(end);
        if self.is_open(indent, element, inner) {
            if !is_header(&self.text[words..end]) {
                self.hidden.push(words..end);
            }
            return;
        }
        self.around
            .retain(|(column, _)| *column < indent || (*column == indent && element));
        let within = self.around.last().map_or(Within::Nothing, |(_, within)| *within);
        let from = (start + indent).max(self.done);
        let found = self.scan(from, end, start, within);
        if !found && within == Within::All {
            self.hidden.push(words..end);
        }
    }

    fn is_open(&mut self, indent: usize, element: bool, inner: &str) -> bool {
        let open = match self.open {
            None => false,
            Some(Open::Column(column)) => indent > column || (indent == column && element),
            Some(Open::Assignment) => !is_assignment(inner),
        };
        if !open {
            self.open = None;
        }
        open
    }

    /// Looks at the keys of a part; tells whether there are any. `line` is where its line begins.
    fn scan(&mut self, from: usize, to: usize, line: usize, within: Within) -> bool {
        let mut at = from;
        let mut any = false;
        while let Some(key) = (at < to).then(|| self.key(at, to, line)).flatten() {
            any = true;
            at = self.value(&key, to, line, within).max(key.value);
        }
        any
    }

    /// Hides the value of a key if it is to be hidden; tells where to go on.
    fn value(&mut self, key: &Key<'t>, to: usize, line: usize, within: Within) -> usize {
        let parts = || key.text.split(['.', '[', ']', '"', '\'']);
        let below = parts()
            .map(|part| self.below(part))
            .find(|below| *below != Within::Nothing);
        let below = below.unwrap_or(Within::Nothing);
        let valued = key.text == VALUE || key.text.ends_with(".value");
        let listed = within == Within::List || (below == Within::List && key.assigned);
        // Within one another such keys are shown, with nothing of theirs.
        let hidden = (within == Within::All && below != Within::All)
            || parts().any(|part| self.secret(part))
            || (listed && valued);
        let flow = key.assigned || self.in_flow(line, key.start);
        if hidden || (key.assigned && below == Within::All) {
            return self.hide(key, to, line, flow);
        }
        if below == Within::Nothing {
            return key.value;
        }
        match self.text[key.value..to].chars().next() {
            None | Some('#') if !flow => {
                self.around.push((key.start - line, below));
                to
            }
            Some('{' | '[') if self.opens(key, below) => {
                let close = closing(self.text, key.value).unwrap_or(to);
                self.scan(key.value + 1, close, key.value, below);
                self.done = self.done.max(close);
                close
            }
            _ if below == Within::All => self.hide(key, to, line, flow),
            _ => key.value,
        }
    }

    /// Whether keys in a flow collection are shown.
    fn opens(&self, key: &Key<'_>, below: Within) -> bool {
        below == Within::List || self.text[key.value..].starts_with('{')
    }

    fn hide(&mut self, key: &Key<'_>, to: usize, line: usize, flow: bool) -> usize {
        let rest = &self.text[key.value..to];
        let column = Open::Column(key.start - line);
        let end = match rest.chars().next() {
            None | Some('#') => to,
            _ if key.assigned && key.start == line => {
                self.open = Some(Open::Assignment);
                self.hidden.push(key.value..to);
                return to;
            }
            _ if is_header(rest) => to,
            Some('[' | '{' | '"' | '\'') => {
                let close = closing(self.text, key.value);
                let end = close.map_or(to, |close| close + 1);
                self.hidden.push(key.value..end);
                self.done = self.done.max(end);
                if close.is_some() {
                    return end;
                }
                end
            }
            _ => {
                let end = if flow {
                    rest.find([',', '}', ']'])
                } else {
                    rest.find(" #")
                };
                let end = key.value + rest[..end.unwrap_or(rest.len())].trim_end().len();
                self.hidden.push(key.value..end);
                end
            }
        };
        if !flow {
            self.open = Some(column);
            return to;
        }
        end
    }

    /// The next key of a part.
    fn key(&self, from: usize, to: usize, line: usize) -> Option<Key<'t>> {
        let part = &self.text[from..to];
        part.match_indices([':', '=']).find_map(|(at, mark)| {
            let (at, after) = (from + at, from + at + 1);
            let assigned = mark == "=";
            let follows = self.text[after..].chars().next();
            let before = self.text[from..at].trim_end();
            let quoted = before.ends_with(['"', '\'']);
            if !assigned && !quoted && follows.is_some_and(|next| !next.is_whitespace()) {
                return None;
            }
            let word = before.trim_end_matches(['"', '\'']);
            let inner = |character: char| character.is_alphanumeric() || "_$/-".contains(character);
            let path = |character: char| inner(character) || ".[]{}\"'".contains(character);
            let start = if assigned {
                word.rfind(|character| !path(character))
            } else {
                word.rfind(|character| !inner(character))
            };
            let start = start.map_or(0, |start| {
                start + word[start..].chars().next().map_or(1, char::len_utf8)
            });
            let start = from + start;
            let blanks = self.text[after..to].len() - self.text[after..to].trim_start_matches([' ', '\t']).len();
            (start < from + word.len()).then(|| Key {
                text: &self.text[start..from + word.len()],
                start: start - usize::from(self.text[line..start].ends_with(['"', '\''])),
                value: after + blanks,
                assigned,
            })
        })
    }

    /// Whether a place is within brackets that were opened on its line.
    fn in_flow(&self, line: usize, at: usize) -> bool {
        let before = &self.text[line.min(at)..at];
        let count = |brackets: [char; 2]| before.matches(brackets).count();
        count(['{', '[']) > count(['}', ']'])
    }
}

#[cfg(test)]
mod tests;
