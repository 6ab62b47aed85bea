//! An inventory: machines as rows of a CSV file (RFC 4180), read as `nodes` of a spec.
//!
//! A row becomes the tree that the same entry in YAML becomes, with the position of each value in the CSV file. So every
//! later check applies to it and points into it.

use std::{collections::BTreeMap, ops::Range};

use csv_core::{ReadFieldResult, Reader};
use firelay_yaml::{
    Content, Node, Tree,
    diagnostic::{self, Diagnostic, Span, Text, nearest},
};

/// A column and the key of a node that it sets.
struct Column {
    name: &'static str,
    key: &'static str,
    form: Form,
    required: bool,
}

/// How the text of a value is read.
#[derive(Clone, Copy)]
enum Form {
    /// As it is; an empty one sets no key.
    Text,
    /// Words with blanks or `;` between.
    List,
    /// Such words, each `KEY=VALUE`.
    Mapping,
}

const COLUMNS: [Column; 6] = [
    column("name", "name", Form::Text, true),
    column("role", "roles", Form::List, true),
    column("address", "addresses", Form::List, true),
    column("mac", "mac", Form::Text, false),
    column("uuid", "uuid", Form::Text, false),
    column("labels", "labels", Form::Mapping, false),
];

const fn column(name: &'static str, key: &'static str, form: Form, required: bool) -> Column {
    Column {
        name,
        key,
        form,
        required,
    }
}

/// The code of findings about columns.
const OF_COLUMNS: &str = "FL0026";
/// The code of findings about rows.
const OF_ROW: &str = "FL0027";

/// A value of a row.
struct Cell {
    text: String,
    span: Span,
    /// With quotes, over all of its lines.
    outer: Span,
    /// The span has this very text: it contains no doubled quote and no line break.
    exact: bool,
}

/// A part of a cell.
struct Word<'c> {
    text: &'c str,
    span: Span,
}

type Row = Vec<Cell>;

/// The spec of an inventory: a mapping with the key `nodes`.
pub(super) fn parse(text: &Text) -> Result<Tree<'static>, Vec<Diagnostic>> {
    let (rows, broken) = rows(text);
    let mut rows = rows.into_iter();
    let head = rows.next().unwrap_or_default();
    let mut findings = check_columns(&head, text.start);
    findings.extend(broken);
    if diagnostic::refuse(&findings) {
        return Err(findings);
    }
    let (mut nodes, mut names) = (Vec::new(), BTreeMap::new());
    for row in rows.filter(|row| row.iter().any(|cell| !cell.text.is_empty())) {
        match check_length(&row, head.len()).or_else(|| check_name(&head, &row, text, &mut names)) {
            Some(finding) => findings.push(finding),
            None => nodes.push(node(&head, &row, &mut findings)),
        }
    }
    let span = whole(&head, text.start);
    let nodes = Node {
        span,
        content: Content::Sequence(nodes),
    };
    let content = Content::Mapping(vec![(scalar("nodes", span), nodes)]);
    let root = Node { span, content };
    Ok(Tree { root, findings })
}

/// The values that no finding shows: those of columns that firelay does not read, and of rows in which the columns are not clear. Of
/// a file that is no inventory it is all after the column names.
pub fn unread_cells(text: &Text) -> Vec<Span> {
    let (rows, broken) = rows(text);
    let rest = |start: usize| Span::new(start, text.start + text.text.len());
    let Some(head) = rows.first().filter(|head| missing(head).next().is_none()) else {
        // The columns may be separated by other characters.
        let is_name = |word: &str| {
            COLUMNS
                .iter()
                .any(|column| word.trim().eq_ignore_ascii_case(column.name))
        };
        let has_name = |cell: &Cell| cell.text.split([';', '\t']).any(is_name);
        let is_head = rows.first().is_some_and(|head| head.iter().any(has_name));
        let names = text.text.find('\n').unwrap_or(text.text.len());
        return vec![rest(text.start + if is_head { names } else { 0 })];
    };
    let is_unread = |at: usize| head.get(at).is_none_or(|name| known(name).is_none());
    if !(0..head.len()).any(is_unread) {
        return Vec::new();
    }
    let of_row = |row: &Row| -> Vec<Span> {
        let is_clear = row.len() == head.len();
        let cells = row.iter().enumerate();
        let unread = cells.filter(|(at, _)| !is_clear || is_unread(*at));
        unread.map(|(_, cell)| cell.outer).collect()
    };
    let last = rows
        .last()
        .and_then(|row| row.last())
        .map_or(text.start, |cell| cell.outer.end);
    let unfinished = broken.map(|_| rest(last));
    rows[1..].iter().flat_map(of_row).chain(unfinished).collect()
}

