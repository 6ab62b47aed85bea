//! The first boot: when each machine works and waits, and for whom.

use std::collections::BTreeMap;

use firelay_verify::{
    graph::{clock, duration},
    order::{Bar, Picture, PictureWait, Span},
};
use serde::Serialize;

use super::names::Names;

#[derive(Serialize)]
pub(super) struct Boot {
    /// A machine founds the cluster; none does in one that exists.
    founds: bool,
    /// Width of every bar.
    seconds: u64,
    end: String,
    bars: Vec<Machines>,
    waits: Vec<Wait>,
}

/// Machines with the same times.
#[derive(Serialize)]
struct Machines {
    names: Names,
    pieces: Vec<Piece>,
    end: String,
    waiting: String,
}

/// A piece of a bar.
#[derive(Serialize)]
struct Piece {
    class: &'static str,
    from: u64,
    width: u64,
    title: String,
}

/// A wait of machines for others.
#[derive(Serialize)]
struct Wait {
    names: Names,
    step: String,
    title: String,
    on: String,
    limit: String,
}

impl Boot {
    pub(super) fn of(picture: &Picture) -> Self {
        Self {
            founds: picture.groups.iter().any(|group| group.founds),
            seconds: picture.seconds.max(1),
            end: clock(picture.seconds),
            bars: picture.timeline.iter().map(Machines::of).collect(),
            waits: waits(picture),
        }
    }

    /// When the last machine is ready.
    pub(super) fn end(&self) -> &str {
        &self.end
    }
}

impl Machines {
    fn of(bar: &Bar) -> Self {
        let waiting: u64 = { bar.spans.iter().filter(|span| span.waits) }
            .map(|span| span.to - span.from)
            .sum();
        Self {
            names: Names {
                text: bar.title.clone(),
                all: bar.title.clone(),
                count: 0,
            },
            end: bar
                .spans
                .last()
                .map_or_else(|| "never".to_owned(), |span| clock(span.to)),
            pieces: bar.spans.iter().map(Piece::of).collect(),
            waiting: clock(waiting),
        }
    }
}

impl Piece {
    fn of(span: &Span) -> Self {
        let class = if span.waits { "waits" } else { "works" };
        Self {
            class,
            from: span.from,
            width: span.to - span.from,
            title: format!("{} {class} {} to {}", span.step, clock(span.from), clock(span.to)),
        }
    }
}

/// Equal waits of all groups together, in the order of the steps.
fn waits(picture: &Picture) -> Vec<Wait> {
    let mut equal: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for group in &picture.groups {
        for step in &group.steps {
            for wait in step.waits.iter().filter(|wait| !wait.itself) {
                let PictureWait {
                    title,
                    on,
                    gives_up_after,
                    ..
                } = wait;
                let key = (&step.file, &step.name, title, on, gives_up_after);
                let names = equal.entry(key).or_default();
                names.extend(group.machines.iter().map(String::as_str));
            }
        }
    }
    let wait = |((_, step, title, on, limit), names): ((_, &String, &String, &String, &Option<u64>), Vec<&str>)| Wait {
        names: Names::of(names),
        step: step.clone(),
        title: title.clone(),
        on: on.clone(),
        limit: limit.map_or_else(|| "no deadline".to_owned(), duration),
    };
    equal.into_iter().map(wait).collect()
}
