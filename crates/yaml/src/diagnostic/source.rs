//! The texts that findings point into.

use super::Span;

/// Texts in one space of byte offsets, one after the other, so that a [`Span`] also identifies its text.
#[derive(Clone, Debug, Default)]
pub struct Source {
    texts: Vec<Text>,
}

/// One text of a [`Source`].
#[derive(Clone, Debug)]
pub struct Text {
    /// The name to print: a path, or `<stdin>`.
    pub name: String,
    pub text: String,
    /// Offset of its first byte in the source.
    pub start: usize,
    /// Positions of the secrets in it, as offsets into the source; `None` as long as they are unknown.
    pub secrets: Option<Vec<Span>>,
}

impl Source {
    /// A source of one text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut source = Self::default();
        source.add(name, text);
        source
    }

    /// Adds a text after the others and returns its number, from zero.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        // One byte between two texts belongs to neither, so that the end of one is not the start of the next.
        let start = self.texts.last().map_or(0, |last| last.start + last.text.len() + 1);
        self.texts.push(Text {
            name: name.into(),
            text: text.into(),
            start,
            secrets: None,
        });
        self.texts.len() - 1
    }

    /// Sets the positions of a text's secrets. Without them no line of the text is shown.
    pub fn redact(&mut self, number: usize, secrets: Option<Vec<Span>>) {
        if let Some(text) = self.texts.get_mut(number) {
            text.secrets = secrets;
        }
    }

    /// All texts in the order of their offsets.
    pub fn texts(&self) -> &[Text] {
        &self.texts
    }

    /// The name to print for the whole: the first text's.
    pub fn name(&self) -> &str {
        self.texts.first().map_or("", |text| &text.name)
    }

    /// The number of the text that contains an offset.
    pub fn number(&self, offset: usize) -> usize {
        self.texts
            .partition_point(|text| text.start <= offset)
            .saturating_sub(1)
    }

    /// The text at a place.
    pub fn slice(&self, span: Span) -> Option<&str> {
        let text = self.texts.get(self.number(span.start))?;
        text.text
            .get(span.start - text.start..span.end.checked_sub(text.start)?)
    }

    /// `NAME:LINE:COLUMN` of an offset, see [`Lines::position`].
    pub fn place(&self, offset: usize) -> String {
        let Some(text) = self.texts.get(self.number(offset)) else {
            return String::new();
        };
        let (line, column) = Lines::new(&text.text).position(offset - text.start);
        format!("{}:{line}:{column}", text.name)
    }
}

/// The offsets at which the lines of a text begin.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Reads a text once, so that many places in it can be found quickly.
    pub fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self { text, starts }
    }

    /// Line and column of a byte offset into the text, both from 1, the column in characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let (line, start) = self.line(offset);
        let end = self.text.floor_char_boundary(offset.min(self.text.len()));
        (line, self.text[start..end].chars().count() + 1)
    }

    /// The number and the start of the line that contains a byte offset of the text.
    pub fn line(&self, offset: usize) -> (usize, usize) {
        let line = self
            .starts
            .partition_point(|start| *start <= offset.min(self.text.len()));
        (line, self.starts[line - 1])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "a\nüü: b";
        assert_eq!(Lines::new(text).position(text.find('b').unwrap()), (2, 5));
    }

    #[test]
    fn an_offset_tells_its_text() {
        let mut source = Source::new("one", "a: 1\n");
        source.add("empty", "");
        source.add("two", "b: 2\n");
        let start = source.texts()[2].start;
        assert_eq!(source.place(0), "one:1:1");
        assert_eq!(source.place(5), "one:2:1");
        assert_eq!(source.place(source.texts()[1].start), "empty:1:1");
        assert_eq!(source.place(start + 3), "two:1:4");
        assert_eq!(source.slice(Span::new(start + 3, start + 4)), Some("2"));
        assert_eq!(source.slice(Span { start: 0, end: start }), None);
    }
}
