//! The base of a profile: one that it extends, or the embedded one of its name.

use firelay_yaml::{
    Content, Node, Rules, Tree,
    diagnostic::{Diagnostic, Source, Span, nearest},
};

use super::{EXTENDS, FOLDERS, Library, RULES, Resolved, SECURITY, SINGLE, kind};
use crate::spec;

/// Reads profiles, and keeps what is wrong with them.
pub(super) struct Reader<'l, 's> {
    pub(super) library: &'l Library,
    pub(super) source: &'s Source,
    pub(super) findings: Vec<Diagnostic>,
}

impl<'s> Reader<'_, 's> {
    /// A profile, over what it extends or what comes with firelay under its name.
    pub(super) fn read(&mut self, path: &str, chain: &mut Vec<String>) -> Option<Resolved<'s>> {
        let Some(number) = self.library.own.get(path).copied() else {
            return self.embedded(path);
        };
        let mut root = self.tree(number)?;
        let (folder, stem, key) = kind(path)?;
        let key_value = key.and_then(|key| root.get(key).map(|value| (key, value.clone())));
        if let Some((key, value)) = key_value.filter(|(_, value)| value.text() != Some(stem)) {
            let finding = Diagnostic::error("FL0022", format!("`{key}` is not the file's name")).at(value.span);
            self.tell(
                finding
                    .label(format!("the file is called {stem}.yaml"))
                    .help("leave it out: the file's name is the profile's"),
            );
            return None;
        }
        let extends = take(&mut root, EXTENDS);
        let base = match &extends {
            Some(node) if node.text() != Some(stem) => {
                let other = format!("{folder}/{}.yaml", node.text().unwrap_or_default());
                Some(self.base(path, &other, folder, node, chain)?)
            }
            _ => self
                .library
                .embedded
                .contains_key(path)
                .then(|| self.embedded(path))
                .flatten(),
        };
        let mut texts = vec![number];
        if let Some(base) = base {
            texts.extend(base.texts);
            let mut under = base.root;
            if base.path != path {
                // Names are one profile's own.
                take(&mut under, "aliases");
                take(&mut under, "suggest");
                take(&mut under, key.unwrap_or_default());
            }
            let (merged, findings) = firelay_yaml::merge(under, &root, rules(folder));
            findings.into_iter().for_each(|finding| self.tell(finding));
            root = merged;
        }
        if let Some(key) = key {
            name(&mut root, key, stem, self.source.texts()[number].start);
        }
        Some(Resolved {
            path: path.to_owned(),
            root,
            texts,
            own: true,
        })
    }

    /// The profile that another one extends.
    fn base(
        &mut self,
        path: &str,
        other: &str,
        folder: &str,
        place: &Node<'_>,
        chain: &mut Vec<String>,
    ) -> Option<Resolved<'s>> {
        chain.push(path.to_owned());
        let circle = chain.iter().any(|open| open == other);
        let known = self.library.own.contains_key(other) || self.library.embedded.contains_key(other);
        let finding = Diagnostic::error("FL0023", "a profile extends itself").at(place.span);
        let base = match (circle, known) {
            (true, _) => {
                self.tell(finding.label(format!("{} extends {other}", chain.join(" extends "))));
                None
            }
            (false, false) => {
                let names = self.library.names(folder);
                let near = nearest(place.text().unwrap_or_default(), names.iter().copied());
                let finding = Diagnostic::error("FL0023", "no such profile to extend").at(place.span);
                let known: Vec<_> = names.iter().copied().collect();
                let help = format!("profiles: {}", known.join(", "));
                self.tell(finding.label("no such profile").suggest(near).help(help));
                None
            }
            (false, true) => self.read(other, chain),
        };
        chain.pop();
        base
    }

    fn embedded(&mut self, path: &str) -> Option<Resolved<'s>> {
        let number = *self.library.embedded.get(path)?;
        Some(Resolved {
            path: path.to_owned(),
            root: self.tree(number)?,
            texts: vec![number],
            own: false,
        })
    }

    fn tree(&mut self, number: usize) -> Option<Node<'s>> {
        let text = &self.source.texts()[number];
        let (root, findings) = match Tree::parse_at(&text.text, text.start) {
            Ok(tree) => (Some(tree.root), tree.findings),
            Err(findings) => (None, findings),
        };
        findings.into_iter().for_each(|finding| self.tell(finding));
        root
    }

    /// A file is read again for each that extends it.
    fn tell(&mut self, finding: Diagnostic) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// A security profile holds a part of a spec.
fn rules(folder: &str) -> &'static Rules {
    match folder {
        SECURITY => &spec::RULES,
        _ => &RULES,
    }
}

pub(super) fn misplaced_file(source: &Source, path: &str, number: usize) -> Diagnostic {
    let start = source.texts()[number].start;
    let places = FOLDERS.iter().map(|(folder, _)| format!("{folder}/NAME.yaml"));
    let places: Vec<_> = places.chain(SINGLE.iter().map(|path| (*path).to_owned())).collect();
    let folder = path.split('/').next().unwrap_or_default();
    let near = nearest(folder, FOLDERS.iter().map(|(folder, _)| *folder).chain(SINGLE));
    let help = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
    Diagnostic::error("FL0022", format!("no profile is called {path}"))
        .at(Span { start, end: start })
        .help(format!("{help}profiles are {}", places.join(", ")))
}

fn take<'s>(root: &mut Node<'s>, key: &str) -> Option<Node<'s>> {
    let Content::Mapping(entries) = &mut root.content else {
        return None;
    };
    let at = entries.iter().position(|(name, _)| name.text() == Some(key))?;
    Some(entries.remove(at).1)
}

/// Gives a profile the name of its file, first.
fn name(root: &mut Node<'_>, key: &str, stem: &str, start: usize) {
    take(root, key);
    let scalar = |text: &str| Node::scalar(text.to_owned(), false, Span::new(start, start));
    if let Content::Mapping(entries) = &mut root.content {
        entries.insert(0, (scalar(key), scalar(stem)));
    }
}
