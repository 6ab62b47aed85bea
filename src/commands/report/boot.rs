//! The first boot: when each machine works and waits, and for whom.

use std::collections::BTreeMap;

use firelay_verify::{
    graph::{clock, duration},
    order::{Bar, BarWait, Picture, PictureWait, Span},
};
use serde::Serialize;

use super::{
    axis::{Axis, fits, percent, ticks},
    names::Names,
};

#[derive(Serialize)]
pub(super) struct Boot {
    /// A machine founds the cluster; none does in one that exists.
    founds: bool,
    end: String,
    axis: Axis,
    bars: Vec<Machines>,
    waits: Vec<Wait>,
}

/// Machines with the same times.
#[derive(Serialize)]
struct Machines {
    names: Names,
    pieces: Vec<Piece>,
    end: String,
    waiting: Vec<String>,
}

/// A piece of a bar.
#[derive(Serialize)]
struct Piece {
    class: &'static str,
    from: String,
    width: String,
    title: String,
    /// The step, where the piece is long enough for its name.
    label: Option<String>,
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
        let seconds = picture.seconds.max(1);
        Self {
            founds: picture.groups.iter().any(|group| group.founds),
            end: clock(picture.seconds),
            axis: Axis::new(ticks(seconds).map(|time| (time, clock(time))), seconds),
            bars: picture.timeline.iter().map(|bar| Machines::of(bar, seconds)).collect(),
            waits: waits(picture),
        }
    }

    /// When the last machine is ready.
    pub(super) fn end(&self) -> &str {
        &self.end
    }
}

impl Machines {
    fn of(bar: &Bar, seconds: u64) -> Self {
        let waits = bar.waits.iter();
        let waits = waits.map(|BarWait { seconds, title, on }| format!("{} for {title}: {on}", clock(*seconds)));
        Self {
            names: Names::of_ranges(bar.title.clone(), 0),
            end: bar
                .spans
                .last()
                .map_or_else(|| "never".to_owned(), |span| clock(span.to)),
            pieces: bar.spans.iter().map(|span| Piece::of(span, seconds)).collect(),
            waiting: waits.collect(),
        }
    }
}

impl Piece {
    fn of(span: &Span, seconds: u64) -> Self {
        let class = if span.waits { "waits" } else { "works" };
        let (step, length) = (if span.waits { class } else { &span.step }, span.to - span.from);
        Self {
            class,
            from: percent(span.from, seconds),
            width: percent(length, seconds),
            title: format!("{} {class} {} to {}", span.step, clock(span.from), clock(span.to)),
            label: fits(step, length, seconds).then(|| step.to_owned()),
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
