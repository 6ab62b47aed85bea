//! Values against what a field takes.

use firelay_yaml::{
    Content, Node,
    diagnostic::{Diagnostic, Span, nearest},
};
use serde_json::Value;

use super::{Judge, Place, entries, wanted::wanted, written};
use crate::{duration, profile::Takes};

impl Judge<'_> {
    /// `null` takes a farther value away, and is no value to the programs.
    pub(super) fn value(&mut self, takes: &Takes, node: &Node<'_>, place: &Place) {
        let is_mapping = matches!(node.content, Content::Mapping(_));
        match (takes, &node.content) {
            (Takes::Any, _) => {}
            (_, Content::Scalar(_)) if plain(node).is_null() => {}
            (Takes::List(of), Content::Sequence(items)) => {
                for (number, item) in items.iter().enumerate() {
                    let place = Place {
                        path: format!("{}[{number}]", place.path),
                        key: place.key.clone(),
                        span: written([item.span, place.span, Span::default()]),
                    };
                    self.value(of, item, &place);
                }
            }
            (Takes::Map(keys, of), _) if is_mapping => self.map(keys, of, node, place),
            (Takes::Gates, _) if is_mapping => self.gates(node, place),
            (Takes::Fields(_) | Takes::Kind(_), _) if is_mapping => {
                let accepted = self.accepted;
                for (key, value) in entries(node) {
                    if let Some(fields) = accepted.kinds.fields_of(takes) {
                        self.entry(fields, place, key, value);
                    }
                }
            }
            (_, Content::Scalar(_)) if fits(takes, &plain(node)) => {}
            _ => self.refuse(takes, node, place),
        }
    }

    fn map(&mut self, keys: &[String], of: &Takes, node: &Node<'_>, place: &Place) {
        for (key, value) in entries(node) {
            let name = key.text().unwrap_or_default();
            let below = place.below(name, written([key.span, value.span, place.span]));
            let directive = self.partial && name.starts_with('$');
            if directive || keys.is_empty() || keys.iter().any(|known| is_key(known, name)) {
                self.value(of, value, &below);
            } else {
                let finding = Diagnostic::error(self.codes.value, format!("`{}` has no key {name}", place.path));
                let near = nearest(name, keys.iter().map(String::as_str));
                let finding = match near {
                    Some(near) => finding.label(format!("did you mean `{near}`?")),
                    None => finding,
                };
                let help = format!("keys: {}", keys.join(", "));
                self.judgement.findings.push(finding.at(below.span).help(help));
            }
        }
    }

    fn gates(&mut self, node: &Node<'_>, place: &Place) {
        for (key, value) in entries(node) {
            let name = key.text().unwrap_or_default();
            let below = place.below(name, written([key.span, value.span, place.span]));
            match plain(value) {
                Value::Null => {}
                Value::Bool(on) => {
                    let finding = self.accepted.gate(name, on, below.span);
                    self.judgement.findings.extend(finding);
                }
                _ => self.refuse(&Takes::Switch(None), value, &below),
            }
        }
    }

    fn refuse(&mut self, takes: &Takes, node: &Node<'_>, place: &Place) {
        let finding = Diagnostic::error(self.codes.value, format!("not a value of `{}`", place.path)).at(place.span);
        let finding = finding.label(wanted(takes));
        let help = match node.content {
            Content::Scalar(_) => help(takes, &plain(node), &place.key),
            _ => None,
        };
        self.judgement.findings.push(match help {
            Some(help) => finding.help(help),
            None => finding,
        });
    }
}

/// What to write instead, where that is clear.
fn help(takes: &Takes, value: &Value, key: &str) -> Option<String> {
    match (takes, value) {
        (Takes::Switch(_) | Takes::Whole(..) | Takes::Number, Value::String(text)) if is_bare(text) => {
            Some(format!("write {text}, without quotes"))
        }
        (Takes::Duration(..), Value::Number(number)) => Some(format!("write {number}s, if seconds are meant")),
        (Takes::Choice(choices), Value::String(text)) => {
            let near = nearest(text, choices.iter().map(String::as_str))?;
            Some(format!("did you mean `{near}`?"))
        }
        (
            Takes::Switch(_)
            | Takes::Whole(..)
            | Takes::Number
            | Takes::List(_)
            | Takes::Map(..)
            | Takes::Gates
            | Takes::Fields(_)
            | Takes::Kind(_),
            _,
        ) => None,
        (_, Value::Number(_) | Value::Bool(_)) => Some(format!("write {key}: \"{value}\", with quotes")),
        _ => None,
    }
}

fn is_bare(text: &str) -> bool {
    text.parse::<i64>().is_ok() || matches!(text, "true" | "false")
}

/// A scalar as the programs read it.
fn plain(node: &Node<'_>) -> Value {
    serde_json::to_value(node).unwrap_or_default()
}

fn is_key(known: &str, name: &str) -> bool {
    known == name || (known.ends_with('-') && name.starts_with(known))
}

/// Whether a scalar is taken. An empty text counts as none where there is a choice.
fn fits(takes: &Takes, value: &Value) -> bool {
    let text = value.as_str();
    match takes {
        Takes::Switch(None) => value.is_boolean(),
        Takes::Switch(Some(only)) => value.as_bool() == Some(*only),
        Takes::Whole(least, most) => value.as_i64().is_some_and(|number| (*least..=*most).contains(&number)),
        Takes::Number => value.is_number(),
        Takes::Text => value.is_string(),
        Takes::Duration(least, most) => text
            .and_then(duration::nanoseconds)
            .is_some_and(|length| (*least..=*most).contains(&length)),
        Takes::Quantity => text.is_some_and(is_quantity),
        Takes::Amount => value.is_number() || text.is_some_and(is_quantity),
        Takes::Threshold => text.is_some_and(|text| is_quantity(text) || is_percentage(text)),
        Takes::Choice(choices) => text.is_some_and(|text| text.is_empty() || choices.iter().any(|it| it == text)),
        Takes::Any => true,
        Takes::List(_) | Takes::Map(..) | Takes::Gates | Takes::Fields(_) | Takes::Kind(_) => false,
    }
}

/// A quantity of zero or more (`k8s.io/apimachinery/pkg/api/resource/quantity.go`).
fn is_quantity(text: &str) -> bool {
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let digits = number.bytes().any(|byte| byte.is_ascii_digit());
    let exponent = suffix
        .strip_prefix(['e', 'E'])
        .map(|power| power.parse::<i32>().is_ok());
    let known = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    digits && number.matches('.').count() < 2 && (known.contains(&suffix) || exponent == Some(true))
}

fn is_percentage(text: &str) -> bool {
    let number = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    number.is_some_and(|number| (0.0..=100.0).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_those_of_kubernetes() {
        for text in ["0", "500m", "1.5Gi", "100Ki", "2e3", "1E-2", ".5", "5.", "+1"] {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["", ".", "1.2.3", "1 Gi", "1GiB", "-1", "Gi", "1e", "ten", "1Kb"] {
            assert!(!is_quantity(text), "{text}");
        }
        assert!(is_percentage("7.5%") && !is_percentage("101%") && !is_percentage("5"));
    }
}
