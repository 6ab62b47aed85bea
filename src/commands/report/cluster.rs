//! The machines of a cluster, and who talks to whom.

use std::{collections::BTreeMap, net::IpAddr};

use firelay_verify::{Cluster as Facts, Format, Machine, Tree, variable};
use serde::Serialize;

use super::{
    drawing::{Area, Drawing, width_of},
    names::Names,
    subject::Subject,
};
use crate::tree::{ManifestPort, Place};

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
const TILES: u32 = 3;
/// Groups of machines that are drawn; the table has all.
const DRAWN: usize = 9;

#[derive(Serialize)]
pub(super) struct Cluster {
    drawing: Drawing,
    narrow: Drawing,
    machines: Vec<Machines>,
    ranges: Vec<Range>,
    talks: Vec<Talk>,
}

/// Machines with the same roles on the same platform.
#[derive(Serialize)]
struct Machines {
    names: Names,
    roles: String,
    pool: bool,
    platform: String,
    document: &'static str,
    addresses: String,
}

/// A range of addresses, or another name of the cluster.
#[derive(Serialize)]
struct Range {
    name: &'static str,
    value: String,
}

/// A connection between machines.
#[derive(Serialize)]
struct Talk {
    from: &'static str,
    to: &'static str,
    port: String,
    of: String,
}

impl Cluster {
    pub(super) fn of(subject: &Subject) -> Self {
        let facts = &subject.facts;
        let machines = machines(&subject.tree);
        let way = Way::of(facts, &subject.tree);
        let talks: Vec<_> = subject.manifest.ports.iter().map(|port| Talk::of(port, &way)).collect();
        let ranges = ranges(facts, &subject.tree);
        let layout = |width| Layout {
            drawing: Drawing::new(
                format!("The machines of {}", subject.manifest.cluster),
                described(&machines, &talks),
                width,
            ),
            width,
            machines: &machines,
            talks: &talks,
            ranges: &ranges,
            endpoint: facts.endpoint.as_deref().unwrap_or("unknown"),
            way: &way,
        };
        Self {
            drawing: layout(WIDTH).draw(),
            narrow: layout(NARROW).draw_narrow(),
            machines,
            ranges,
            talks,
        }
    }
}

fn machines(tree: &Tree) -> Vec<Machines> {
    let mut groups: BTreeMap<_, Vec<&Machine>> = BTreeMap::new();
    for machine in &tree.machines {
        let order = ["control-plane", "etcd"].map(|role| !machine.is(role));
        let key = (
            order,
            machine.pool,
            &machine.roles,
            &machine.platform,
            document(machine),
        );
        groups.entry(key).or_default().push(machine);
    }
    let group =
        |((_, pool, roles, platform, document), machines): ((_, _, &Vec<String>, &String, _), Vec<&Machine>)| {
            Machines {
                names: Names::of(machines.iter().map(|machine| machine.name.as_str())),
                roles: roles.join(", "),
                pool,
                platform: platform.clone(),
                document,
                addresses: addresses(&machines),
            }
        };
    groups.into_iter().map(group).collect()
}

fn document(machine: &Machine) -> &'static str {
    match machine.format {
        Format::CloudInit => "cloud-init",
        Format::Ignition => "Ignition",
    }
}

/// The addresses of few machines, or the first and the last of each family.
fn own_addresses(machine: &Machine) -> Vec<IpAddr> {
    let list = variable(machine, "FL_ADDRESSES").unwrap_or_default();
    list.split([' ', ',']).filter_map(|text| text.parse().ok()).collect()
}

fn addresses(machines: &[&Machine]) -> String {
    let mut all: Vec<IpAddr> = machines.iter().flat_map(|machine| own_addresses(machine)).collect();
    all.sort_unstable();
    let (four, six): (Vec<_>, Vec<_>) = all.iter().partition(|address| address.is_ipv4());
    let texts = [four, six]
        .into_iter()
        .filter_map(|family: Vec<&IpAddr>| match family[..] {
            [] => None,
            [only] => Some(only.to_string()),
            [first, .., last] => Some(format!("{first} to {last}")),
        });
    texts.collect::<Vec<_>>().join(", ")
}

fn ranges(facts: &Facts, tree: &Tree) -> Vec<Range> {
    let list = |ranges: &[ipnet::IpNet]| {
        let texts: Vec<_> = ranges.iter().map(ToString::to_string).collect();
        texts.join(", ")
    };
    let all: Vec<_> = tree.machines.iter().collect();
    let rows = [
        ("nodes", addresses(&all)),
        ("pods", list(&facts.pods)),
        ("services", list(&facts.services)),
        (
            "API",
            facts.service.map_or_else(String::new, |address| address.to_string()),
        ),
        ("domain", facts.domain.clone().unwrap_or_default()),
    ];
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    rows.map(|(name, value)| Range { name, value }).collect()
}

