//! Paths into a tree, as `--set` has them: `nodes[cp1].labels."example.com/tier"`.

use super::{
    fault::{MAX_DEPTH, too_deep},
    merge::{Rules, is_null, missed, removes},
    scalar::kind,
    tree::{Content, Node, Tree},
};
use crate::diagnostic::{Diagnostic, Span, nearest};

/// Names of a list that a message has at most.
const MOST: usize = 12;

/// One step of a path, with its place.
#[derive(Clone, Debug)]
struct Step<'s> {
    name: &'s str,
    span: Span,
    /// `[name]`: an element of a list, or a key with dots.
    bracket: bool,
}

/// `PATH=VALUE`.
#[derive(Clone, Debug)]
pub struct Assignment<'s> {
    steps: Vec<Step<'s>>,
    value: Node<'s>,
}

impl<'s> Assignment<'s> {
    /// Parses an assignment that begins at an offset of a source. Dots separate keys; a key with dots is in quotes or
    /// brackets. An element of a list is in brackets, by the value of its key or by its position from 0. The value is
    /// YAML; nothing and `null` remove. `FL0019` for an invalid assignment.
    pub fn parse(text: &'s str, start: usize) -> Result<Self, Vec<Diagnostic>> {
        let (steps, at) = split(text, start).map_err(|at| vec![refused(text, at, start)])?;
        let value = value(&text[at..], start + at)?;
        match steps.last() {
            Some(last) if steps.len() + value.depth() > MAX_DEPTH => Err(vec![*too_deep(last.span)]),
            _ => Ok(Self { steps, value }),
        }
    }

    /// The keys of the path, and where the value begins, of a text whose path can be read.
    pub fn keys(text: &'s str) -> Option<(Vec<&'s str>, usize)> {
        let (steps, at) = split(text, 0).ok()?;
        Some((steps.iter().map(|step| step.name).collect(), at))
    }

    /// The first key of the path, with its place.
    pub fn top(&self) -> (&'s str, Span) {
        self.steps
            .first()
            .map_or(("", Span::default()), |step| (step.name, step.span))
    }

    /// Sets the value, replacing an old one; creates missing mappings. Elements of lists must exist.
    pub fn apply(&self, root: &mut Node<'s>, rules: &Rules) -> Result<(), Diagnostic> {
        let mut node = root;
        let mut path = Vec::new();
        let Some((last, way)) = self.steps.split_last() else {
            return Ok(());
        };
        for (step, next) in way.iter().zip(&self.steps[1..]) {
            node = step.enter(node, Some(next), &mut path, rules)?;
        }
        if is_null(&self.value) {
            return last.remove(node, &path, &self.value, rules);
        }
        *last.enter(node, None, &mut path, rules)? = self.value.clone();
        Ok(())
    }
}