/// All rows, blank lines left out, and the finding by which the rest of the text cannot be read.
fn rows(text: &Text) -> (Vec<Row>, Option<Diagnostic>) {
    let bytes = text.text.as_bytes();
    let mut reader = Reader::new();
    // No value is longer than what it was read from.
    let mut output = vec![0; bytes.len() + 1];
    let (mut rows, mut row) = (Vec::new(), Row::new());
    let (mut start, mut at, mut filled) = (0, 0, 0);
    loop {
        let (result, read, written) = reader.read_field(&bytes[at..], &mut output[filled..]);
        at += read;
        filled += written;
        match result {
            ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
            ReadFieldResult::Field { record_end } => {
                let value = undelimited(&text.text, start..at, row.is_empty());
                if let Some(finding) = check_quote(text, &value) {
                    return (rows, Some(finding));
                }
                row.push(cell(text, value, &output[..filled]));
                if record_end {
                    rows.push(std::mem::take(&mut row));
                }
                (start, filled) = (at, 0);
            }
            ReadFieldResult::End => return (rows, None),
        }
    }
}

/// A value without the delimiter behind it and, for the first one of a row, without line breaks and the byte order mark before it.
fn undelimited(text: &str, read: Range<usize>, is_first: bool) -> Range<usize> {
    let is_break = |c: char| ['\u{feff}', '\r', '\n'].contains(&c);
    let whole = &text[read.clone()];
    let value = if is_first {
        whole.trim_start_matches(is_break)
    } else {
        whole
    };
    let start = read.end - value.len();
    let value = value
        .strip_suffix(',')
        .unwrap_or_else(|| value.trim_end_matches(is_break));
    start..start + value.len()
}

/// A range without certain characters at its ends.
fn narrowed(text: &str, range: Range<usize>, out: impl Fn(char) -> bool) -> Range<usize> {
    let kept = text[range.clone()].trim_start_matches(&out);
    let start = range.end - kept.len();
    start..start + kept.trim_end_matches(&out).len()
}

fn cell(text: &Text, outer: Range<usize>, content: &[u8]) -> Cell {
    let inner = match text.text[outer.clone()].starts_with('"') {
        true => narrowed(&text.text, outer.clone(), |c| c == '"'),
        false => outer.clone(),
    };
    let inner = narrowed(&text.text, inner, char::is_whitespace);
    let content = String::from_utf8_lossy(content).trim().to_owned();
    let exact = text.text[inner.clone()] == content && !content.contains('\n');
    let outer_span = Span::new(text.start + outer.start, text.start + outer.end);
    let shown = if exact { inner } else { outer };
    // A finding points into one line.
    let first = text.text[shown.clone()].lines().next().map_or(0, str::len);
    Cell {
        text: content,
        span: Span::new(text.start + shown.start, text.start + shown.start + first),
        outer: outer_span,
        exact,
    }
}

/// The finding for a quote that nothing closes: it would take the rest of the file for one value. Text behind a closed one would become
/// part of the value (RFC 4180 section 2.5 has none).
fn check_quote(text: &Text, value: &Range<usize>) -> Option<Diagnostic> {
    let start = value.start;
    let value = text.text[value.clone()].trim_end();
    if !value.starts_with('"') {
        return None;
    }
    let quote = Span::new(text.start + start, text.start + start + 1);
    let message = match (value.matches('"').count().is_multiple_of(2), value.ends_with('"')) {
        (true, true) => return None,
        (true, false) => "text behind a quote",
        (false, _) => "a quote that does not end",
    };
    let finding = Diagnostic::error(OF_ROW, message).at(quote);
    Some(finding.help("close it at the end of the value; a quote within quotes is written twice"))
}

fn known(name: &Cell) -> Option<&'static Column> {
    COLUMNS
        .iter()
        .find(|column| name.text.eq_ignore_ascii_case(column.name))
}

/// The required columns that a first row lacks.
fn missing(head: &Row) -> impl Iterator<Item = &'static str> {
    let has = |column: &&Column| head.iter().filter_map(known).any(|known| known.name == column.name);
    let required = COLUMNS.iter().filter(|column| column.required);
    required.filter(move |column| !has(column)).map(|column| column.name)
}

fn check_columns(head: &Row, start: usize) -> Vec<Diagnostic> {
    let odd = |message: String, span: Span| Diagnostic::error(OF_COLUMNS, message).at(span);
    let lacks: Vec<_> = missing(head).map(|name| format!("`{name}`")).collect();
    let mut findings = Vec::new();
    if !lacks.is_empty() {
        let noun = if lacks.len() == 1 { "column" } else { "columns" };
        let message = format!("an inventory without the {noun} {}", lacks.join(" and "));
        findings.push(odd(message, whole(head, start)).help(help(head)));
    }
    if head.len() == 1 {
        return findings;
    }
    for (at, name) in head.iter().enumerate().filter(|(_, name)| !name.text.is_empty()) {
        let same = |other: &Cell| other.text.eq_ignore_ascii_case(&name.text);
        if known(name).is_none() {
            findings.push(unknown(name));
        } else if head[..at].iter().any(same) {
            findings.push(odd(format!("the column `{}` is given twice", name.text), name.span));
        }
    }
    findings
}

