//! The picture of a cluster, with its tables.

use serde::Serialize;

use super::{
    super::streams::counted,
    drawing::{Area, Drawing, width_of, wrapped},
    outline::{Machines, Outline, Range, Talk},
};

const WIDTH: u32 = 920;
/// A telephone's, where everything is in one column.
const NARROW: u32 = 340;
const LEFT: u32 = 300;
/// Around the drawing, for the width of its lines.
const EDGE: u32 = 2;
/// Between two boxes.
const GAP: u32 = 16;
/// Between two columns: an arrow with its label.
const BETWEEN: u32 = 120;
/// Between two rows, likewise.
const BELOW: u32 = 64;
const PADDING: u32 = 12;
const LINE: u32 = 18;
const TILES: usize = 3;
/// Groups of machines that are drawn; the table has all.
const DRAWN: usize = 9;
/// Characters before the value of a range.
const INDENT: usize = 9;

#[derive(Serialize)]
pub(super) struct Cluster {
    drawing: Drawing,
    narrow: Drawing,
    machines: Vec<Machines>,
    ranges: Vec<Range>,
    talks: Vec<Talk>,
}

impl Cluster {
    pub(super) fn of(outline: Outline) -> Self {
        let layout = |width| Layout {
            drawing: Drawing::new(
                format!("The machines of {}", outline.cluster),
                outline.described(),
                width,
            ),
            width,
            of: &outline,
        };
        Self {
            drawing: layout(WIDTH).draw(),
            narrow: layout(NARROW).draw_narrow(),
            machines: outline.machines,
            ranges: outline.ranges,
            talks: outline.talks,
        }
    }

    /// `6 machines, 1 pool`.
    pub(super) fn count(&self) -> String {
        let of = |pool| self.machines.iter().filter(move |group| group.pool == pool);
        let [machines, pools] = [false, true].map(|pool| of(pool).map(|group| group.names.count).sum());
        let pools = (pools > 0).then(|| counted(pools, "pool"));
        [counted(machines, "machine")]
            .into_iter()
            .chain(pools)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Workers above, the endpoint and the ranges left, control planes and etcd right, connections of all machines below.
struct Layout<'a> {
    drawing: Drawing,
    width: u32,
    of: &'a Outline,
}

impl Layout<'_> {
    fn draw(mut self) -> Drawing {
        let mut y = EDGE;
        let workers = self.workers();
        if !workers.is_empty() {
            y = self.tiles(y, &workers);
            let (left, right) = (EDGE + LEFT / 2, EDGE + LEFT + BETWEEN + 60);
            self.connection((left, y), (left, y + BELOW), "kube-apiserver");
            self.connection((right, y + BELOW), (right, y), "kubelet");
            y += BELOW;
        }
        let end = self.endpoint(y);
        self.arrow_to_servers(y, end);
        let left = self.addresses(end + GAP);
        let right = self.servers(y);
        y = self.mesh(left.max(right));
        self.drawing.height = y + EDGE;
        self.drawing
    }

    /// The same in one column. The connection of control planes to kubelets is in the table alone.
    fn draw_narrow(mut self) -> Drawing {
        let mut y = EDGE;
        let x = EDGE + 2 * PADDING;
        let workers = self.workers();
        if !workers.is_empty() {
            y = self.tiles(y, &workers) + BELOW;
            self.connection((x, y - BELOW), (x, y), "kube-apiserver");
        }
        y = self.endpoint(y) + BELOW;
        self.connection((x, y - BELOW), (x, y), "kube-apiserver");
        y = self.servers(y);
        y = self.addresses(y + GAP);
        self.drawing.height = self.mesh(y) + EDGE;
        self.drawing
    }

    fn is_narrow(&self) -> bool {
        self.width < WIDTH
    }

    fn groups(&self, is: impl Fn(&Machines) -> bool) -> Vec<usize> {
        let groups = self.of.machines.iter().enumerate();
        groups.filter(|(_, group)| is(group)).map(|(at, _)| at).collect()
    }

