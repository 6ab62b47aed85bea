//! Names of machines that are shown in one row.

use firelay_verify::order::{natural, together};
use serde::Serialize;

/// Ranges of names that are shown.
const SHOWN: usize = 8;

/// Names, the first of many for people and all of them for the filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Names {
    /// `cp1, worker-1..40`, or the first ranges of more.
    pub(super) text: String,
    pub(super) all: String,
    pub(super) count: usize,
}

impl Names {
    pub(super) fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_cached_key(|name| natural(name));
        names.dedup();
        Self::of_ranges(together(&names), names.len())
    }

    /// Names that are ranges already.
    pub(super) fn of_ranges(all: String, count: usize) -> Self {
        let ranges: Vec<_> = all.split(", ").collect();
        let text = match ranges.len().checked_sub(SHOWN + 1) {
            Some(more) => format!("{} and {} more", ranges[..SHOWN].join(", "), more + 1),
            None => all.clone(),
        };
        Self { text, all, count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_are_ranges_and_of_many_ranges_the_first() {
        let names: Vec<_> = (1..=12).map(|number| format!("w{number}")).collect();
        let found = Names::of(names.iter().map(String::as_str));
        assert_eq!((found.text.as_str(), found.count), ("w1..12", 12));
        let odd: Vec<_> = (0..12).map(|number| format!("w{}", number * 7)).collect();
        let found = Names::of(odd.iter().map(String::as_str));
        assert!(found.text.ends_with("w49 and 4 more"), "{}", found.text);
        assert!(found.all.ends_with("w70, w77"), "{}", found.all);
    }
}