/// How requests for the endpoint come to an API server (docs/endpoint.md).
enum Way {
    External,
    KubeVip(IpAddr),
    Local,
}

impl Way {
    fn of(facts: &Facts, tree: &Tree) -> Self {
        let is_own = |address: IpAddr| {
            tree.machines
                .iter()
                .any(|machine| own_addresses(machine).contains(&address))
        };
        match facts.lead {
            None => Self::External,
            Some(address) if address.is_loopback() || is_own(address) => Self::Local,
            Some(address) => Self::KubeVip(address),
        }
    }

    /// For the picture.
    fn title(&self) -> String {
        match self {
            Self::External => "your load balancer or DNS".to_owned(),
            Self::KubeVip(address) => format!("kube-vip, {address}"),
            Self::Local => "a proxy on each worker".to_owned(),
        }
    }

    /// The clients of the API servers.
    fn clients(&self) -> &'static str {
        match self {
            Self::External => "all machines, through the endpoint",
            Self::KubeVip(_) => "all machines, through the address of kube-vip",
            Self::Local => "workers, through their own proxies; control planes, each its own",
        }
    }
}

impl Talk {
    /// The clients of a port: kubernetes.io, "Ports and Protocols". Plugins and add-ons connect the machines that listen.
    fn of(port: &ManifestPort, way: &Way) -> Self {
        let to = place(port.on);
        let from = match (port.of.as_str(), port.port) {
            ("kube-apiserver", _) => way.clients(),
            ("etcd", Some(2379)) | ("kubelet", _) => "control planes",
            _ => to,
        };
        let number = port.port.map_or_else(String::new, |number| format!("{number}/"));
        Self {
            from,
            to,
            port: format!("{number}{}", protocol(&port.protocol)),
            of: port.of.clone(),
        }
    }
}

fn place(place: Place) -> &'static str {
    match place {
        Place::All => "all machines",
        Place::ControlPlane => "control planes",
        Place::Worker => "workers",
        Place::Etcd => "etcd members",
    }
}

/// `tcp`, or `protocol 4` for a protocol without ports.
fn protocol(name: &str) -> String {
    match name.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("protocol {name}"),
        false => name.to_owned(),
    }
}

fn described(machines: &[Machines], talks: &[Talk]) -> String {
    let groups = machines
        .iter()
        .map(|group| format!("{} ({})", group.names.text, group.roles));
    let talks = talks
        .iter()
        .map(|talk| format!("{} to {}: {} {}", talk.from, talk.to, talk.of, talk.port));
    format!(
        "Machines: {}. Connections: {}.",
        groups.collect::<Vec<_>>().join("; "),
        talks.collect::<Vec<_>>().join("; ")
    )
}

/// Workers above, the endpoint and the ranges left, control planes and etcd right, connections of all machines below.
struct Layout<'a> {
    drawing: Drawing,
    width: u32,
    machines: &'a [Machines],
    talks: &'a [Talk],
    ranges: &'a [Range],
    endpoint: &'a str,
    way: &'a Way,
}

