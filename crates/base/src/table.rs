//! Text for terminals: tables with a heading over each column, and bars.

use std::fmt::Write;

/// Columns of a bar.
const BAR: usize = 24;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column<'h> {
    heading: &'h str,
    /// Numbers are aligned at their last digit.
    right: bool,
}

impl<'h> Column<'h> {
    /// A column of words.
    pub const fn left(heading: &'h str) -> Self {
        Self { heading, right: false }
    }

    /// A column of numbers.
    pub const fn right(heading: &'h str) -> Self {
        Self { heading, right: true }
    }
}

/// Headings and rows, two blanks between columns. The headings have the escape sequence for bold, which streams that are no
/// terminal remove.
pub fn table(columns: &[Column<'_>], rows: &[Vec<String>]) -> String {
    let width = |at: usize, heading: &str| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let widths = cells.map(|cell| cell.chars().count());
        widths.max().unwrap_or_default().max(heading.chars().count())
    };
    let widths: Vec<_> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| width(at, column.heading))
        .collect();
    let headings = columns.iter().map(|column| column.heading);
    let mut text = format!("\u{1b}[1m{}\u{1b}[0m\n", line(columns, &widths, headings));
    for row in rows {
        let _ = writeln!(text, "{}", line(columns, &widths, row.iter().map(String::as_str)));
    }
    text
}

fn line<'c>(columns: &[Column<'_>], widths: &[usize], cells: impl Iterator<Item = &'c str>) -> String {
    let cells = cells.zip(columns.iter().zip(widths));
    let padded = cells.map(|(cell, (column, width))| match column.right {
        true => format!("{cell:>width$}"),
        false => format!("{cell:<width$}"),
    });
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// `[=====>      ] 3 of 11 files`.
pub fn bar(done: usize, of: usize, what: &str) -> String {
    let filled = BAR * done.min(of) / of.max(1);
    let head = if filled < BAR { ">" } else { "" };
    let drawn = format!("{}{head}", "=".repeat(filled));
    format!("[{drawn:<BAR$}] {done} of {of} {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_at_the_end_as_at_the_beginning() {
        assert_eq!(bar(0, 2, "files"), "[>                       ] 0 of 2 files");
        assert_eq!(bar(1, 2, "files"), "[============>           ] 1 of 2 files");
        assert_eq!(bar(2, 2, "files"), "[========================] 2 of 2 files");
        assert_eq!(bar(0, 0, "files"), "[>                       ] 0 of 0 files");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["cp1", "9"], ["worker-1", "1200"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(
            table(&[Column::left("NAME"), Column::right("BYTES")], &rows),
            "\u{1b}[1mNAME      BYTES\u{1b}[0m\ncp1           9\nworker-1   1200\n"
        );
    }
}
