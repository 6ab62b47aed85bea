//! For a page: boxes in a grid, arrows between them, and below them the times as bars. Lengths are pixels.
//!
//! Text is in a monospace font: characters of the usual ones are 0.55 to 0.602 em wide, so it fits into its box on every machine.

use std::collections::BTreeMap;

use minijinja::Error;
use serde::Serialize;

use super::{clock, cut, kind, notes, render, span, title};
use crate::order::{Bar, Picture, PictureStep};

pub(super) const MARGIN: u64 = 20;
const GAP: u64 = 30;
/// Sizes of text; `order.svg.j2` has the same.
const TITLE: u64 = 14;
const NAME: u64 = 12;
pub(super) const NOTE: u64 = 11;
const LINE: u64 = 15;
/// Above the first line of a box, and below its last.
const PADDING: u64 = 8;
const HEADING: u64 = 60;
/// Height of a bar and of the room below it.
const BAR: u64 = 16;
const BELOW: u64 = 8;
/// Tick distances of the axis in seconds; the first one with at most ten ticks is used.
const TICKS: &[u64] = &[5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600];

/// The picture as an image.
pub fn svg(picture: &Picture) -> Result<String, Error> {
    render(include_str!("order.svg.j2"), &Image::of(picture))
}

#[derive(Serialize)]
pub(super) struct Image {
    title: String,
    width: u64,
    pub(super) height: u64,
    /// Width of the names on the left.
    #[serde(skip)]
    names: u64,
    texts: Vec<Text>,
    pub(super) boxes: Vec<Rectangle>,
    arrows: Vec<Arrow>,
    pub(super) ticks: Vec<Tick>,
}

/// A line of text from its left end.
#[derive(Serialize)]
struct Text {
    class: &'static str,
    x: u64,
    y: u64,
    text: String,
}

#[derive(Serialize)]
pub(super) struct Rectangle {
    pub(super) class: &'static str,
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) width: u64,
    pub(super) height: u64,
    /// Shown where a pointer rests on it.
    pub(super) title: String,
}

/// A curve from a box to another, or to itself.
#[derive(Serialize)]
struct Arrow {
    path: String,
    title: String,
}

#[derive(Serialize)]
pub(super) struct Tick {
    pub(super) x: u64,
    pub(super) top: u64,
    pub(super) bottom: u64,
    pub(super) text: String,
}

/// The boxes of one step of all machines.
#[derive(Clone, Copy, Default)]
struct Column {
    /// From the end of the names.
    x: u64,
    width: u64,
}

/// The place of a box.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Area {
    x: u64,
    y: u64,
    width: u64,
    height: u64,
}

impl Image {
    fn of(picture: &Picture) -> Self {
        let columns = columns(picture);
        let names = names(picture);
        let wide: u64 = columns.values().map(|column| column.width + GAP).sum();
        let width = names + 2 * MARGIN + wide;
        let width = width.max(pixels(&title(picture), TITLE) + 2 * MARGIN);
        let mut image = Self {
            names,
            height: HEADING,
            ..Self::empty(title(picture), width)
        };
        image.write("title", MARGIN, 32, title(picture));
        let places = image.grid(picture, &columns);
        image.arrows(picture, &places);
        image.timeline(picture);
        image
    }

    /// A drawing in which nothing is.
    pub(super) fn empty(title: String, width: u64) -> Self {
        Self {
            title,
            width,
            height: 0,
            names: 0,
            texts: Vec::new(),
            boxes: Vec::new(),
            arrows: Vec::new(),
            ticks: Vec::new(),
        }
    }

    /// A row for each group, a column for each step. Returns the position of each step.
    fn grid(&mut self, picture: &Picture, columns: &BTreeMap<&str, Column>) -> BTreeMap<String, Area> {
        let mut places = BTreeMap::new();
        for group in &picture.groups {
            let top = self.height;
            self.write("name", MARGIN, top + 20, cut(&group.title));
            self.write("note", MARGIN, top + 20 + LINE, cut(&kind(group)));
            let tallest = group.steps.iter().map(height).max().unwrap_or_default();
            for step in &group.steps {
                let column = columns[step.file.as_str()];
                let area = Area {
                    x: MARGIN + self.names + column.x,
                    y: top,
                    width: column.width,
                    height: height(step),
                };
                places.insert(step.id.clone(), area);
                self.step(step, area);
            }
            self.height += tallest.max(3 * LINE) + GAP;
        }
        places
    }

    fn step(&mut self, step: &PictureStep, area: Area) {
        let Area { x, y, width, height } = area;
        let class = if step.time.is_some() { "step" } else { "never" };
        self.boxes.push(Rectangle {
            class,
            x,
            y,
            width,
            height,
            title: step.file.clone(),
        });
        self.write("name", x + PADDING, y + LINE, heading(step));
        for (line, note) in (2..).zip(notes(step)) {
            self.write("note", x + PADDING, y + line * LINE, note);
        }
    }

    pub(super) fn write(&mut self, class: &'static str, x: u64, y: u64, text: String) {
        self.texts.push(Text { class, x, y, text });
    }

