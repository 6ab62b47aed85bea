//! The fields of two specs that differ, after includes, patches and `--env`.

use std::collections::{BTreeMap, BTreeSet};

use firelay_yaml::{
    Content, Node,
    diagnostic::{Source, Span},
};

use crate::{
    changes::{FieldChange, has_credentials},
    redact::redact_spec,
    spec::{Composed, RULES},
};

/// Part of the path of a kernel's command line, which may hold passwords.
const KERNEL_ARGUMENTS: &str = ".arguments[";

/// A scalar of a spec.
struct Field {
    text: String,
    is_secret: bool,
}

/// All scalars by path: `nodes[cp1].labels.tier`.
type Fields = BTreeMap<String, Field>;

/// The fields that differ, in the order of their paths.
pub(super) fn differing(old: &Composed, new: &Composed) -> Vec<FieldChange> {
    let (old, new) = (fields(old), fields(new));
    let paths: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let change = |path: &String| {
        let (old, new) = (old.get(path), new.get(path));
        let (before, after) = (
            old.map(|field| field.text.as_str()),
            new.map(|field| field.text.as_str()),
        );
        if before == after {
            return None;
        }
        Some(match old.into_iter().chain(new).any(|field| field.is_secret) {
            true => FieldChange::hidden(path),
            false => FieldChange::new(path, before, after).shortened(),
        })
    };
    paths.into_iter().filter_map(change).collect()
}

fn fields(spec: &Composed) -> Fields {
    let collector = Collector {
        source: redact_spec(spec),
        inserted: spec.inserted.iter().map(|inserted| inserted.span).collect(),
    };
    let mut found = Fields::new();
    if let Some(root) = spec.root() {
        collector.collect(root, "", &mut Vec::new(), &mut found);
    }
    found
}

struct Collector {
    /// The texts, with the places of their secrets.
    source: Source,
    /// Places of values from the environment.
    inserted: BTreeSet<Span>,
}

impl Collector {
    fn collect<'n>(&self, node: &'n Node<'_>, path: &str, keys: &mut Vec<&'n str>, found: &mut Fields) {
        match &node.content {
            Content::Scalar(scalar) => {
                let field = Field {
                    text: scalar.text.to_string(),
                    is_secret: self.is_secret(node.span)
                        || has_credentials(&scalar.text)
                        || path.contains(KERNEL_ARGUMENTS),
                };
                found.insert(path.to_owned(), field);
            }
            Content::Mapping(entries) => {
                for (name, value) in entries {
                    let key = name.text().unwrap_or_default();
                    let below = if path.is_empty() {
                        key.to_owned()
                    } else {
                        format!("{path}.{key}")
                    };
                    keys.push(key);
                    self.collect(value, &below, keys, found);
                    keys.pop();
                    if let Some(field) = found.get_mut(&below).filter(|_| value.span == name.span) {
                        // The place of a block is that of its key, so it says nothing about the value.
                        field.is_secret |= !field.text.is_empty();
                    }
                }
            }
            Content::Sequence(items) => {
                let name = RULES.key_of(keys);
                for (at, item) in items.iter().enumerate() {
                    let own = name.and_then(|name| item.get(name)?.text());
                    let own = own.filter(|own| !has_credentials(own));
                    let below = match own {
                        Some(own) => format!("{path}[{own}]"),
                        None => format!("{path}[{at}]"),
                    };
                    self.collect(item, &below, keys, found);
                }
            }
        }
    }

    /// Without known places of secrets, every value may be one. The place of an alias is not that of its value.
    fn is_secret(&self, span: Span) -> bool {
        let text = self.source.texts().get(self.source.number(span.start));
        let Some((text, secrets)) = text.and_then(|text| Some((text, text.secrets.as_ref()?))) else {
            return true;
        };
        if text.text[span.start - text.start..].starts_with('*') {
            return true;
        }
        let touches = |secret: &Span| secret.start <= span.end && span.start <= secret.end;
        self.inserted.contains(&span) || secrets.iter().any(touches)
    }
}
