//! For a terminal and a diff: the machines with their steps and waits, then the times as bars.

use super::{clock, cut, duration, kind, span, title};
use crate::order::{Bar, Group, Picture, PictureStep, PictureWait};

/// Characters of a bar.
const BAR: u64 = 60;

/// The picture in lines.
pub fn text(picture: &Picture) -> String {
    let mut text = format!("{}\n", title(picture));
    text.extend(picture.groups.iter().map(group));
    let width = picture
        .timeline
        .iter()
        .map(|bar| cut(&bar.title).chars().count())
        .max()
        .unwrap_or_default();
    let end = clock(picture.seconds);
    let gap = usize::try_from(BAR).unwrap_or_default().saturating_sub(end.len() + 4);
    text += &format!("\n{:width$}   0:00{:gap$}{end}\n", "", "");
    text.extend(
        picture
            .timeline
            .iter()
            .map(|bar| format!("{:width$}  |{}|\n", cut(&bar.title), drawn(bar, picture.seconds))),
    );
    text + &format!("{:width$}   = works, . waits for another machine\n", "")
}

fn group(group: &Group) -> String {
    let steps: String = group.steps.iter().map(step).collect();
    format!("\n{}  {}\n{steps}", group.title, kind(group))
}

fn step(step: &PictureStep) -> String {
    let line = format!("  {:<10} {:<14} {}", step.name, span(step.time), step.does.join(", "));
    let waits: String = step.waits.iter().filter(|wait| !wait.itself).map(wait).collect();
    format!("{}\n{waits}", line.trim_end())
}

fn wait(wait: &PictureWait) -> String {
    let limit = wait.gives_up_after.map_or_else(|| "no deadline".to_owned(), duration);
    format!("      <- {}: {} (gives up after {limit})\n", wait.title, wait.on)
}

/// A character for each part of the time: what fills the most of it.
fn drawn(bar: &Bar, seconds: u64) -> String {
    let cell = |number: u64| {
        let (from, to) = (number * seconds, (number + 1) * seconds);
        let share = |waits: bool| {
            let spans = bar.spans.iter().filter(|span| span.waits == waits);
            let inside = spans.map(|span| (span.to * BAR).min(to).saturating_sub((span.from * BAR).max(from)));
            inside.sum::<u64>()
        };
        match (share(false), share(true)) {
            (0, 0) => ' ',
            (works, waits) if works >= waits => '=',
            _ => '.',
        }
    };
    (0..BAR).map(cell).collect()
}
