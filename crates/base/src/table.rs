//! Text for terminals: tables with a heading over each column, colours, and bars.

use std::fmt::Write;

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Style};

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

/// Text that something adds or that is well.
pub fn green(text: &str) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

/// Text that somebody should know.
pub fn yellow(text: &str) -> String {
    styled(AnsiColor::Yellow.on_default(), text)
}

/// Text that ends or that is wrong.
pub fn red(text: &str) -> String {
    styled(AnsiColor::Red.on_default(), text)
}

/// Titles.
pub fn bold(text: &str) -> String {
    styled(Style::new().bold(), text)
}

/// Text with escape sequences, which streams that are no terminal remove.
fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Columns of a terminal that a text takes.
fn width(text: &str) -> usize {
    strip_str(text).map(|part| part.chars().count()).sum()
}

/// Coloured headings and rows, two blanks between columns.
pub fn table(columns: &[Column<'_>], rows: &[Vec<String>]) -> String {
    let widest = |at: usize, heading: &str| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| width(cell)).fold(width(heading), usize::max)
    };
    let columns_at = columns.iter().enumerate();
    let widths: Vec<_> = columns_at.map(|(at, column)| widest(at, column.heading)).collect();
    let headings = columns.iter().map(|column| column.heading);
    let mut text = format!(
        "{}\n",
        styled(AnsiColor::Cyan.on_default().bold(), &line(columns, &widths, headings))
    );
    for row in rows {
        let _ = writeln!(text, "{}", line(columns, &widths, row.iter().map(String::as_str)));
    }
    text
}

fn line<'c>(columns: &[Column<'_>], widths: &[usize], cells: impl Iterator<Item = &'c str>) -> String {
    let cells = cells.zip(columns.iter().zip(widths));
    let padded = cells.map(|(cell, (column, widest))| {
        let blanks = " ".repeat(widest.saturating_sub(width(cell)));
        match column.right {
            true => blanks + cell,
            false => cell.to_owned() + &blanks,
        }
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
            "\u{1b}[1m\u{1b}[36mNAME      BYTES\u{1b}[0m\ncp1           9\nworker-1   1200\n"
        );
        let coloured = [vec![red("cp1"), "9".to_owned()]];
        assert_eq!(
            table(&[Column::left("NAME"), Column::right("BYTES")], &coloured),
            "\u{1b}[1m\u{1b}[36mNAME  BYTES\u{1b}[0m\n\u{1b}[31mcp1\u{1b}[0m       9\n"
        );
    }
}