    fn workers(&self) -> Vec<usize> {
        self.groups(|group| !group.is("control-plane") && !group.is("etcd"))
    }

    /// Workers and pools in a frame, side by side. Returns the end of the frame.
    fn tiles(&mut self, top: u32, groups: &[usize]) -> u32 {
        let columns = groups.len().min(if self.is_narrow() { 1 } else { TILES });
        let count = u32::try_from(columns).unwrap_or(1);
        let width = (self.width - 2 * EDGE - (count + 1) * PADDING) / count;
        let drawn = &groups[..groups.len().min(DRAWN)];
        let mut y = top + PADDING;
        let frame = self.drawing.frame("workers", Area::default());
        for row in drawn.chunks(columns) {
            y = self.row(y, row, width) + PADDING;
        }
        let more = groups.len() - drawn.len();
        if more > 0 {
            let text = format!("and {more} more groups, in the table below");
            let at = (EDGE + PADDING, y + LINE - PADDING / 2);
            self.drawing.text("note", at, self.width - 2 * PADDING, &text);
            y += LINE + PADDING;
        }
        let (width, height) = (self.width - 2 * EDGE, y - top);
        self.drawing.resize(
            frame,
            Area {
                x: EDGE,
                y: top,
                width,
                height,
            },
        );
        y
    }

    /// Boxes of the same height. Returns their end.
    fn row(&mut self, y: u32, groups: &[usize], width: u32) -> u32 {
        let tile = |at: &usize| {
            let group = &self.of.machines[*at];
            let lines = [group.title(), group.names.text.clone(), group.addresses.clone()];
            (if group.pool { "pool" } else { "worker" }, folded(&lines, width))
        };
        let tiles: Vec<_> = groups.iter().map(tile).collect();
        let height = tiles
            .iter()
            .map(|(_, lines)| height_of(lines))
            .max()
            .unwrap_or_default();
        for (number, (class, lines)) in (0..).zip(tiles) {
            let x = EDGE + PADDING + number * (width + PADDING);
            self.drawing.frame(class, Area { x, y, width, height });
            self.lines((x, y), width, &lines);
        }
        y + height
    }

    /// A box with its lines. Returns its end.
    fn boxed(&mut self, class: &'static str, (x, y): (u32, u32), width: u32, lines: &[String]) -> u32 {
        let height = height_of(lines);
        self.drawing.frame(class, Area { x, y, width, height });
        self.lines((x, y), width, lines);
        y + height
    }

    /// The first line in bold, the others below.
    fn lines(&mut self, (x, y): (u32, u32), width: u32, lines: &[String]) {
        for (number, line) in (0..).zip(lines) {
            let class = if number == 0 { "name" } else { "note" };
            let place = (x + PADDING, y + PADDING + LINE * number + 8);
            self.drawing.text(class, place, width - 2 * PADDING, line);
        }
    }

    /// An arrow downwards or upwards, with its ports on the right.
    fn connection(&mut self, from: (u32, u32), to: (u32, u32), of: &str) {
        let label = self.label(|talk| talk.of == of);
        let y = from.1.min(to.1) + BELOW / 2 + 4;
        let up = from.1 > to.1;
        let ends = |at: (u32, u32), first: bool| (at.0, if first == up { at.1 - 6 } else { at.1 + 6 });
        self.drawing.arrow(ends(from, true), ends(to, false));
        let text = format!("{of} {label}");
        self.drawing.text("label", (from.0 + 10, y), 260, text.trim_end());
    }

