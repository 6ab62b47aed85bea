//! The notation of a field: `list of one of a, b; since 1.36`.

use super::{Field, FieldGate, FieldType};
use crate::duration;

pub(super) fn field(text: &str) -> Result<Field, String> {
    let mut parts = text.split(';').map(str::trim);
    let mut field = Field::from(field_type(parts.next().unwrap_or_default())?);
    for mark in parts {
        match mark.split_once(' ') {
            Some(("since", minor)) => field.since = Some(minor.parse()?),
            Some(("until", minor)) => field.until = Some(minor.parse()?),
            Some(("gate", gate)) => field.gate = Some(self::gate(gate)),
            _ => return Err(format!("`{mark}` is neither since, until nor gate")),
        }
    }
    Ok(field)
}

fn gate(text: &str) -> FieldGate {
    let (name, unless) = match text.split_once(" unless ") {
        Some((name, unless)) => (name, Some(unless.to_owned())),
        None => (text, None),
    };
    FieldGate {
        name: name.to_owned(),
        unless,
    }
}

fn field_type(text: &str) -> Result<FieldType, String> {
    if let Some(of) = text.strip_prefix("list of ") {
        return Ok(FieldType::List(Box::new(field_type(of)?)));
    }
    if let Some(choices) = text.strip_prefix("one of ") {
        return Ok(FieldType::Choice(words(choices)));
    }
    if let Some(map) = text.strip_prefix("map ") {
        return map_of(map);
    }
    let (name, range) = text.split_once(' ').unwrap_or((text, ""));
    Ok(match (name, range) {
        ("bool", "") => FieldType::Bool(None),
        ("bool", only) => FieldType::Bool(Some(only.parse().map_err(|_| format!("`{only}` is no bool"))?)),
        ("int", "") => FieldType::Integer(i64::MIN, i64::MAX),
        ("int", range) => bounds(range, (i64::MIN, i64::MAX), |text| text.parse().ok())
            .map(|(least, most)| FieldType::Integer(least, most))?,
        ("duration", "") => FieldType::Duration(0, i64::MAX),
        ("duration", range) => bounds(range, (i64::MIN, i64::MAX), duration::nanoseconds)
            .map(|(least, most)| FieldType::Duration(least, most))?,
        ("number", "") => FieldType::Number,
        ("text", "") => FieldType::Text,
        ("quantity", "") => FieldType::Quantity,
        ("amount", "") => FieldType::Amount,
        ("threshold", "") => FieldType::Threshold,
        ("gates", "") => FieldType::Gates,
        ("any", "") => FieldType::Any,
        (name, "") if name.starts_with(|first: char| first.is_ascii_uppercase()) => FieldType::Kind(name.to_owned()),
        _ => return Err(format!("`{text}` is no type")),
    })
}

fn map_of(text: &str) -> Result<FieldType, String> {
    let (keys, of) = match text.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((keys, rest)) => (words(keys), rest.trim_start()),
        None => (Vec::new(), text),
    };
    let of = of.strip_prefix("of ").ok_or_else(|| format!("`map {text}` of what?"))?;
    Ok(FieldType::Map(keys, Box::new(field_type(of)?)))
}

fn words(text: &str) -> Vec<String> {
    text.split(',')
        .map(|word| word.trim().trim_matches('"').to_owned())
        .collect()
}

fn bounds(text: &str, all: (i64, i64), read: impl Fn(&str) -> Option<i64>) -> Result<(i64, i64), String> {
    let bound = |text: &str, else_: i64| if text.is_empty() { Some(else_) } else { read(text) };
    let parts = text.split_once("..");
    let read = parts.and_then(|(least, most)| Some((bound(least, all.0)?, bound(most, all.1)?)));
    read.ok_or_else(|| format!("`{text}` is no range"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read() {
        assert_eq!(field_type("int -1..").unwrap(), FieldType::Integer(-1, i64::MAX));
        assert_eq!(
            field_type("duration 1s..300s").unwrap(),
            FieldType::Duration(1_000_000_000, 300_000_000_000)
        );
        let keys = vec!["memory".to_owned(), "hugepages-".to_owned()];
        assert_eq!(
            field_type("map (memory, hugepages-) of amount").unwrap(),
            FieldType::Map(keys, Box::new(FieldType::Amount))
        );
        let field = field("list of int; since 1.36; gate MemoryQoS unless None").unwrap();
        assert_eq!(field.since, Some("1.36".parse().unwrap()));
        assert_eq!(field.gate.unwrap().unless.as_deref(), Some("None"));
    }

    #[test]
    fn unknown_types_are_refused() {
        for text in [
            "",
            "texts",
            "int 1",
            "int a..b",
            "map text",
            "list of",
            "bool maybe",
            "text; from 1.36",
            "text; since now",
        ] {
            assert!(field(text).is_err(), "{text}");
        }
    }
}
