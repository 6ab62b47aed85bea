//! The checks of a declaration, applied to a choice of parameters.

use firelay_yaml::{
    Content, Node,
    diagnostic::{Diagnostic, Severity, Span, nearest},
};
use serde_json::{Value, json};

use super::{Check, Choice, Declaration};
use crate::template;

/// The code of a check that does not hold.
pub const REFUSED: &str = "FL0803";

impl Check {
    /// The finding of a check that does not hold. The context has the parameters as `p`, and may have the cluster.
    pub fn evaluate(&self, choice: &Choice, context: &Value) -> Result<Option<Diagnostic>, template::Error> {
        let missing = self.missing(choice);
        if !missing.is_empty() {
            let help = format!("give {}", listed(&missing));
            return Ok(Some(self.finding(choice, Severity::Error, Some(help))));
        }
        let (expression, severity) = match (&self.refuse, &self.warn) {
            (Some(expression), _) => (expression, Severity::Error),
            (None, Some(expression)) => (expression, Severity::Warning),
            (None, None) => return Ok(None),
        };
        let fails = template::holds(&choice.declaration.folder(), expression, context)?;
        Ok(fails.then(|| self.finding(choice, severity, self.help.clone())))
    }

    fn missing(&self, choice: &Choice) -> Vec<&str> {
        let given = |name: &&str| choice.parameters.contains_key(*name) || choice.is_unsure(name);
        self.needs
            .iter()
            .map(String::as_str)
            .filter(|name| !given(name))
            .collect()
    }

    fn finding(&self, choice: &Choice, severity: Severity, help: Option<String>) -> Diagnostic {
        Diagnostic {
            severity,
            help,
            span: choice.span(self.at.as_deref().unwrap_or_default()),
            ..Diagnostic::error(REFUSED, self.message.clone())
        }
    }

    /// Whether its expression is about a parameter.
    fn concerns(&self, name: &str) -> bool {
        let expression = self.refuse.as_deref().unwrap_or_default();
        let mut words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        words.any(|word| word.strip_prefix("p.") == Some(name))
    }
}

impl Choice {
    fn is_unsure(&self, name: &str) -> bool {
        self.unsure.iter().any(|other| other == name)
    }

    /// The errors that the parameters show by themselves, whatever the rest of the spec is. A check of a parameter with another
    /// mistake is left out.
    pub fn refused_alone(&self) -> Vec<Diagnostic> {
        let context = json!({ "p": self.parameters });
        let checks = self.declaration.checks.iter().filter(|check| check.warn.is_none());
        let checks = checks.filter(|check| !self.unsure.iter().any(|name| check.concerns(name)));
        checks
            .filter_map(|check| check.evaluate(self, &context).ok()?)
            .collect()
    }
}

/// Parameters with a mistake of form, and those that unknown keys were probably meant to be.
pub(super) fn unsure(declaration: &Declaration, node: Option<&Node<'_>>, findings: &[Diagnostic]) -> Vec<String> {
    let Some(Content::Mapping(entries)) = node.map(|node| &node.content) else {
        return Vec::new();
    };
    let known = || declaration.parameters.keys().map(String::as_str);
    let mistaken = |node: &Node<'_>| findings.iter().any(|finding| has_place(node, finding.span));
    let wrong = entries.iter().filter(|(key, value)| mistaken(key) || mistaken(value));
    let names = wrong.filter_map(|(key, _)| nearest(key.text()?, known().collect::<Vec<_>>()));
    names.map(str::to_owned).collect()
}

/// Whether a node, or one below, stands at a place.
fn has_place(node: &Node<'_>, place: Option<Span>) -> bool {
    let here = Some(node.span) == place;
    here || match &node.content {
        Content::Scalar(_) => false,
        Content::Sequence(items) => items.iter().any(|item| has_place(item, place)),
        Content::Mapping(entries) => entries
            .iter()
            .any(|(key, value)| has_place(key, place) || has_place(value, place)),
    }
}

/// `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        names => names.join(""),
    }
}
