//! Which scalars of a tree a value follows: each is varied, and those whose variants change the value are its sources.

use firelay_yaml::{
    Content, Node, Scalar,
    diagnostic::{Diagnostic, Span},
};
use std::collections::BTreeSet;

use rayon::prelude::*;

use super::vary::{self, Path};

/// The effect of a variant of a tree.
pub(super) enum Verdict {
    /// The value is another one, or gone.
    Changed,
    /// The value stays.
    Same,
    /// The variant cannot be rendered: with these findings, if it is refused.
    Useless(Vec<Diagnostic>),
}

/// Tries variants of a tree.
pub(super) struct Search<'a> {
    pub(super) root: &'a Node<'static>,
    /// The value, to compare texts with.
    pub(super) text: &'a str,
    /// Judges a variant.
    pub(super) verdict: &'a (dyn Fn(Node<'static>) -> Verdict + Sync),
    /// Words that can replace each other.
    pub(super) words: &'a [Vec<String>],
}

#[derive(Clone, Copy, PartialEq)]
enum SiteResult {
    Source,
    Guess,
    Nothing,
}

impl Search<'_> {
    /// The places of the sources in their order, and whether each is a guess: no variant of it can be rendered, but its text is
    /// part of the value's.
    pub(super) fn run(&self, sites: &[Path]) -> Vec<(Span, bool)> {
        let unused = self.unused_lists(sites);
        let live: Vec<_> = sites
            .iter()
            .filter(|site| !unused.iter().any(|list| site.starts_with(list)))
            .collect();
        let (wholes, scalars): (Vec<&Path>, Vec<&Path>) = live.into_iter().partition(|site| self.is_collection(site));
        // Other systems or versions have to be tried one after the other.
        let (named, plain): (Vec<&Path>, Vec<&Path>) = scalars.into_iter().partition(|site| self.alike(site).is_some());
        let kept: Vec<_> = named.into_iter().chain(self.sift(&plain)).collect();
        let outcomes: Vec<_> = kept.par_iter().map(|site| self.scalar(site)).collect();
        let mut found: Vec<(&Path, SiteResult)> = kept
            .iter()
            .zip(outcomes)
            .filter_map(|(site, outcome)| Some((*site, outcome?)))
            .filter(|(_, outcome)| *outcome != SiteResult::Nothing)
            .collect();
        // Lists and mappings without a source in them, as a whole, the innermost first.
        let mut wholes = wholes;
        wholes.sort_by_key(|site| std::cmp::Reverse(site.len()));
        for level in wholes.chunk_by(|one, other| one.len() == other.len()) {
            let open: Vec<_> = level
                .iter()
                .filter(|site| !found.iter().any(|(source, _)| source.starts_with(site)))
                .collect();
            let sources: Vec<_> = open
                .par_iter()
                .filter(|site| self.whole(site))
                .map(|site| **site)
                .collect();
            found.extend(sources.into_iter().map(|site| (site, SiteResult::Source)));
        }
        let source = |(site, outcome): (&Path, SiteResult)| {
            Some((vary::at(self.root, site)?.span, outcome == SiteResult::Guess))
        };
        let sources: BTreeSet<_> = found.into_iter().filter_map(source).collect();
        sources.into_iter().collect()
    }

    /// The scalars that may matter: halves that can be varied together without an effect are excluded.
    fn sift<'s>(&self, sites: &[&'s Path]) -> Vec<&'s Path> {
        let mut variant = Some(self.root.clone());
        for site in sites {
            let other = self.text_at(site).and_then(|scalar| {
                let text = vary::others(&scalar.text).into_iter().next()?;
                Some(vary::scalar(scalar, text))
            });
            variant = variant
                .zip(other)
                .and_then(|(root, other)| vary::with(&root, site, other));
        }
        match variant.map(|variant| (self.verdict)(variant)) {
            Some(Verdict::Same) => Vec::new(),
            _ if sites.len() < 2 => sites.to_vec(),
            _ => {
                let (one, other) = sites.split_at(sites.len() / 2);
                let (mut one, other) = rayon::join(|| self.sift(one), || self.sift(other));
                one.extend(other);
                one
            }
        }
    }

    fn text_at(&self, site: &[usize]) -> Option<&Scalar<'static>> {
        match &vary::at(self.root, site)?.content {
            Content::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The group of words that contains a scalar.
    fn alike(&self, site: &[usize]) -> Option<&[String]> {
        let scalar = self.text_at(site)?;
        let words = self
            .words
            .iter()
            .find(|words| words.iter().any(|word| *word == scalar.text))?;
        Some(words)
    }

    /// Long lists that may as well be empty.
    fn unused_lists<'s>(&self, sites: &'s [Path]) -> Vec<&'s Path> {
        let is_unused = |site: &&&Path| {
            let variant = vary::emptied(self.root, site);
            variant.is_some_and(|variant| matches!((self.verdict)(variant), Verdict::Same))
        };
        sites
            .iter()
            .collect::<Vec<_>>()
            .par_iter()
            .filter(|site| is_unused(site))
            .copied()
            .collect()
    }

    fn is_collection(&self, site: &[usize]) -> bool {
        vary::at(self.root, site).is_some_and(|node| !matches!(node.content, Content::Scalar(_)))
    }

    fn whole(&self, site: &[usize]) -> bool {
        let variant = vary::without(self.root, site);
        variant.is_some_and(|variant| matches!((self.verdict)(variant), Verdict::Changed))
    }

    /// `None` for what is no scalar.
    fn scalar(&self, site: &[usize]) -> Option<SiteResult> {
        let scalar = self.text_at(site)?;
        let mut useful = false;
        let mut choices = Vec::new();
        let texts = match self.alike(site) {
            Some(words) => words.iter().filter(|word| **word != scalar.text).cloned().collect(),
            None => vary::others(&scalar.text),
        };
        let altered = |text: String| vary::with(self.root, site, vary::scalar(scalar, text));
        let mut variants = vary::without(self.root, site)
            .into_iter()
            .chain(texts.into_iter().filter_map(altered));
        for variant in variants.by_ref() {
            match (self.verdict)(variant) {
                Verdict::Changed => return Some(SiteResult::Source),
                Verdict::Same => useful = true,
                Verdict::Useless(findings) => choices.extend(findings.iter().filter_map(offered)),
            }
        }
        // The message about an unknown choice lists them.
        choices.sort();
        choices.dedup();
        let chosen = choices.into_iter().flatten().filter(|choice| *choice != scalar.text);
        for variant in chosen.filter_map(|text| vary::with(self.root, site, vary::scalar(scalar, text))) {
            match (self.verdict)(variant) {
                Verdict::Changed => return Some(SiteResult::Source),
                Verdict::Same => useful = true,
                Verdict::Useless(_) => {}
            }
        }
        let resembles = !useful && scalar.text.len() > 2 && self.text.contains(&*scalar.text);
        Some(if resembles {
            SiteResult::Guess
        } else {
            SiteResult::Nothing
        })
    }
}

/// The choices that a finding of an unknown one offers.
fn offered(finding: &Diagnostic) -> Option<Vec<String>> {
    let listed = finding.help.as_deref().filter(|_| finding.code == "FL0012")?;
    let listed = listed.strip_prefix("choices: ")?;
    Some(listed.split(", ").map(str::to_owned).collect())
}
