//! YAML with source spans, and diagnostics. The only package that uses the YAML crates.
//!
//! Reading goes text → [`Tree`] (every node with its place) → serde, and collects every finding of one run. Writing goes
//! through serde and is safe for readers of YAML 1.1, cloud-init's among them.

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod build;
pub mod config_schema;
mod decode;
mod decode_context;
pub mod diagnostic;
pub mod duration;
mod emit;
mod environment;
mod fault;
mod format;
mod indent;
mod json_patch;
pub mod json_schema;
mod merge;
mod minor;
mod owned_node;
mod path;
mod pointer;
mod raw_value;
mod redact_env;
mod scalar;
mod spanned;
mod stream;
mod tree;
mod unknown;
mod value;
mod write;

use std::fmt;

use serde::de::DeserializeOwned;

use crate::diagnostic::{Diagnostic, Source};

pub use decode_context::{Aliases, Partial};
pub use emit::{Error, FlowMap, emit, emit_shared};
pub use environment::{Inserted, substitute, unsubstituted};
pub use format::{FORMATS, Format};
pub use json_patch::{Operation, Verb, patch};
pub use merge::{MISSED, Rules, merge};
pub use minor::Minor;
pub use owned_node::OwnedNode;
pub use path::Assignment;
pub use pointer::{PathError, Pointer};
pub use raw_value::RawValue;
pub use redact_env::redact_env;
pub use scalar::{plain_text, quotable};
pub use spanned::{OptionalKey, Spanned};
pub use stream::split;
pub use tree::{Content, Node, NotYaml, Scalar, Tree, documents};
pub use unknown::{PRESENT, unknown_choice, unknown_key};

/// Reads one document of YAML 1.2, the first text of a source, into `T`. Every finding of the run is returned, in the order of the source.
pub fn decode<T: DeserializeOwned>(source: &Source) -> Result<T, Vec<Diagnostic>> {
    let text = source.texts().first().map_or("", |text| &text.text);
    decode_partial(&Tree::parse(text)?, &[]).complete()
}

/// [`decode`] for a text that is a tree already, with what could be read in spite of the findings.
pub fn decode_partial<T: DeserializeOwned>(tree: &Tree<'_>, words: Aliases) -> Partial<T> {
    let mut partial = decode::run(&tree.root, words);
    partial.certain &= !diagnostic::refuse(&tree.findings);
    partial.findings.extend(tree.findings.iter().cloned());
    diagnostic::sort(&mut partial.findings);
    partial
}

/// [`decode`] for texts that are not the user's spec: the error prints as `NAME:LINE:COLUMN: MESSAGE` and shows nothing
/// of the text, which may be secret.
pub fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Diagnostics> {
    let source = Source::new(name, text);
    decode(&source).map_err(|findings| Diagnostics {
        lines: lines(&source, &findings),
        findings,
    })
}

fn lines(source: &Source, findings: &[Diagnostic]) -> Vec<String> {
    let shown = findings.iter().map(|finding| without_value(source, finding));
    shown.map(|finding| one_line(source, &finding)).collect()
}

/// A finding without the value that it points at. Keys are shown; missing keys and syntax errors point at no value.
fn without_value(source: &Source, finding: &Diagnostic) -> Diagnostic {
    let value = finding.span.and_then(|span| source.slice(span));
    match value.map(|value| value.trim_matches(['"', '\''])) {
        Some(value) if !value.is_empty() && ["FL0010", "FL0011", "FL0012"].contains(&finding.code) => {
            finding.clone().without(value)
        }
        _ => finding.clone(),
    }
}

fn one_line(source: &Source, finding: &Diagnostic) -> String {
    let place = finding
        .span
        .map_or_else(|| source.name().to_owned(), |span| source.place(span.start));
    format!("{place}: {}", finding.in_one(" (", ")"))
}

/// The mistakes in a text that [`parse`] refused.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    /// The findings, in the order of the source.
    pub findings: Vec<Diagnostic>,
    lines: Vec<String>,
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl std::error::Error for Diagnostics {}
