//! For a page: boxes in a grid, arrows between them, and below them the times as bars. Lengths are pixels.

use std::collections::BTreeMap;

use minijinja::Error;
use serde::Serialize;

use super::{clock, kind, notes, render, span, title};
use crate::order::{Bar, Picture, PictureStep};

const MARGIN: u64 = 20;
/// Width of the names on the left.
const NAMES: u64 = 190;
const BOX: u64 = 225;
const GAP: u64 = 30;
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
struct Image {
    title: String,
    width: u64,
    height: u64,
    texts: Vec<Text>,
    boxes: Vec<Rectangle>,
    arrows: Vec<Arrow>,
    ticks: Vec<Tick>,
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
struct Rectangle {
    class: &'static str,
    x: u64,
    y: u64,
    width: u64,
    height: u64,
    /// Shown where a pointer rests on it.
    title: String,
}

/// A curve from a box to another, or to itself.
#[derive(Serialize)]
struct Arrow {
    path: String,
    title: String,
}

#[derive(Serialize)]
struct Tick {
    x: u64,
    top: u64,
    bottom: u64,
    text: String,
}

impl Image {
    fn of(picture: &Picture) -> Self {
        let columns = columns(picture);
        let width = NAMES + 2 * MARGIN + (BOX + GAP) * columns.len().max(2) as u64;
        let mut image = Self {
            title: title(picture),
            width,
            height: HEADING,
            texts: vec![Text {
                class: "title",
                x: MARGIN,
                y: 32,
                text: title(picture),
            }],
            boxes: Vec::new(),
            arrows: Vec::new(),
            ticks: Vec::new(),
        };
        let places = image.grid(picture, &columns);
        image.arrows(picture, &places);
        image.timeline(picture);
        image
    }

    /// A row for each group, a column for each step. Returns the position of each step.
    fn grid(&mut self, picture: &Picture, columns: &BTreeMap<&str, u64>) -> BTreeMap<String, (u64, u64, u64)> {
        let mut places = BTreeMap::new();
        for group in &picture.groups {
            let top = self.height;
            self.write("name", MARGIN, top + 20, group.title.clone());
            self.write("note", MARGIN, top + 20 + LINE, kind(group));
            let tallest = group.steps.iter().map(height).max().unwrap_or_default();
            for step in &group.steps {
                let x = MARGIN + NAMES + columns[step.file.as_str()] * (BOX + GAP);
                places.insert(step.id.clone(), (x, top, height(step)));
                self.step(step, x, top);
            }
            self.height += tallest.max(3 * LINE) + GAP;
        }
        places
    }

    fn step(&mut self, step: &PictureStep, x: u64, y: u64) {
        let (width, height) = (BOX, height(step));
        let class = if step.time.is_some() { "step" } else { "never" };
        self.boxes.push(Rectangle {
            class,
            x,
            y,
            width,
            height,
            title: step.file.clone(),
        });
        self.write(
            "name",
            x + PADDING,
            y + LINE,
            format!("{}  {}", step.name, span(step.time)),
        );
        for (line, note) in (2..).zip(notes(step)) {
            self.write("note", x + PADDING, y + line * LINE, note);
        }
    }

    fn write(&mut self, class: &'static str, x: u64, y: u64, text: String) {
        self.texts.push(Text { class, x, y, text });
    }

    fn arrows(&mut self, picture: &Picture, places: &BTreeMap<String, (u64, u64, u64)>) {
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
        let (left, wide) = (MARGIN + NAMES, self.width - NAMES - 3 * MARGIN);
        let seconds = picture.seconds.max(1);
        let scaled = |time: u64| left + time * wide / seconds;
        let top = self.height + LINE;
        self.height = top + PADDING;
        for bar in &picture.timeline {
            let y = self.height;
            self.write("note", MARGIN, y + 12, bar.title.clone());
            self.boxes.extend(rectangles(bar, y, &scaled));
            self.height += BAR + BELOW;
        }
        let bottom = self.height;
        let step = TICKS
            .iter()
            .copied()
            .find(|step| seconds / step <= 10)
            .unwrap_or(seconds);
        let times = (0..=seconds / step).map(|number| number * step);
        let tick = |time| Tick {
            x: scaled(time),
            top,
            bottom,
            text: clock(time),
        };
        self.ticks = times.map(tick).collect();
        self.height += MARGIN;
    }
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
fn columns(picture: &Picture) -> BTreeMap<&str, u64> {
    let files = picture
        .groups
        .iter()
        .flat_map(|group| &group.steps)
        .map(|step| (step.file.as_str(), 0));
    let mut columns: BTreeMap<_, _> = files.collect();
    for (number, column) in (0..).zip(columns.values_mut()) {
        *column = number;
    }
    columns
}

fn height(step: &PictureStep) -> u64 {
    LINE * (1 + notes(step).count() as u64) + PADDING
}

/// A curve from a box to the nth place on the edge of another. It runs in the gap next to a column that contains both,
/// and below a box that waits for another machine of its kind.
fn curve(from: (u64, u64, u64), to: (u64, u64, u64), nth: u64) -> String {
    let ((fx, fy, fh), (tx, ty, th)) = (from, to);
    let end = tx + (30 * nth).min(BOX - 10);
    let middle = fx + BOX / 2;
    if from == to {
        let (y, low) = (fy + fh, fy + fh + 24);
        return format!("M {middle} {y} C {middle} {low}, {end} {low}, {end} {y}");
    }
    if fx == tx {
        let (side, bend) = (fx + BOX, fx + BOX + GAP - 4);
        let (start, end) = (fy + fh / 2, ty + (8 * nth).min(th));
        return format!("M {side} {start} C {bend} {start}, {bend} {end}, {side} {end}");
    }
    let (start, out, into, at) = if fy < ty {
        (fy + fh, fy + fh + GAP, ty.saturating_sub(GAP), ty)
    } else {
        (fy, fy.saturating_sub(GAP), ty + th + GAP, ty + th)
    };
    format!("M {middle} {start} C {middle} {out}, {end} {into}, {end} {at}")
}