    fn arrows(&mut self, picture: &Picture, places: &BTreeMap<String, Area>) {
        let mut entering: BTreeMap<&str, u64> = BTreeMap::new();
        for edge in &picture.edges {
            let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) else {
                continue;
            };
            let nth = entering.entry(&edge.to).or_default();
            *nth += 1;
            let path = curve(*from, *to, *nth);
            self.arrows.push(Arrow {
                path,
                title: edge.title.clone(),
            });
        }
    }

    /// The timeline, each bar next to its machines' names.
    fn timeline(&mut self, picture: &Picture) {
        let (left, wide) = (MARGIN + self.names, self.width - self.names - 3 * MARGIN);
        let seconds = picture.seconds.max(1);
        let scaled = |time: u64| left + time * wide / seconds;
        let top = self.height + LINE;
        self.height = top + PADDING;
        for bar in &picture.timeline {
            let y = self.height;
            self.write("note", MARGIN, y + 12, cut(&bar.title));
            self.boxes.extend(rectangles(bar, y, &scaled));
            self.height += BAR + BELOW;
        }
        let bottom = self.height;
        let tick = |time| Tick {
            x: scaled(time),
            top,
            bottom,
            text: clock(time),
        };
        self.ticks = ticks(seconds).map(tick).collect();
        self.height += MARGIN;
    }
}

/// Round times up to this many seconds.
pub(super) fn ticks(seconds: u64) -> impl Iterator<Item = u64> {
    let step = TICKS.iter().copied().find(|step| seconds / step <= 10);
    let step = step.unwrap_or(seconds);
    (0..=seconds / step).map(move |number| number * step)
}

fn rectangles(bar: &Bar, y: u64, scaled: &dyn Fn(u64) -> u64) -> Vec<Rectangle> {
    let rectangle = |span: &crate::order::Span| Rectangle {
        class: if span.waits { "waits" } else { "works" },
        x: scaled(span.from),
        y,
        width: scaled(span.to) - scaled(span.from),
        height: BAR,
        title: format!("{} {} to {}", span.step, clock(span.from), clock(span.to)),
    };
    bar.spans.iter().map(rectangle).collect()
}

/// The steps of all machines by their files, with their columns.
fn columns(picture: &Picture) -> BTreeMap<&str, Column> {
    let mut columns: BTreeMap<&str, Column> = BTreeMap::new();
    for step in picture.groups.iter().flat_map(|group| &group.steps) {
        let column = columns.entry(&step.file).or_default();
        column.width = column.width.max(width(step));
    }
    let mut x = 0;
    for column in columns.values_mut() {
        column.x = x;
        x += column.width + GAP;
    }
    columns
}

/// Pixels of a text, rounded up.
pub(super) fn pixels(text: &str, size: u64) -> u64 {
    (text.chars().count() as u64 * size * 605).div_ceil(1000)
}

/// The first line of a box.
fn heading(step: &PictureStep) -> String {
    format!("{}  {}", step.name, span(step.time))
}

/// Width of the longest name on the left.
fn names(picture: &Picture) -> u64 {
    let groups = picture
        .groups
        .iter()
        .flat_map(|group| [cut(&group.title), cut(&kind(group))]);
    let bars = picture.timeline.iter().map(|bar| cut(&bar.title));
    let widths = groups.chain(bars).map(|name| pixels(&name, NAME));
    widths.max().unwrap_or_default() + MARGIN
}

/// Width of a box, for the longest of its lines.
fn width(step: &PictureStep) -> u64 {
    let notes = notes(step).map(|note| pixels(&note, NOTE));
    let widest = notes.chain([pixels(&heading(step), NAME)]).max();
    widest.unwrap_or_default() + 2 * PADDING
}

fn height(step: &PictureStep) -> u64 {
    LINE * (1 + notes(step).count() as u64) + PADDING
}

/// A curve from a box to the nth place on the edge of another. It runs in the gap next to a column that contains both,
/// and below a box that waits for another machine of its kind.
fn curve(from: Area, to: Area, nth: u64) -> String {
    let (below, end) = (|area: Area| area.y + area.height, to.x + (30 * nth).min(to.width - 10));
    let middle = from.x + from.width / 2;
    if from == to {
        let (y, low) = (below(from), below(from) + 24);
        return format!("M {middle} {y} C {middle} {low}, {end} {low}, {end} {y}");
    }
    if from.x == to.x {
        let (side, bend) = (from.x + from.width, from.x + from.width + GAP - 4);
        let (start, end) = (from.y + from.height / 2, to.y + (8 * nth).min(to.height));
        return format!("M {side} {start} C {bend} {start}, {bend} {end}, {side} {end}");
    }
    let (start, out, into, at) = if from.y < to.y {
        (below(from), below(from) + GAP, to.y.saturating_sub(GAP), to.y)
    } else {
        (from.y, from.y.saturating_sub(GAP), below(to) + GAP, below(to))
    };
    format!("M {middle} {start} C {middle} {out}, {end} {into}, {end} {at}")
}