impl Layout<'_> {
    fn draw(mut self) -> Drawing {
        let mut y = EDGE;
        let workers = self.of(|group| !group.is("control-plane") && !group.is("etcd"));
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
        let workers = self.of(|group| !group.is("control-plane") && !group.is("etcd"));
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

    fn of(&self, is: impl Fn(&Machines) -> bool) -> Vec<usize> {
        let groups = self.machines.iter().enumerate();
        groups.filter(|(_, group)| is(group)).map(|(at, _)| at).collect()
    }

    /// Workers and pools in a frame, side by side. Returns the end of the frame.
    fn tiles(&mut self, top: u32, groups: &[usize]) -> u32 {
        let drawn = u32::try_from(groups.len().min(DRAWN)).unwrap_or(1);
        let columns = drawn.min(if self.is_narrow() { 1 } else { TILES });
        let width = (self.width - 2 * EDGE - (columns + 1) * PADDING) / columns;
        let height = 3 * LINE + PADDING;
        let rows = drawn.div_ceil(columns);
        let more = groups.len().saturating_sub(DRAWN);
        let note = if more > 0 { LINE + PADDING } else { 0 };
        let frame = Area {
            x: EDGE,
            y: top,
            width: self.width - 2 * EDGE,
            height: rows * (height + PADDING) + PADDING + note,
        };
        self.drawing.frame("workers", frame);
        for (number, at) in (0..).zip(groups.iter().take(DRAWN)) {
            let group = &self.machines[*at];
            let x = EDGE + PADDING + number % columns * (width + PADDING);
            let y = top + PADDING + number / columns * (height + PADDING);
            let area = Area { x, y, width, height };
            self.drawing.frame(if group.pool { "pool" } else { "worker" }, area);
            let lines = [&group.title(), &group.names.text, &group.addresses];
            self.lines((x, y), width, lines.into_iter().map(String::as_str));
        }
        let end = top + frame.height;
        if more > 0 {
            let text = format!("and {more} more groups, in the table below");
            self.drawing
                .text("note", (EDGE + PADDING, end - PADDING), self.width - 2 * PADDING, &text);
        }
        end
    }

    /// The first line in bold, the others below.
    fn lines<'t>(&mut self, (x, y): (u32, u32), width: u32, lines: impl IntoIterator<Item = &'t str>) {
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
        self.drawing
            .text("label", (from.0 + 10, y), 260, &format!("{of} {label}"));
    }

    fn label(&self, is: impl Fn(&Talk) -> bool) -> String {
        let ports = self.talks.iter().filter(|talk| is(talk)).map(|talk| talk.port.as_str());
        ports.collect::<Vec<_>>().join(", ")
    }

    fn endpoint(&mut self, top: u32) -> u32 {
        let height = 3 * LINE + PADDING;
        let area = Area {
            x: EDGE,
            y: top,
            width: LEFT,
            height,
        };
        self.drawing.frame("endpoint", area);
        self.lines((EDGE, top), LEFT, ["API endpoint", self.endpoint, &self.way.title()]);
        top + height
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
        let height = LINE * (1 + u32::try_from(self.ranges.len()).unwrap_or_default()) + PADDING;
        let area = Area {
            x: EDGE,
            y,
            width: LEFT,
            height,
        };
        self.drawing.frame("ranges", area);
        let rows = self
            .ranges
            .iter()
            .map(|range| format!("{:<9}{}", range.name, range.value));
        let lines: Vec<_> = ["Addresses".to_owned()].into_iter().chain(rows).collect();
        self.lines((EDGE, y), LEFT, lines.iter().map(String::as_str));
        y + height
    }

    /// Control planes, and external members of etcd below them.
    fn servers(&mut self, top: u32) -> u32 {
        let planes = self.of(|group| group.is("control-plane"));
        let members = self.of(|group| group.is("etcd"));
        let peers = self.label(|talk| talk.of == "etcd");
        let stacked = format!("etcd on these machines: {peers} between them");
        let end = self.machines_in(top, "server", &planes, members.is_empty().then_some(stacked));
        if members.is_empty() {
            return end;
        }
        let x = self.servers_at() + 60;
        let label = self.label(|talk| talk.of == "etcd" && talk.from == "control planes");
        self.drawing.arrow((x, end + 6), (x, end + BELOW - 6));
        self.drawing
            .text("label", (x + 10, end + BELOW / 2 + 4), 260, &format!("etcd {label}"));
        let between = self.label(|talk| talk.of == "etcd" && talk.from == talk.to);
        self.machines_in(end + BELOW, "etcd", &members, Some(format!("{between} between them")))
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
            let group = &self.machines[*at];
            lines.extend([group.title(), group.names.text.clone(), group.addresses.clone()]);
        }
        lines.retain(|line| !line.is_empty());
        lines.extend(note);
        let height = LINE * u32::try_from(lines.len()).unwrap_or_default() + PADDING;
        let area = Area {
            x,
            y: top,
            width,
            height,
        };
        self.drawing.frame(class, area);
        self.lines((x, top), width, lines.iter().map(String::as_str));
        top + height
    }

    /// Connections of all machines with each other.
    fn mesh(&mut self, top: u32) -> u32 {
        let among = self
            .talks
            .iter()
            .filter(|talk| talk.from == talk.to && talk.to != "etcd members");
        let lines: Vec<_> = among
            .map(|talk| format!("{} with each other: {} {}", talk.to, talk.of, talk.port))
            .collect();
        if lines.is_empty() {
            return top;
        }
        let title = "Network plugin and add-ons".to_owned();
        let lines: Vec<_> = [title].into_iter().chain(lines).collect();
        let height = LINE * u32::try_from(lines.len()).unwrap_or_default() + PADDING;
        let area = Area {
            x: EDGE,
            y: top + GAP,
            width: self.width - 2 * EDGE,
            height,
        };
        self.drawing.frame("mesh", area);
        self.lines((EDGE, area.y), area.width, lines.iter().map(String::as_str));
        area.y + height
    }
}

impl Machines {
    fn is(&self, role: &str) -> bool {
        self.roles.split(", ").any(|own| own == role)
    }

    /// `40 × worker on aws`.
    fn title(&self) -> String {
        match self.pool {
            true => format!("pool, {} on {}", self.roles, self.platform),
            false => format!("{} × {} on {}", self.names.count, self.roles, self.platform),
        }
    }
}