fn help(head: &Row) -> String {
    let names = COLUMNS.map(|column| column.name).join(",");
    match head.iter().any(|cell| cell.text.contains([';', '\t'])) {
        true => format!("write commas between the columns: {names}"),
        false => format!("the first line names the columns: {names}"),
    }
}

/// Other programs export columns of their own, so this one is no mistake by itself.
fn unknown(name: &Cell) -> Diagnostic {
    let finding = Diagnostic::warning(OF_COLUMNS, "a column that firelay does not read").at(name.span);
    let known = COLUMNS.iter().map(|column| column.name);
    finding
        .suggest(nearest(&name.text, known.clone()))
        .help(format!("columns: {}", known.collect::<Vec<_>>().join(", ")))
}

fn check_length(row: &Row, columns: usize) -> Option<Diagnostic> {
    if row.len() == columns {
        return None;
    }
    let extra = row.get(columns).map(|cell| cell.span);
    let span = extra.unwrap_or_else(|| whole(row, 0));
    let finding = Diagnostic::error(OF_ROW, format!("{} values for {columns} columns", row.len())).at(span);
    Some(finding.help("write nothing between two commas for no value, and quotes around a value with a comma"))
}

/// Merging needs unique names.
fn check_name(head: &Row, row: &Row, text: &Text, names: &mut BTreeMap<String, usize>) -> Option<Diagnostic> {
    let at = head.iter().position(|cell| cell.text.eq_ignore_ascii_case("name"))?;
    let name = &row[at];
    let first = names.insert(name.text.clone(), name.span.start - text.start)?;
    let line = 1 + text.text[..first].matches('\n').count();
    let finding = Diagnostic::error("FL0204", format!("the name {} is given twice", name.text)).at(name.span);
    Some(finding.label(format!("line {line} has it already")))
}

/// From the first value of a row to the last.
fn whole(row: &Row, start: usize) -> Span {
    Span::new(
        row.first().map_or(start, |cell| cell.span.start),
        row.last().map_or(start, |cell| cell.span.end),
    )
}

fn node(head: &Row, row: &Row, findings: &mut Vec<Diagnostic>) -> Node<'static> {
    let mut entries = Vec::new();
    for (name, cell) in head.iter().zip(row) {
        let Some(column) = known(name) else { continue };
        if column.required || !cell.text.is_empty() {
            let content = content(column.form, cell, findings);
            let span = cell.span;
            entries.push((scalar(column.key, name.span), Node { span, content }));
        }
    }
    Node {
        span: whole(row, 0),
        content: Content::Mapping(entries),
    }
}

fn content(form: Form, cell: &Cell, findings: &mut Vec<Diagnostic>) -> Content<'static> {
    match form {
        Form::Text => scalar(&cell.text, cell.span).content,
        Form::List => {
            let words = cell.words().into_iter();
            Content::Sequence(words.map(|word| scalar(word.text, word.span)).collect())
        }
        Form::Mapping => labels(cell, findings),
    }
}

fn labels(cell: &Cell, findings: &mut Vec<Diagnostic>) -> Content<'static> {
    let mut entries: Vec<(Node<'static>, Node<'static>)> = Vec::new();
    for word in cell.words() {
        let odd = |message: &str| Diagnostic::error(OF_ROW, message).at(word.span);
        let Some((key, value)) = word.text.split_once('=') else {
            findings.push(odd("a label without a value").help("write KEY=VALUE, with blanks or `;` between labels"));
            continue;
        };
        if entries.iter().any(|(other, _)| other.text() == Some(key)) {
            findings.push(odd("a label is given twice"));
            continue;
        }
        let (name, rest) = word.split_at(key.len());
        entries.push((scalar(key, name), scalar(value, rest)));
    }
    Content::Mapping(entries)
}

impl Cell {
    fn words(&self) -> Vec<Word<'_>> {
        let mut words = Vec::new();
        let mut at = 0;
        for part in self.text.split_inclusive(|c: char| c == ';' || c.is_whitespace()) {
            let text = part.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
            if !text.is_empty() {
                let start = self.span.start + at;
                let end = start + text.len();
                let span = if self.exact { Span { start, end } } else { self.span };
                words.push(Word { text, span });
            }
            at += part.len();
        }
        words
    }
}

