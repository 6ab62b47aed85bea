//! The YAML form of a record.

use super::Record;
use firelay_yaml::{
    Content, Node, Tree,
    diagnostic::{Diagnostic, Source, Span},
};

/// Said above every record.
const HEAD: &str = "# What firelay knows of this cluster between two renders. It holds no secret: commit it with the spec.\n\
                    # firelay writes it. In a conflict of git keep the lines of both sides, and of a machine that both have, one.\n";
/// The last line, the end of a YAML document: without it lines are missing. Editors add blank lines, and git may end lines with CR.
const END: &str = "...";
/// A key that a record with that last line has.
const DIGEST: &str = "Digest: ";
/// The line above the machines.
const MACHINES: &str = "\nmachines:\n";
/// The begin of the line with the values of a machine.
const VALUES: &str = "    {";
const ENDS_EARLY: &str = "the record ends too early: its last line is not `...`";
/// Codes of a text that is no YAML, and of a key that is given twice: of a machine that both sides changed.
const FORM: [&str; 2] = ["FL0001", "FL0003"];
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
        let (mut node, mut span) = (&self.root, self.root.span);
        for key in path {
            let entry = node.entries().iter().find(|(name, _)| name.text() == Some(key));
            let Some((name, below)) = entry else { break };
            // A machine is on one line, which is long.
            span = if below.entries().is_empty() {
                below.span
            } else {
                name.span
            };
            node = below;
        }
        span
    }

    /// The first value below a path that a copy of the record has otherwise: its place, if it is here, and what the copy has, `out/record.yaml:12
    /// has 10.244.0.0/16`. Machines are compared by their own paths alone.
    pub fn difference(&self, copy: &Self, path: &[&str]) -> Option<(Option<Span>, String)> {
        let own = path.iter().try_fold(&self.root, |node, key| node.get(key))?;
        let theirs = path.iter().try_fold(&copy.root, |node, key| node.get(key))?;
        let (own, theirs) = self.differing(own, copy, theirs)?;
        let place = copy.source.place(theirs.start);
        let line = place.rsplit_once(':').map_or(place.as_str(), |(line, _)| line);
        Some((own, format!("{line} has {}", copy.value(theirs))))
    }

    fn differing(&self, own: &Node<'_>, copy: &Self, theirs: &Node<'_>) -> Option<(Option<Span>, Span)> {
        match (&own.content, &theirs.content) {
            (Content::Mapping(_), Content::Mapping(entries)) => entries
                .iter()
                .filter(|(key, _)| !["machines", "machineNames"].contains(&key.text().unwrap_or_default()))
                .find_map(|(key, theirs)| match own.get(key.text()?) {
                    Some(own) => self.differing(own, copy, theirs),
                    None => Some((
                        None,
                        Span {
                            start: key.span.start,
                            end: theirs.span.end,
                        },
                    )),
                }),
            (Content::Sequence(own), Content::Sequence(theirs)) => {
                let mut pairs = own.iter().zip(theirs);
                let differing = pairs.find_map(|(own, theirs)| self.differing(own, copy, theirs));
                // One list goes on where the other ends.
                let ends = own.last().zip(theirs.last()).filter(|_| own.len() != theirs.len());
                differing.or_else(|| ends.map(|(own, theirs)| (Some(own.span), theirs.span)))
            }
            _ => (self.value(own.span) != copy.value(theirs.span)).then_some((Some(own.span), theirs.span)),
        }
    }

    fn value(&self, span: Span) -> &str {
        let text = self
            .source
            .texts()
            .first()
            .and_then(|own| own.text.get(span.start..span.end));
        text.unwrap_or_default().trim()
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
        return Err(vec![finding.help(
            "keep the lines of both sides, of a machine that both have the line of one, remove the marks, and compare with firelay plan before \
             the next render; docs/day-two.md has a setting by which git does so itself",
        )]);
    }
    if let Some((name, at)) = twice(text) {
        let message = format!("the record has two lines of the machine {name}");
        let finding = Diagnostic::error("FL1201", message).at(at);
        return Err(vec![finding.label("a merge of git has kept those of both sides").help(
            "keep the line of one side, and compare with firelay plan before the next render; docs/day-two.md names the merge",
        )]);
    }
    if text.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
        return Err(vec![incomplete("the record is empty")]);
    }
    let (record, root) = decoded(text).map_err(|findings| match has_end(text) || !text.contains(DIGEST) {
        true => findings.into_iter().map(of_merge).collect(),
        false => vec![incomplete(ENDS_EARLY)],
    })?;
    let known = [
        ("apiVersion", &record.api_version, Record::API_VERSION),
        ("kind", &record.kind, Record::KIND),
    ];
    if let Some((key, own, known)) = known.into_iter().find(|(_, own, known)| own != known) {
        let finding = Diagnostic::error(
            "FL1201",
            format!("not a record of firelay: `{key}` is {own}, not {known}"),
        );
        let at = root.get(key).map(|node| node.span);
        return Err(vec![finding.at(at).help(
            "name the record with --state; a newer version of firelay may have written it",
        )]);
    }
    if record.has_digests() && !has_end(text) {
        return Err(vec![incomplete(ENDS_EARLY)]);
    }
    Ok((record, root))
}

fn decoded(text: &str) -> Result<(Record, Node<'static>), Vec<Diagnostic>> {
    let tree = Tree::parse(text)?;
    let record = firelay_yaml::decode_partial(&tree, &[]).complete()?;
    Ok((record, tree.root.detached()))
}

fn has_end(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end);
    lines.rfind(|line| !line.is_empty() && !line.starts_with('#')) == Some(END)
}

/// A finding about the form of a record, which a merge leaves if it keeps too much or too little.
fn of_merge(finding: Diagnostic) -> Diagnostic {
    match finding.help {
        Some(_) if !FORM.contains(&finding.code) => finding,
        _ => finding.help(
            "firelay alone writes the record: bring it back from version control; after a merge of git every machine has one line, of \
             one side",
        ),
    }
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

/// The machine with a second line of values, and this line: git keeps both where two people changed it.
fn twice(text: &str) -> Option<(&str, Span)> {
    let mut start = text.find(MACHINES)? + MACHINES.len();
    let mut last = ["", ""];
    for line in text[start..].split_inclusive('\n') {
        let is_values = |line: &str| line.starts_with(VALUES);
        if is_values(line) && is_values(last[1]) {
            let end = start + line.trim_end().len();
            return Some((last[0].trim().trim_end_matches(':'), Span { start, end }));
        }
        last = [if is_values(line) { last[1] } else { line }, line];
        start += line.len();
    }
    None
}

/// The text with the name of each machine on a line of its own, which never changes: git reports a conflict between changes of
/// neighbouring lines.
fn apart(text: &str) -> String {
    let Some((head, machines)) = text.split_once(MACHINES) else {
        return text.to_owned();
    };
    let line = |line: &str| match line.strip_prefix("  ").and_then(|own| own.split_once(": {")) {
        Some((name, values)) => format!("  {name}:\n{VALUES}{values}"),
        None => line.to_owned(),
    };
    let lines: String = machines.split_inclusive('\n').map(line).collect();
    format!("{head}{MACHINES}{lines}")
}

impl Record {
    /// The record as YAML.
    pub fn to_yaml(&self) -> Result<String, firelay_yaml::Error> {
        Ok(HEAD.to_owned() + &apart(&firelay_yaml::emit(self)?) + END + "\n")
    }
}
