//! JSON patches of a document: what their paths lead to.

use firelay_yaml::{Content, Node, diagnostic::Diagnostic};

use super::{Accepted, Codes, Judge, Place};
use crate::profile::Takes;

impl Accepted {
    /// What is wrong with the operations of a JSON patch (RFC 6902) of a document: it is told at their paths.
    pub(in crate::plan) fn operations(&self, kind: &str, root: &Node<'_>, codes: Codes) -> Vec<Diagnostic> {
        let Content::Sequence(operations) = &root.content else {
            return Vec::new();
        };
        let judgement = self.run(kind, codes, false, |judge, _| {
            operations.iter().for_each(|operation| judge.operation(operation));
        });
        judgement.findings
    }
}

impl Judge<'_> {
    fn operation(&mut self, operation: &Node<'_>) {
        let text = |key| operation.get(key).and_then(Node::text);
        let Some(path) = text("path").and_then(|path| path.strip_prefix('/')) else {
            return;
        };
        let at = operation.get("path").map(|path| path.span).unwrap_or_default();
        let mut takes = Takes::Kind(self.kind.to_owned());
        let mut place = Place::top("", at);
        for segment in path.split('/') {
            let name = segment.replace("~1", "/").replace("~0", "~");
            let below = place.below(&name, at);
            match self.step(&takes, &place.path, &name) {
                Ok(Some(next)) => takes = next,
                Ok(None) => return,
                Err(finding) => return self.judgement.findings.push(finding.at(at)),
            }
            place = below;
        }
        let gives = matches!(text("op"), Some("add" | "replace" | "test"));
        if let Some(value) = operation.get("value").filter(|_| gives) {
            self.value(&takes, value, &place);
        }
    }

    /// What stands below a name; nothing if anything may.
    fn step(&self, takes: &Takes, above: &str, name: &str) -> Result<Option<Takes>, Diagnostic> {
        let accepted = self.accepted;
        match (takes, accepted.kinds.fields_of(takes)) {
            (_, Some(_)) if above.is_empty() && matches!(name, "apiVersion" | "kind") => Ok(None),
            (_, Some(fields)) => match fields.get(name).filter(|field| field.is_of(accepted.minor)) {
                Some(field) => Ok(Some(field.takes.clone())),
                None => Err(self.unknown(fields, above, name)),
            },
            (Takes::List(of) | Takes::Map(_, of), None) => Ok(Some((**of).clone())),
            (Takes::Gates, None) => Ok(Some(Takes::Switch(None))),
            _ => Ok(None),
        }
    }
}
