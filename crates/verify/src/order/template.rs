//! The chain's scripts, compared with their templates.
//!
//! A script is not parsed. It is firelay's own if its template renders to it for some values: the text outside of tags
//! matches, each condition has one value throughout, and a value is any text on one line.

use include_dir::{Dir, include_dir};

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../templates/boot");

/// States that are tried before a text counts as different.
const MOST: usize = 100_000;

/// A part of a template, as an instruction for the comparison.
#[derive(Debug)]
enum Op {
    /// This text comes next.
    Text(String),
    /// A value comes next.
    Value,
    /// The folder of the scripts comes next.
    Folder,
    /// Goes on where the condition is `is`, else at `otherwise`.
    If {
        condition: &'static str,
        is: bool,
        otherwise: usize,
    },
    /// Goes on, or at another instruction.
    Either(usize),
    /// Goes on at another instruction.
    Goto(usize),
}

/// A template as instructions.
#[derive(Debug, Default)]
pub(super) struct Template {
    ops: Vec<Op>,
}

/// A block whose end is not read yet: instructions without a target.
struct Block {
    test: Option<usize>,
    ends: Vec<usize>,
}

impl Template {
    /// Reads a template such as `boot/driver.j2`. `known` returns the values of some expressions.
    pub fn read(name: &str, known: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut template = Self::default();
        template.include(name, known);
        template
    }

    fn include(&mut self, name: &str, known: &dyn Fn(&str) -> Option<String>) {
        let file = name.strip_prefix("boot/").and_then(|path| TEMPLATES.get_file(path));
        let source = file.and_then(|file| file.contents_utf8()).unwrap_or_default();
        let mut open: Vec<Block> = Vec::new();
        for token in tokens(source) {
            match token {
                Token::Text(text) => self.ops.push(Op::Text(text.to_owned())),
                Token::Value("lib") => self.ops.push(Op::Folder),
                Token::Value(expression) => self.ops.push(known(expression).map_or(Op::Value, Op::Text)),
                Token::Tag("include", name) => self.include(name.trim_matches('"'), known),
                Token::Tag(tag, condition) => self.tag(tag, condition, &mut open),
            }
        }
    }

    fn tag(&mut self, tag: &str, condition: &'static str, open: &mut Vec<Block>) {
        if matches!(tag, "if" | "for") {
            let test = Some(self.ops.len());
            open.push(Block { test, ends: Vec::new() });
        }
        let Some(block) = open.last_mut() else { return };
        if matches!(tag, "elif" | "else") {
            block.ends.push(self.ops.len());
            self.ops.push(Op::Goto(0));
            self.target(block.test);
            block.test = (tag == "elif").then_some(self.ops.len());
        }
        match tag {
            "if" | "elif" => self.ops.push(test(condition)),
            "for" => self.ops.push(Op::Either(0)),
            "endfor" => self.ops.extend(block.test.map(Op::Goto)),
            _ => {}
        }
        if matches!(tag, "endif" | "endfor") {
            let unfinished = open
                .pop()
                .into_iter()
                .flat_map(|block| block.ends.into_iter().chain(block.test));
            unfinished.for_each(|at| self.target(Some(at)));
        }
    }

    /// Connects an instruction to the next one.
    fn target(&mut self, at: Option<usize>) {
        let next = self.ops.len();
        let op = at.and_then(|at| self.ops.get_mut(at));
        if let Some(Op::If { otherwise: to, .. } | Op::Either(to) | Op::Goto(to)) = op {
            *to = next;
        }
    }

    /// The first line that differs from every output of the template. `folder` contains the scripts.
    pub fn difference(&self, text: &str, folder: &str) -> Option<usize> {
        let mut states = vec![State::default()];
        let mut furthest = 0;
        for _ in 0..MOST {
            let Some(state) = states.pop() else { break };
            furthest = furthest.max(state.at);
            match self.ops.get(state.op) {
                None if state.at == text.len() => return None,
                None => {}
                Some(Op::Folder) if text[state.at..].starts_with(folder) => {
                    states.push(state.to(state.op + 1, state.at + folder.len()));
                }
                Some(op) => {
                    let next = self.ops.get(state.op + 1);
                    state.step(op, next, text, &mut states, &mut furthest);
                }
            }
        }
        Some(
            String::from_utf8_lossy(&text.as_bytes()[..furthest])
                .matches('\n')
                .count()
                + 1,
        )
    }
}

fn test(condition: &'static str) -> Op {
    let positive = condition.strip_prefix("not ");
    Op::If {
        condition: positive.unwrap_or(condition),
        is: positive.is_none(),
        otherwise: 0,
    }
}

