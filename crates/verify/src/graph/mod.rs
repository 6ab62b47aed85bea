//! The order of the first boot, drawn: as text, DOT, Mermaid and SVG, and its times alone.

mod svg;
mod text;
mod timeline;

use minijinja::{Environment, Error, ErrorKind, Value, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;

use crate::order::{Edge, Group, Picture, PictureStep};

pub use svg::svg;
pub use text::text;
pub use timeline::timeline;

/// Shown in every format.
const ESTIMATE: &str = "all machines powered on at once; an estimate from figures of the boot lab";

/// A graph in DOT, for Graphviz.
pub fn dot(picture: &Picture) -> Result<String, Error> {
    render(include_str!("order.dot.j2"), &Drawn::of(picture))
}

/// A flowchart in Mermaid.
pub fn mermaid(picture: &Picture) -> Result<String, Error> {
    render(include_str!("order.mmd.j2"), &Drawn::of(picture))
}

/// Characters of names beside a bar or above boxes.
const NAMES: usize = 40;

/// Fills in a template. Text for SVG goes through `escape`, strings of DOT and Mermaid through `json`.
fn render(template: &str, context: &impl Serialize) -> Result<String, Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_filter("json", |value: &Value| {
        serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
    });
    environment.render_str(template, Value::from(Serde(context)))
}

/// Names beside a bar or above boxes: of a long list the first, and how many follow.
fn cut(names: &str) -> String {
    if names.chars().count() <= NAMES {
        return names.to_owned();
    }
    let (first, rest) = names.split_once(", ").unwrap_or((names, ""));
    let more = match rest.split(", ").filter(|name| !name.is_empty()).count() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    match first.char_indices().nth(NAMES - more.len()) {
        Some((end, _)) => format!("{}…{more}", &first[..end]),
        None => format!("{first}{more}"),
    }
}

/// The context of the templates for DOT and Mermaid.
#[derive(Serialize)]
struct Drawn<'a> {
    title: String,
    groups: Vec<Boxes<'a>>,
    edges: &'a [Edge],
}

/// Boxes in a frame.
#[derive(Serialize)]
struct Boxes<'a> {
    id: &'a str,
    title: String,
    steps: Vec<Labelled<'a>>,
}

/// A box.
#[derive(Serialize)]
struct Labelled<'a> {
    id: &'a str,
    lines: Vec<String>,
}

impl<'a> Drawn<'a> {
    fn of(picture: &'a Picture) -> Self {
        let boxes = |group: &'a Group| Boxes {
            id: &group.id,
            title: format!("{} ({})", group.title, kind(group)),
            steps: group.steps.iter().map(Labelled::of).collect(),
        };
        Self {
            title: title(picture),
            groups: picture.groups.iter().map(boxes).collect(),
            edges: &picture.edges,
        }
    }
}

impl<'a> Labelled<'a> {
    fn of(step: &'a PictureStep) -> Self {
        Self {
            id: &step.id,
            lines: [step.name.clone(), span(step.time)]
                .into_iter()
                .chain(notes(step))
                .collect(),
        }
    }
}

/// The heading.
fn title(picture: &Picture) -> String {
    format!("{} ({ESTIMATE})", estimate(picture))
}

/// `prod: 6 machines, 1:42`.
fn estimate(picture: &Picture) -> String {
    let Picture {
        cluster,
        machines,
        seconds,
        ..
    } = picture;
    let machines = if *machines == 1 {
        "1 machine".to_owned()
    } else {
        format!("{machines} machines")
    };
    format!("{cluster}: {machines}, {}", clock(*seconds))
}

/// The roles of machines.
fn kind(group: &Group) -> String {
    let pool = if group.pool { ", a pool" } else { "" };
    let founds = if group.founds { ", founds the cluster" } else { "" };
    format!("{}{pool}{founds}", group.roles.join(", "))
}

/// A step's waits for other machines, and its actions.
fn notes(step: &PictureStep) -> impl Iterator<Item = String> {
    let waits = step.waits.iter().filter(|wait| !wait.itself);
    let waits = waits.map(|wait| format!("waits: {}", wait.title));
    waits.chain(step.does.iter().cloned())
}

/// `1:05`, or `2:01:05`.
pub fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// `30 min`, or `90 s`.
pub fn duration(seconds: u64) -> String {
    match seconds % 60 {
        0 if seconds > 60 => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

/// The start and the end of a step.
fn span(time: Option<(u64, u64)>) -> String {
    time.map_or_else(
        || "never".to_owned(),
        |(from, to)| format!("{} to {}", clock(from), clock(to)),
    )
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_long_list_of_names_is_cut_with_its_number() {
        let long = ["alpha-worker-node.rack-0.dc.example.com"; 3].join(", ");
        let shown = cut(&long);
        assert!(
            shown.ends_with("… and 2 more") && shown.chars().count() <= 41,
            "{shown}"
        );
        assert_eq!(cut("worker-1..40"), "worker-1..40");
        assert_eq!(
            cut("a.very.long.name.of.a.worker, b, c, d, e"),
            "a.very.long.name.of.a.worker, b, c, d, e"
        );
        assert_eq!(
            cut("a.very.long.name.of.a.worker, b, c, d, eeee"),
            "a.very.long.name.of.a.worker and 4 more"
        );
    }
}
