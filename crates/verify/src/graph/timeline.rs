//! For a README: the times as bars, in a width at which their text can be read in one column of a page.

use minijinja::Error;

use super::{
    clock, cut, estimate, render,
    svg::{Image, MARGIN, NOTE, Rectangle, Tick, pixels, ticks},
};
use crate::order::{Bar, Picture, Span};

/// The column of a README is at least this wide.
const WIDTH: u64 = 800;
const LINE: u64 = 16;
const BAR: u64 = 22;
/// Between two machines.
const GAP: u64 = 10;
/// Between the begin of a piece and its label.
const INDENT: u64 = 5;

/// The picture as an image.
pub fn timeline(picture: &Picture) -> Result<String, Error> {
    let mut drawn = Timeline {
        image: Image::empty(estimate(picture), WIDTH),
        seconds: picture.seconds.max(1),
    };
    drawn.heading(picture);
    let top = drawn.image.height;
    picture.timeline.iter().for_each(|bar| drawn.machines(bar));
    drawn.axis(top);
    render(include_str!("order.svg.j2"), &drawn.image)
}

struct Timeline {
    image: Image,
    seconds: u64,
}

impl Timeline {
    fn heading(&mut self, picture: &Picture) {
        let [title, note] = [estimate(picture), super::ESTIMATE.to_owned()];
        self.image.write("title", MARGIN, 30, title);
        self.image.write("note", MARGIN, 50, note);
        let legend = [("works", "works"), ("waits", "waits for another machine")];
        let mut x = MARGIN;
        for (class, text) in legend {
            let title = text.to_owned();
            let (y, width, height) = (62, 12, 12);
            self.image.boxes.push(Rectangle {
                class,
                x,
                y,
                width,
                height,
                title,
            });
            self.image.write("note", x + 18, 72, text.to_owned());
            x += 18 + pixels(text, NOTE) + MARGIN;
        }
        self.image.height = 72 + 2 * LINE;
    }

    /// Names, their bar, and the waits in it.
    fn machines(&mut self, bar: &Bar) {
        let y = self.image.height;
        self.image.write("name", MARGIN, y + 12, cut(&bar.title));
        let top = y + LINE + 2;
        bar.spans.iter().for_each(|span| self.piece(span, top));
        let mut end = top + BAR;
        for wait in &bar.waits {
            end += LINE;
            let text = format!("waits {} for {}: {}", clock(wait.seconds), wait.title, cut(&wait.on));
            self.image.write("note", MARGIN, end - 2, text);
        }
        self.image.height = end + GAP;
    }

    fn piece(&mut self, span: &Span, y: u64) {
        let (x, end) = (self.at(span.from), self.at(span.to));
        let (class, label) = if span.waits {
            ("waits", "waits")
        } else {
            ("works", span.step.as_str())
        };
        let title = format!("{} {class} {} to {}", span.step, clock(span.from), clock(span.to));
        let (width, height) = (end - x, BAR);
        self.image.boxes.push(Rectangle {
            class,
            x,
            y,
            width,
            height,
            title,
        });
        if pixels(label, NOTE) + 2 * INDENT <= width {
            let class = if span.waits { "note" } else { "on-work" };
            self.image.write(class, x + INDENT, y + LINE - 1, label.to_owned());
        }
    }

    fn at(&self, time: u64) -> u64 {
        MARGIN + time * (WIDTH - 2 * MARGIN) / self.seconds
    }

    /// Lines behind the bars, with their times above.
    fn axis(&mut self, top: u64) {
        let bottom = self.image.height;
        let tick = |time| Tick {
            x: self.at(time),
            top: top - 4,
            // The first line would cross the names.
            bottom: if time == 0 { top - 4 } else { bottom },
            text: clock(time),
        };
        let inside = |tick: &Tick| tick.x + pixels(&tick.text, NOTE) <= WIDTH;
        self.image.ticks = ticks(self.seconds).map(tick).filter(inside).collect();
        self.image.height += GAP;
    }
}