impl<'s> Step<'s> {
    /// The child of a step; a missing key is created, unless the next step needs a list.
    fn enter<'n>(
        &self,
        node: &'n mut Node<'s>,
        next: Option<&Self>,
        path: &mut Vec<&'s str>,
        rules: &Rules,
    ) -> Result<&'n mut Node<'s>, Diagnostic> {
        if removes(node) {
            node.content = Content::Mapping(Vec::new());
        }
        let misfit = self.misfit(node);
        match &mut node.content {
            Content::Sequence(items) if self.bracket => {
                let at = self.position(items, path, rules)?;
                Ok(&mut items[at])
            }
            Content::Mapping(entries) => {
                path.push(self.name);
                let at = entries.iter().position(|(key, _)| key.text() == Some(self.name));
                let missing = at.is_none_or(|at| removes(&entries[at].1));
                if let Some(next) = next.filter(|next| missing && next.is_element(path, rules)) {
                    return Err(next.no_list(path));
                }
                let at = at.unwrap_or_else(|| {
                    entries.push((self.scalar(self.name), self.scalar("")));
                    entries.len() - 1
                });
                Ok(&mut entries[at].1)
            }
            _ => Err(misfit),
        }
    }

    fn remove(&self, node: &mut Node<'s>, path: &[&str], value: &Node<'s>, rules: &Rules) -> Result<(), Diagnostic> {
        let misfit = self.misfit(node);
        match &mut node.content {
            Content::Sequence(items) if self.bracket => {
                let at = self.position(items, path, rules)?;
                items.remove(at);
                Ok(())
            }
            Content::Mapping(entries) => {
                let keys: Vec<_> = entries.iter().filter_map(|(key, _)| key.text()).collect();
                let finding = missed(&self.scalar(self.name), "key", &keys);
                let at = entries.iter().position(|(key, _)| key.text() == Some(self.name));
                let removal = rules.keeps_removals.then(|| (self.scalar(self.name), value.clone()));
                entries.extend(removal);
                entries.remove(at.ok_or(finding)?);
                Ok(())
            }
            _ => Err(misfit),
        }
    }

    /// The position of the element: the one whose key has this value, or the one at this index.
    fn position(&self, items: &[Node<'_>], path: &[&str], rules: &Rules) -> Result<usize, Diagnostic> {
        let key = rules.key_of(path);
        let names: Vec<_> = key.map_or_else(Vec::new, |key| {
            items
                .iter()
                .map(|item| item.get(key).and_then(Node::text).unwrap_or_default())
                .collect()
        });
        let named = names.iter().position(|name| *name == self.name);
        let index = || self.name.parse().ok().filter(|at| *at < items.len());
        named.or_else(index).ok_or_else(|| {
            let finding = Diagnostic::error("FL0019", "no such element of the list").at(self.span);
            let otherwise = match key {
                Some(key) => format!("the list has no such {key}"),
                None => format!("elements are numbered from 0, and there are {}", items.len()),
            };
            // A URL may hold a password or a token.
            let names: Vec<_> = names.iter().copied().filter(|name| !name.contains("://")).collect();
            let finding = match names.is_empty() || names.len() > MOST {
                true => finding,
                false => finding.help(format!("elements: {}{}", names.join(", "), of_ranges(&names))),
            };
            finding
                .label(otherwise)
                .suggest(nearest(self.name, names.iter().copied()))
        })
    }

    /// Whether it can only be an element of the list at a path.
    fn is_element(&self, path: &[&str], rules: &Rules) -> bool {
        self.bracket && (rules.key_of(path).is_some() || self.name.parse::<usize>().is_ok())
    }

    /// An element is set of a list that no text has.
    fn no_list(&self, path: &[&str]) -> Diagnostic {
        let finding = Diagnostic::error("FL0019", "no such element of the list").at(self.span);
        finding
            .label("no spec has this list, so it has no elements")
            .help(format!("set all of it: {}=[…]", path.join(".")))
    }

    fn misfit(&self, node: &Node<'_>) -> Diagnostic {
        let finding = Diagnostic::error("FL0019", "the path leads nowhere").at(self.span);
        match &node.content {
            Content::Sequence(_) => finding
                .label("this is a key, and there is a list")
                .help("write an element of a list in brackets: nodes[cp1]"),
            _ => finding.label(format!("there is {}, which has no keys", kind(node))),
        }
    }

    fn scalar(&self, text: &'s str) -> Node<'s> {
        Node::scalar(text, true, self.span)
    }
}

/// The addition for names with a range: one element is several machines.
fn of_ranges(names: &[&str]) -> &'static str {
    match names.iter().any(|name| name.contains('{')) {
        true => "; one with a range is one element: set it as a whole, or write the machine as an entry of its own",
        false => "",
    }
}

/// The steps of an assignment and where its value begins, or where it cannot be read.
fn split(text: &str, start: usize) -> Result<(Vec<Step<'_>>, usize), usize> {
    let mut steps = Vec::new();
    let mut at = 0;
    while !text[at..].starts_with('=') || steps.is_empty() {
        let (step, next) = step(text, at, start).ok_or(at)?;
        steps.push(step);
        at = next;
    }
    Ok((steps, at + 1))
}

/// The step that begins at an offset, and where the next one does.
fn step(text: &str, at: usize, start: usize) -> Option<(Step<'_>, usize)> {
    let rest = &text[at..];
    let found = |from: usize, length: usize, after: usize, bracket| {
        let name = &text[from..from + length];
        let span = Span::new(start + from, start + from + length);
        (!name.is_empty()).then_some((Step { name, span, bracket }, after))
    };
    if rest.starts_with('[') {
        let length = rest.find(']')? - 1;
        return found(at + 1, length, at + length + 2, true);
    }
    let at = match rest.strip_prefix('.') {
        Some(_) if at > 0 => at + 1,
        Some(_) => return None,
        None if at > 0 => return None,
        None => at,
    };
    let rest = &text[at..];
    if let Some(quote) = rest.chars().next().filter(|first| ['"', '\''].contains(first)) {
        let length = rest[1..].find(quote)?;
        return found(at + 1, length, at + length + 2, false);
    }
    let length = rest.find(['.', '[', '='])?;
    found(at, length, at + length, false)
}

fn refused(text: &str, at: usize, start: usize) -> Diagnostic {
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    let finding = Diagnostic::error("FL0019", "not an assignment").at(Span::new(start + at, start + end));
    let label = if text.contains('=') {
        "a key, or an element in brackets, should be here"
    } else {
        "`=` and a value are missing"
    };
    finding
        .label(label)
        .help("write PATH=VALUE, with a path such as nodes[cp1].labels.tier")
}

fn value(text: &str, start: usize) -> Result<Node<'_>, Vec<Diagnostic>> {
    if text.trim().is_empty() {
        return Ok(Node::scalar("", true, Span::new(start, start)));
    }
    let tree = Tree::parse_at(text, start)?;
    if tree.findings.is_empty() {
        Ok(tree.root)
    } else {
        Err(tree.findings)
    }
}