    fn label(&self, is: impl Fn(&Talk) -> bool) -> String {
        let talks = self.of.talks.iter().filter(|talk| is(talk));
        talks.map(|talk| talk.port.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn endpoint(&mut self, top: u32) -> u32 {
        let lines = ["API endpoint".to_owned(), self.of.endpoint.clone(), self.of.way.title()];
        self.boxed("endpoint", (EDGE, top), LEFT, &folded(&lines, LEFT))
    }

    /// An arrow from the endpoint to the control planes.
    fn arrow_to_servers(&mut self, top: u32, end: u32) {
        let (start, middle) = (EDGE + LEFT, top.midpoint(end));
        self.drawing.arrow((start + 6, middle), (start + BETWEEN - 6, middle));
        let label = self.label(|talk| talk.of == "kube-apiserver");
        let x = start + (BETWEEN.saturating_sub(width_of(&label))) / 2;
        self.drawing.text("label", (x, middle - 10), BETWEEN, &label);
    }

    /// The ranges.
    fn addresses(&mut self, y: u32) -> u32 {
        let rows = self.of.ranges.iter();
        let rows = rows.flat_map(|range| {
            let text = format!("{:<INDENT$}{}", range.name, range.value);
            wrapped(&text, LEFT - 2 * PADDING, INDENT)
        });
        let lines: Vec<_> = ["Addresses".to_owned()].into_iter().chain(rows).collect();
        self.boxed("ranges", (EDGE, y), LEFT, &lines)
    }

    /// Control planes, and external members of etcd below them.
    fn servers(&mut self, top: u32) -> u32 {
        let planes = self.groups(|group| group.is("control-plane"));
        let members = self.groups(|group| group.is("etcd"));
        let between = |ports: &str| {
            if ports.is_empty() {
                String::new()
            } else {
                format!(": {ports} between them")
            }
        };
        let peers = self.label(|talk| talk.of == "etcd");
        let stacked = format!("etcd on these machines{}", between(&peers));
        let end = self.machines_in(top, "server", &planes, members.is_empty().then_some(stacked));
        if members.is_empty() {
            return end;
        }
        let x = self.servers_at() + 60;
        let label = self.label(|talk| talk.of == "etcd" && talk.from == "control planes");
        self.drawing.arrow((x, end + 6), (x, end + BELOW - 6));
        let text = format!("etcd {label}");
        self.drawing
            .text("label", (x + 10, end + BELOW / 2 + 4), 260, text.trim_end());
        let peers = self.label(|talk| talk.of == "etcd" && talk.from == talk.to);
        let note = Some(format!("members{}", between(&peers))).filter(|_| !peers.is_empty());
        self.machines_in(end + BELOW, "etcd", &members, note)
    }

    /// Where boxes of control planes and members begin.
    fn servers_at(&self) -> u32 {
        if self.is_narrow() { EDGE } else { EDGE + LEFT + BETWEEN }
    }

    fn machines_in(&mut self, top: u32, class: &'static str, groups: &[usize], note: Option<String>) -> u32 {
        let x = self.servers_at();
        let width = self.width - EDGE - x;
        let mut lines = Vec::new();
        for at in groups.iter().take(DRAWN) {
            let group = &self.of.machines[*at];
            lines.extend([group.title(), group.names.text.clone(), group.addresses.clone()]);
        }
        if groups.is_empty() {
            lines.push("no control plane".to_owned());
        }
        lines.retain(|line| !line.is_empty());
        lines.extend(note);
        self.boxed(class, (x, top), width, &folded(&lines, width))
    }

    /// Connections of all machines with each other.
    fn mesh(&mut self, top: u32) -> u32 {
        let talks = self.of.talks.iter();
        let among = talks.filter(|talk| talk.from == talk.to && talk.to != "etcd members");
        let line = |talk: &Talk| format!("{} with each other: {} {}", talk.to, talk.of, talk.port);
        let lines: Vec<_> = among.map(line).collect();
        if lines.is_empty() {
            return top;
        }
        let title = "Network plugin and add-ons".to_owned();
        let lines: Vec<_> = [title].into_iter().chain(lines).collect();
        let width = self.width - 2 * EDGE;
        self.boxed("mesh", (EDGE, top + GAP), width, &folded(&lines, width))
    }
}

/// Lines for a box of this width; the rest of a long one is indented.
fn folded(lines: &[String], width: u32) -> Vec<String> {
    lines
        .iter()
        .flat_map(|line| wrapped(line, width - 2 * PADDING, 2))
        .collect()
}

/// The height of a box with these lines.
fn height_of(lines: &[String]) -> u32 {
    LINE * u32::try_from(lines.len()).unwrap_or_default() + PADDING
}
