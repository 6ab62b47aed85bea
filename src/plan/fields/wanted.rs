//! What a field takes, in words.

use crate::profile::Takes;

const SECOND: i64 = 1_000_000_000;
/// As many choices as a line holds.
const LISTED: usize = 8;

pub(super) fn wanted(takes: &Takes) -> String {
    match takes {
        Takes::Switch(None) => "true or false".to_owned(),
        Takes::Switch(Some(only)) => format!("{only} or nothing"),
        Takes::Whole(i64::MIN, i64::MAX) => "a whole number".to_owned(),
        Takes::Whole(least, i64::MAX) => format!("a whole number from {least}"),
        Takes::Whole(least, most) => format!("a whole number from {least} to {most}"),
        Takes::Number => "a number".to_owned(),
        Takes::Text => "text".to_owned(),
        Takes::Duration(least, i64::MAX) if *least >= SECOND => {
            format!("a duration of at least {}s, as 10s or 1h30m", least / SECOND)
        }
        Takes::Duration(_, i64::MAX) => "a duration, as 10s or 1h30m".to_owned(),
        Takes::Duration(least, most) => format!("a duration from {}s to {}s", least / SECOND, most / SECOND),
        Takes::Quantity => "a quantity as text, as 500m or 1Gi".to_owned(),
        Takes::Amount => "a quantity, as 500m or 1Gi".to_owned(),
        Takes::Threshold => "a quantity or a percentage as text, as 100Mi or 10%".to_owned(),
        Takes::Choice(choices) if choices.len() > LISTED => "none of the choices".to_owned(),
        Takes::Choice(choices) => format!("one of {}", choices.join(", ")),
        Takes::List(of) => list(of),
        Takes::Map(_, of) => map(of),
        Takes::Gates => "a mapping of feature gates, each true or false".to_owned(),
        Takes::Fields(_) | Takes::Kind(_) => "a mapping".to_owned(),
        Takes::Any => "anything".to_owned(),
    }
}

fn list(of: &Takes) -> String {
    match of {
        Takes::Choice(choices) if choices.len() <= LISTED => format!("a list of {}", choices.join(", ")),
        Takes::Text | Takes::Choice(_) => "a list of texts".to_owned(),
        Takes::Whole(..) => "a list of whole numbers".to_owned(),
        Takes::Fields(_) | Takes::Kind(_) => "a list of mappings".to_owned(),
        _ => "a list".to_owned(),
    }
}

fn map(of: &Takes) -> String {
    match of {
        Takes::Switch(_) => "a mapping of true or false".to_owned(),
        Takes::List(_) => "a mapping of lists".to_owned(),
        _ => "a mapping of texts".to_owned(),
    }
}
