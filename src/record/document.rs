//! The YAML form of a record.

use super::Record;
use firelay_yaml::{
    Node, Tree,
    diagnostic::{Diagnostic, Source, Span},
};

/// Said above every record.
const HEAD: &str = "# What firelay knows of this cluster between two renders. It holds no secret: commit it with the spec.\n\
                    # firelay writes it; after a merge keep the lines of both sides.\n";
/// The last line, the end of a YAML document: without it lines are missing. Editors add blank lines, and git may end lines with CR.
const END: &str = "...";
/// Words with which a merge of git that was not finished begins a line.
const CONFLICT: [&str; 3] = ["<<<<<<< ", "=======", ">>>>>>> "];

/// A record and its text.
#[derive(Clone, Debug)]
pub struct RecordText {
    /// The record.
    pub record: Record,
    /// Its text.
    pub source: Source,
    root: Node<'static>,
}

/// A text that is no record, and the findings about it.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The text.
    pub source: Source,
    /// Its findings.
    pub findings: Vec<Diagnostic>,
}

impl RecordText {
    /// Reads a record.
    pub fn parse(name: &str, text: &str) -> Result<Self, Box<Refused>> {
        let mut source = Source::new(name, text);
        source.redact(0, Some(Vec::new()));
        match read(text) {
            Ok((record, root)) => Ok(Self { record, source, root }),
            Err(findings) => Err(Refused { source, findings }.into()),
        }
    }

    /// The place of the value at a path of keys, or of the nearest value above it.
    pub fn span(&self, path: &[&str]) -> Span {
        let mut node = &self.root;
        for key in path {
            let Some(below) = node.get(key) else { break };
            node = below;
        }
        node.span
    }

    /// `firelay.state.yaml:12`, the line of the value at a path.
    pub fn line(&self, path: &[&str]) -> String {
        let place = self.source.place(self.span(path).start);
        let line = place.rsplit_once(':').map_or(place.as_str(), |(line, _)| line);
        line.to_owned()
    }
}

fn read(text: &str) -> Result<(Record, Node<'static>), Vec<Diagnostic>> {
    if let Some(at) = conflict(text) {
        let finding = Diagnostic::error("FL1201", "the record holds a merge of git that was not finished").at(at);
        return Err(vec![
            finding.help("keep the machines of both sides, remove the marks, and render"),
        ]);
    }
    if text.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
        return Err(vec![incomplete("the record is empty")]);
    }
    let tree = Tree::parse(text)?;
    let record: Record = firelay_yaml::decode_partial(&tree, &[]).complete()?;
    let known = [
        ("apiVersion", &record.api_version, Record::API_VERSION),
        ("kind", &record.kind, Record::KIND),
    ];
    if let Some((key, own, known)) = known.into_iter().find(|(_, own, known)| own != known) {
        let finding = Diagnostic::error(
            "FL1201",
            format!("not a record of firelay: `{key}` is {own}, not {known}"),
        );
        let at = tree.root.get(key).map(|node| node.span);
        return Err(vec![finding.at(at).help(
            "name the record with --state; a newer version of firelay may have written it",
        )]);
    }
    let mut lines = text.lines().map(str::trim_end);
    if record.has_digests() && lines.rfind(|line| !line.is_empty() && !line.starts_with('#')) != Some(END) {
        return Err(vec![incomplete(
            "the record ends too early: its last line is not `...`",
        )]);
    }
    Ok((record, tree.root.detached()))
}

fn incomplete(message: &str) -> Diagnostic {
    Diagnostic::error("FL1201", message)
        .help("bring the record back from version control; without it firelay does not know which machines exist")
}

/// The first line that a merge left.
fn conflict(text: &str) -> Option<Span> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if CONFLICT.iter().any(|mark| line.starts_with(mark)) {
            let end = start + line.trim_end().len();
            return Some(Span { start, end });
        }
        start += line.len();
    }
    None
}

impl Record {
    /// The record as YAML.
    pub fn to_yaml(&self) -> Result<String, firelay_yaml::Error> {
        Ok(HEAD.to_owned() + &firelay_yaml::emit(self)? + END + "\n")
    }
}
