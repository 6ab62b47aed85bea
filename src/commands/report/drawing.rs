//! Shapes of a drawing. Text is in a monospace font, so that its width is known on every machine.

use serde::Serialize;

/// Width of a character at 12 px: the widest usual monospace fonts have 0.602 em.
const CHARACTER: f64 = 7.25;

/// A drawing; lengths are pixels.
#[derive(Default, Serialize)]
pub(super) struct Drawing {
    title: String,
    /// The content, for who cannot see it.
    description: String,
    width: u32,
    pub(super) height: u32,
    boxes: Vec<Rectangle>,
    texts: Vec<Text>,
    arrows: Vec<String>,
}

#[derive(Serialize)]
struct Rectangle {
    class: &'static str,
    x: u32,
    y: u32,
    width: u32,
    height: u32,
}

#[derive(Serialize)]
struct Text {
    class: &'static str,
    x: u32,
    y: u32,
    text: String,
}

/// A place and a size.
#[derive(Clone, Copy, Default)]
pub(super) struct Area {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Drawing {
    /// An empty drawing; its height follows.
    pub(super) fn new(title: String, description: String, width: u32) -> Self {
        Self {
            title,
            description,
            width,
            ..Self::default()
        }
    }

    /// A box. Returns its number.
    pub(super) fn frame(&mut self, class: &'static str, area: Area) -> usize {
        let Area { x, y, width, height } = area;
        self.boxes.push(Rectangle {
            class,
            x,
            y,
            width,
            height,
        });
        self.boxes.len() - 1
    }

    /// Another place for a box that lies below those that followed.
    pub(super) fn resize(&mut self, number: usize, area: Area) {
        let Area { x, y, width, height } = area;
        if let Some(own) = self.boxes.get_mut(number) {
            (own.x, own.y, own.width, own.height) = (x, y, width, height);
        }
    }

    /// A line of text, cut to a width.
    pub(super) fn text(&mut self, class: &'static str, (x, y): (u32, u32), width: u32, text: &str) {
        let text = fitted(text, width);
        self.texts.push(Text { class, x, y, text });
    }

    /// A straight line with a head at its end.
    pub(super) fn arrow(&mut self, from: (u32, u32), to: (u32, u32)) {
        self.arrows.push(format!("M {} {} L {} {}", from.0, from.1, to.0, to.1));
    }
}

/// Pixels of a text.
pub(super) fn width_of(text: &str) -> u32 {
    let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a text of a drawing is short"
    )]
    let width = (f64::from(characters) * CHARACTER).ceil() as u32;
    width
}

/// The text in lines of this width, broken at blanks, or within a word that is wider. All but the first are indented.
pub(super) fn wrapped(text: &str, width: u32, indent: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let fits = |line: &str, word: &str| width_of(&format!("{line}{}", word.trim_end())) <= width;
        let blank = " ".repeat(indent);
        if lines
            .last()
            .is_some_and(|line| !line.trim().is_empty() && !fits(line, word))
        {
            lines.push(blank.clone());
        }
        for char in word.chars() {
            if char != ' '
                && lines
                    .last()
                    .is_some_and(|line| !line.trim().is_empty() && !fits(line, &char.to_string()))
            {
                lines.push(blank.clone());
            }
            lines.last_mut().into_iter().for_each(|line| line.push(char));
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The text, or its beginning if it is wider.
fn fitted(text: &str, width: u32) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for char in text.chars() {
        if width_of(&short) + width_of("xx") > width {
            break;
        }
        short.push(char);
    }
    short + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_broken_at_blanks_and_a_long_word_anywhere() {
        assert_eq!(wrapped("cp1, cp2", 60, 2), ["cp1, cp2"]);
        assert_eq!(wrapped("cp1, cp2, cp3", 60, 2), ["cp1,", "  cp2,", "  cp3"]);
        assert_eq!(
            wrapped("pods  10.0.0.0/9 10.1.0.0/16", 120, 6),
            ["pods  10.0.0.0/9", "      10.1.0.0/1", "      6"]
        );
        let long = "x".repeat(40);
        let lines = wrapped(&long, 100, 2);
        assert_eq!(lines.concat().replace(' ', ""), long);
        assert!(lines.iter().all(|line| width_of(line) <= 100), "{lines:?}");
        assert_eq!(wrapped("", 10, 2), [""]);
        assert_eq!(wrapped("ab", 0, 1), ["a", " b"]);
    }

    #[test]
    fn a_long_text_is_cut_to_its_box() {
        assert_eq!(fitted("cp1", 30), "cp1");
        let cut = fitted("a-very-long-name", 60);
        assert!(cut.ends_with('…') && width_of(&cut) <= 60, "{cut}");
        assert_eq!(fitted("abc", 0), "…");
    }
}