/// A comparison on its way: the next instruction, the next byte, and the values of the conditions.
#[derive(Clone, Debug, Default)]
struct State {
    op: usize,
    at: usize,
    /// The shortest length of the value at this place that was not tried yet.
    length: usize,
    conditions: Vec<(&'static str, bool)>,
}

impl State {
    fn to(&self, op: usize, at: usize) -> Self {
        Self {
            op,
            at,
            length: 0,
            conditions: self.conditions.clone(),
        }
    }

    /// Adds the states that may follow; the likeliest is the last.
    fn step(&self, op: &Op, next: Option<&Op>, text: &str, states: &mut Vec<Self>, furthest: &mut usize) {
        let (number, at) = (self.op, self.at);
        let rest = &text[at..];
        match op {
            Op::Text(own) if rest.starts_with(own.as_str()) => states.push(self.to(number + 1, at + own.len())),
            Op::Text(own) => *furthest = (*furthest).max(at + common(rest, own)),
            Op::Value => {
                let line = rest.split('\n').next().unwrap_or_default();
                let mut ends = (self.length..=line.len()).filter(|end| line.is_char_boundary(*end));
                let end = ends.find(|end| {
                    let Some(Op::Text(next)) = next else { return true };
                    let same = common(&rest[*end..], next);
                    *furthest = (*furthest).max(at + end + same);
                    same == next.len()
                });
                // A longer value is tried only if this one fails, so that few states are pending.
                if let Some(end) = end {
                    let longer = Self {
                        length: end + 1,
                        ..self.clone()
                    };
                    states.extend([longer, self.to(number + 1, at + end)]);
                }
            }
            Op::If {
                condition,
                is,
                otherwise,
            } => {
                let known = self.conditions.iter().find(|(name, _)| name == condition);
                let possible = [false, true]
                    .into_iter()
                    .filter(|holds| known.is_none_or(|(_, known)| known == holds));
                states.extend(possible.map(|holds| {
                    let mut state = self.to(if holds == *is { number + 1 } else { *otherwise }, at);
                    state.conditions.push((condition, holds));
                    state
                }));
            }
            Op::Either(other) => states.extend([self.to(*other, at), self.to(number + 1, at)]),
            Op::Goto(other) => states.push(self.to(*other, at)),
            Op::Folder => *furthest = (*furthest).max(at),
        }
    }
}

/// The bytes with which both texts begin.
fn common(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other);
    same.count()
}

/// A part of a template's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Text(&'static str),
    Value(&'static str),
    /// The keyword of a tag, and the rest of it.
    Tag(&'static str, &'static str),
}

/// The tokens of a template, with `trim_blocks` and `lstrip_blocks` as `src/template.rs` sets them.
fn tokens(source: &'static str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let (mut from, mut search) = (0, 0);
    while let Some(start) = source[search..].find('{').map(|at| search + at) {
        let end = match source[start..].get(..2) {
            Some("{{") => "}}",
            Some("{%") => "%}",
            Some("{#") => "#}",
            _ => {
                search = start + 1;
                continue;
            }
        };
        let Some(length) = source[start..].find(end) else { break };
        let inner = &source[start + 2..start + length];
        let is_value = end == "}}";
        tokens.push(Token::Text(before(
            source,
            from,
            start,
            is_value,
            inner.starts_with('-'),
        )));
        let words = inner.trim_matches('-').trim();
        match end {
            "}}" => tokens.push(Token::Value(words)),
            "%}" => {
                let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
                tokens.push(Token::Tag(word, rest));
            }
            _ => {}
        }
        let after = &source[start + length + 2..];
        let rest = match (inner.ends_with('-'), is_value) {
            (true, _) => after.trim_start(),
            (false, true) => after,
            (false, false) => after.strip_prefix('\n').unwrap_or(after),
        };
        from = source.len() - rest.len();
        search = from;
    }
    tokens.push(Token::Text(&source[from..]));
    tokens.retain(|token| *token != Token::Text(""));
    tokens
}

/// The text before a tag, without the blanks that are dropped.
fn before(source: &'static str, from: usize, start: usize, is_value: bool, trims: bool) -> &'static str {
    let text = &source[from..start];
    let line = source[..start].rfind('\n').map_or(0, |at| at + 1);
    match is_value {
        _ if trims => text.trim_end(),
        false if source[line..start].trim().is_empty() => &source[from..line.max(from)],
        _ => text,
    }
}