impl Word<'_> {
    /// The places of a key of that length, and of the value behind `=`.
    fn split_at(&self, key: usize) -> (Span, Span) {
        let Span { start, end } = self.span;
        if end - start != self.text.len() {
            return (self.span, self.span);
        }
        let middle = start + key;
        let name = Span { start, end: middle };
        let value = Span { start: middle + 1, end };
        (name, value)
    }
}

/// A text, which is never another type: `true` in a cell is a word.
fn scalar(text: &str, span: Span) -> Node<'static> {
    Node::scalar(text.to_owned(), false, span)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use firelay_yaml::diagnostic::Source;

    fn source(text: &str) -> Source {
        let mut source = Source::new("cluster.yaml", "a: 1\n");
        source.add("inventory.csv", text);
        source
    }

    /// The names of all machines with their places.
    fn names(text: &str) -> Vec<(String, String)> {
        let source = source(text);
        let tree = parse(&source.texts()[1]).unwrap();
        let Content::Sequence(nodes) = &tree.root.get("nodes").unwrap().content else {
            return Vec::new();
        };
        let named = nodes.iter().map(|node| node.get("name").unwrap());
        named
            .map(|name| (name.text().unwrap().to_owned(), source.place(name.span.start)))
            .collect()
    }

    fn expected(rows: &[(&str, &str)]) -> Vec<(String, String)> {
        let row = |(name, place): &(&str, &str)| ((*name).to_owned(), format!("inventory.csv:{place}"));
        rows.iter().map(row).collect()
    }

    #[test]
    fn values_keep_their_places() {
        let rows = expected(&[("a", "2:1"), ("b", "3:2"), ("c", "5:2")]);
        assert_eq!(
            names("name,role,address\na,worker,10.0.0.1\n\"b\",worker,10.0.0.2\n\n c ,worker,10.0.0.3"),
            rows
        );
        assert_eq!(
            names("\u{feff}Name,Role,Address\r\na,worker,10.0.0.1\r\n\"b\",worker,\r\n,,\r\n c,worker,10.0.0.3\r\n"),
            rows
        );
    }

    #[test]
    fn words_of_a_value_have_places_of_their_own() {
        let source = source("labels,name,role,address\n\"a=1; b=x=y\",m,worker,10.0.0.1\n");
        let tree = parse(&source.texts()[1]).unwrap();
        let Content::Sequence(nodes) = &tree.root.get("nodes").unwrap().content else {
            unreachable!("nodes are a list");
        };
        let entries = nodes[0].get("labels").unwrap().entries();
        let told: Vec<_> = entries
            .iter()
            .flat_map(|(key, value)| [key, value])
            .map(|node| (node.text().unwrap(), source.place(node.span.start)))
            .collect();
        let place = |column: usize| format!("inventory.csv:2:{column}");
        assert_eq!(
            told,
            [("a", place(2)), ("1", place(4)), ("b", place(7)), ("x=y", place(9))]
        );
    }

    #[test]
    fn text_behind_a_quote_is_no_part_of_the_value() {
        for (cell, fine) in [
            ("\"w1\"x", false),
            ("\"w1\"", true),
            ("\"w\"\"1\"", true),
            ("\"w1\" ", true),
        ] {
            let text = Text {
                name: "inventory.csv".to_owned(),
                text: cell.to_owned(),
                start: 0,
                secrets: None,
            };
            assert_eq!(check_quote(&text, &(0..cell.len())).is_none(), fine, "{cell}");
        }
    }

    #[test]
    fn values_of_other_columns_are_not_shown() {
        let source = source("name,role,address,password\na,worker,10.0.0.1,hunter2\n");
        let text = &source.texts()[1];
        let hidden: Vec<_> = unread_cells(text).into_iter().map(|span| source.slice(span)).collect();
        assert_eq!(hidden, [Some("hunter2")]);
    }

    #[test]
    fn values_in_rows_without_clear_columns_are_not_shown() {
        for (text, parts) in [
            (
                "name,role,address,word\na,worker,10.0.0.1,\"hun\nter\"\n",
                &["hun\nter"][..],
            ),
            ("name,role,address,mac,word\na,worker,10.0.0.1,hunter\n", &["hunter"]),
            (
                "name,role,address,word\na,worker,10.0.0.1,\"hunter\nb,worker,10.0.0.2,other\n",
                &["hunter", "other"],
            ),
            ("cp1,hunter,10.0.0.1\n", &["hunter"]),
        ] {
            let source = source(text);
            let hidden = unread_cells(&source.texts()[1])
                .into_iter()
                .filter_map(|span| source.slice(span));
            let hidden: String = hidden.collect::<Vec<_>>().join("|");
            assert!(parts.iter().all(|part| hidden.contains(part)), "{text}: {hidden}");
        }
        let read = source("name,role,address\na,worker\n");
        assert_eq!(unread_cells(&read.texts()[1]), []);
    }
}
