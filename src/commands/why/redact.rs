//! Redacts secrets of the spec in rendered values, in every encoding.

use firelay_yaml::Content;
use zeroize::Zeroizing;

use super::subject::Reading;
use crate::{audit, redact::is_key};

/// A shorter secret is only searched as a whole value: as a part of others it would match everywhere.
const SHORTEST: usize = 6;
/// The text in place of a secret.
const REDACTED: &str = "***";

/// Secrets to look for.
pub(super) struct Secrets {
    values: Vec<Zeroizing<String>>,
    /// Each in every form, the longest first.
    forms: Vec<Zeroizing<String>>,
}

impl Secrets {
    pub(super) fn new(values: Vec<String>) -> Self {
        let values: Vec<_> = values.into_iter().map(Zeroizing::new).collect();
        let mut forms: Vec<_> = values.iter().flat_map(|value| forms(value)).collect();
        forms.retain(|form| form.trim().len() >= SHORTEST);
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Self { values, forms }
    }

    /// Whether a text holds a secret, or is one.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let is = |value: &Zeroizing<String>| !value.is_empty() && value.trim() == text.trim();
        self.values.iter().any(is) || self.forms.iter().any(|form| text.contains(form.as_str()))
    }

    /// Whether what was read is a secret as a whole. Of a mapping and of a text the rest is shown, unless there is a private key.
    pub(super) fn hide(&self, reading: &Reading) -> bool {
        let text = reading.text();
        let part = match reading {
            Reading::Value(node) => matches!(node.content, Content::Mapping(_)),
            Reading::Text(text) => text.contains('\n'),
            Reading::Gone | Reading::Nothing => true,
        };
        is_key(&text) || (!part && self.are_in(&text))
    }

    /// A rendered text without them.
    pub(super) fn redact_rendered(&self, text: &str) -> String {
        let without = |text: String, form: &Zeroizing<String>| text.replace(form.as_str(), REDACTED);
        self.forms.iter().fold(text.to_owned(), without)
    }
}

/// The value, its lines, and how units, JSON, hex and base64 have them.
fn forms(value: &str) -> Vec<Zeroizing<String>> {
    let lines = std::iter::once(value.trim()).chain(value.lines().map(str::trim));
    let mut forms = Vec::new();
    for line in lines.filter(|line| line.len() >= SHORTEST) {
        let quoted = format!("{line:?}");
        let written = [quoted[1..quoted.len() - 1].to_owned(), line.replace('%', "%%")];
        forms.extend(written.map(Zeroizing::new));
        let encoded = audit::encodings(line.as_bytes());
        let texts = encoded.iter().filter_map(|form| std::str::from_utf8(form).ok());
        forms.extend(texts.map(|text| Zeroizing::new(text.to_owned())));
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_taken_out_of_what_was_made_of_it() {
        let secrets = Secrets::new(vec!["hunter2%2F".to_owned(), "on".to_owned()]);
        assert_eq!(secrets.redact_rendered("x hunter2%2F y"), "x *** y");
        assert_eq!(secrets.redact_rendered("u:hunter2%%2F@h"), "u:***@h");
        assert!(secrets.are_in("on") && !secrets.are_in("on the node"));
        assert!(secrets.are_in("dTpodW50ZXIyJTJG"), "base64 of u:hunter2%2F");
    }
}
