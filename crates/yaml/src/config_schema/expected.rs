//! Types in readable form, for messages.

use super::FieldType;

const SECOND: i64 = 1_000_000_000;
/// The maximum number of choices in a line.
const LISTED: usize = 8;

pub(super) fn expected(of: &FieldType) -> String {
    match of {
        FieldType::Bool(None) => "true or false".to_owned(),
        FieldType::Bool(Some(only)) => format!("{only} or nothing"),
        FieldType::Integer(i64::MIN, i64::MAX) => "a whole number".to_owned(),
        FieldType::Integer(least, i64::MAX) => format!("a whole number from {least}"),
        FieldType::Integer(least, most) => format!("a whole number from {least} to {most}"),
        FieldType::Number => "a number".to_owned(),
        FieldType::Text => "text".to_owned(),
        FieldType::Duration(least, i64::MAX) if *least >= SECOND => {
            format!("a duration of at least {}s, as 10s or 1h30m", least / SECOND)
        }
        FieldType::Duration(_, i64::MAX) => "a duration, as 10s or 1h30m".to_owned(),
        FieldType::Duration(least, most) => format!("a duration from {}s to {}s", least / SECOND, most / SECOND),
        FieldType::Quantity => "a quantity as text, as 500m or 1Gi".to_owned(),
        FieldType::Amount => "a quantity, as 500m or 1Gi".to_owned(),
        FieldType::Threshold => "a quantity or a percentage as text, as 100Mi or 10%".to_owned(),
        FieldType::Choice(choices) if choices.len() > LISTED => "none of the choices".to_owned(),
        FieldType::Choice(choices) => format!("one of {}", choices.join(", ")),
        FieldType::List(of) => list(of),
        FieldType::Map(_, of) => map(of),
        FieldType::Gates => "a mapping of feature gates, each true or false".to_owned(),
        FieldType::Fields(_) | FieldType::Kind(_) => "a mapping".to_owned(),
        FieldType::Any => "anything".to_owned(),
    }
}

fn list(of: &FieldType) -> String {
    match of {
        FieldType::Choice(choices) if choices.len() <= LISTED => format!("a list of {}", choices.join(", ")),
        FieldType::Text | FieldType::Choice(_) => "a list of texts".to_owned(),
        FieldType::Integer(..) => "a list of whole numbers".to_owned(),
        FieldType::Fields(_) | FieldType::Kind(_) => "a list of mappings".to_owned(),
        _ => "a list".to_owned(),
    }
}

fn map(of: &FieldType) -> String {
    match of {
        FieldType::Bool(_) => "a mapping of true or false".to_owned(),
        FieldType::List(_) => "a mapping of lists".to_owned(),
        _ => "a mapping of texts".to_owned(),
    }
}
