//! Short forms of lists of names.

/// A name, split into its text and its final number, so that 2 sorts before 10.
pub fn natural(name: &str) -> (String, Option<u64>) {
    let text = name.trim_end_matches(|char: char| char.is_ascii_digit());
    (text.to_owned(), name[text.len()..].parse().ok())
}

/// Names in the order that they have; those that count on are a range: `cp1, worker-1..40`.
pub fn together(names: &[&str]) -> String {
    let mut ranges: Vec<(&str, &str)> = Vec::new();
    for name in names {
        match ranges.last_mut() {
            Some((_, last)) if follows(last, name) => *last = name,
            _ => ranges.push((name, name)),
        }
    }
    let words = ranges
        .iter()
        .map(|(first, last)| match (first == last, follows(first, last)) {
            (true, _) => (*first).to_owned(),
            (_, true) => format!("{first}, {last}"),
            _ => format!("{first}..{}", &last[natural(last).0.len()..]),
        });
    words.collect::<Vec<_>>().join(", ")
}

/// `b` is `a` with the next number.
fn follows(a: &str, b: &str) -> bool {
    let (text, number) = natural(a);
    let next = number.and_then(|number| number.checked_add(1));
    next.is_some_and(|next| b == format!("{text}{next}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_count_on_are_a_range() {
        assert_eq!(
            together(&["cp1", "worker-1", "worker-2", "worker-3"]),
            "cp1, worker-1..3"
        );
        assert_eq!(together(&["a1", "a2", "b", "a9", "a10", "a11"]), "a1, a2, b, a9..11");
        assert_eq!(
            together(&["a01", "a02", "a18446744073709551615"]),
            "a01, a02, a18446744073709551615"
        );
        assert_eq!(together(&[]), "");
        assert!(natural("w2") < natural("w10"));
    }
}
