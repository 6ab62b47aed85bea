//! Checks of a user's profile in addition to the types of its fields: documents, scripts and commands depend on them.

mod os;
mod platform;
mod release;
mod security;

use firelay_yaml::{
    Content, Node,
    diagnostic::{Diagnostic, Span},
};

use super::Resolved;

/// A profile that is looked at, and what is wrong with it.
pub(super) struct Check<'p> {
    root: &'p Node<'p>,
    findings: Vec<Diagnostic>,
}

impl<'p> Check<'p> {
    pub(super) fn of(profile: &'p Resolved<'_>) -> Self {
        Self {
            root: &profile.root,
            findings: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Result<(), Vec<Diagnostic>> {
        if self.findings.is_empty() {
            Ok(())
        } else {
            Err(self.findings)
        }
    }

    /// The place of a value, or of the nearest node above it.
    fn place(&self, path: &str) -> Span {
        let mut node = self.root;
        for key in path.split('/') {
            let below = match &node.content {
                Content::Sequence(items) => key.parse::<usize>().ok().and_then(|at| items.get(at)),
                _ => node.get(key),
            };
            match below {
                Some(below) => node = below,
                None => break,
            }
        }
        node.span
    }

    fn wrong(&mut self, path: &str, what: &str, label: &str, help: &str) {
        let finding = Diagnostic::error("FL0024", what).at(self.place(path)).label(label);
        let help = Some(help.to_owned()).filter(|help| !help.is_empty());
        self.findings.push(Diagnostic { help, ..finding });
    }

    fn path(&mut self, key: &str, path: &str) {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
        if !path.starts_with('/') || !path.bytes().all(inner) {
            self.wrong(
                key,
                "not an absolute path",
                "letters, digits and . _ - between slashes",
                "",
            );
        }
    }

    /// Words of a command line or of a list that a script reads.
    fn words(&mut self, key: &str, words: &[String], signs: &str) {
        for (at, word) in words.iter().enumerate() {
            self.word(&format!("{key}/{at}"), word, signs);
        }
    }

    fn word(&mut self, key: &str, word: &str, signs: &str) {
        let first = word.starts_with(|first: char| first.is_ascii_alphanumeric());
        if !first
            || !word
                .chars()
                .all(|sign| sign.is_ascii_alphanumeric() || signs.contains(sign))
        {
            let inner = if signs.is_empty() { "" } else { ", inside also " };
            let shown = signs.chars().map(|sign| format!("`{sign}`")).collect::<Vec<_>>();
            let label = format!("letters and digits{inner}{}", shown.join(" "));
            self.wrong(key, "not a word that a script can take", &label, "");
        }
    }

    fn command(&mut self, key: &str, command: &str) {
        if command.trim().is_empty() || command.contains(['\n', '\0']) {
            self.wrong(key, "not a line of shell", "one line, with something in it", "");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::Profiles, *};

    #[test]
    fn nothing_is_asked_that_firelays_own_profiles_lack() {
        let profiles = Profiles::embedded().unwrap();
        let root = Node {
            span: Span::default(),
            content: Content::Mapping(Vec::new()),
        };
        let mut check = Check {
            root: &root,
            findings: Vec::new(),
        };
        profiles.os.values().for_each(|os| check.os(os));
        profiles.platform.values().for_each(|platform| check.platform(platform));
        profiles.kubernetes.values().for_each(|minor| check.kubernetes(minor));
        check.catalog(&profiles.catalog);
        check.endpoint(&profiles.endpoint);
        check.containerd(&profiles.containerd);
        profiles.security.values().for_each(|security| check.security(security));
        assert_eq!(check.findings, []);
    }
}
