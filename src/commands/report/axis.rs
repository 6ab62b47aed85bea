//! The axis above bars. Positions are percentages, so that its labels keep their shape at every width.

use serde::Serialize;

/// Distances of ticks in seconds; the first one with at most [`TICKS`] of them is used.
const DISTANCES: [u64; 11] = [5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600];
const TICKS: u64 = 7;
/// Pixels of the narrowest bar, and of a character of a label.
const NARROWEST: u64 = 310;
const CHARACTER: u64 = 7;

#[derive(Serialize)]
pub(super) struct Axis {
    ticks: Vec<Tick>,
}

#[derive(Serialize)]
struct Tick {
    at: String,
    text: String,
    /// Where the label has its middle: `start`, `middle` or `end`.
    anchor: &'static str,
}

impl Axis {
    /// Labels at their places on an axis of this length.
    pub(super) fn new(labels: impl IntoIterator<Item = (u64, String)>, length: u64) -> Self {
        let tick = |(at, text): (u64, String)| Tick {
            anchor: match at * 100 / length.max(1) {
                0..5 => "start",
                5..95 => "middle",
                _ => "end",
            },
            at: percent(at, length),
            text,
        };
        Self {
            ticks: labels.into_iter().map(tick).collect(),
        }
    }
}

/// Round times up to this many seconds.
pub(super) fn ticks(seconds: u64) -> impl Iterator<Item = u64> {
    let distance = DISTANCES.into_iter().find(|distance| seconds / distance < TICKS);
    let distance = distance.unwrap_or_else(|| seconds.div_ceil(TICKS));
    (0..=seconds / distance).map(move |number| number * distance)
}

/// A part of a whole in percent, with two decimals.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let hundredths = part * 10_000 / whole.max(1);
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// A label has room in a part of the narrowest bar.
pub(super) fn fits(label: &str, part: u64, whole: u64) -> bool {
    (label.len() as u64 + 2) * CHARACTER <= NARROWEST * part / whole.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_round() {
        assert_eq!(ticks(102).collect::<Vec<_>>(), [0, 15, 30, 45, 60, 75, 90]);
        assert_eq!(ticks(4).collect::<Vec<_>>(), [0]);
        assert!(ticks(1_000_000).count() <= 8);
    }

    #[test]
    fn a_part_is_a_percentage() {
        assert_eq!(
            (percent(1, 3), percent(3, 3)),
            ("33.33%".to_owned(), "100.00%".to_owned())
        );
        assert!(fits("join", 20, 100) && !fits("artifacts", 20, 100));
    }
}
