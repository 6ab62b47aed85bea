//! The fields of the spec with their example values, one at a time.

use std::sync::LazyLock;

use firelay::schema::{self, Field};
use serde_json::Value;

use super::plan::PROFILES;

/// `PATH=VALUE` for each value of a field that is no part of a list, and for one composed value of a mapping or a list of mappings. Fields of
/// `roles` have the values of those of the whole cluster.
pub static VALUES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let root = Field::root(&schema::json(&PROFILES));
    let mut all: Vec<_> = root
        .all()
        .into_iter()
        .filter(|field| is_single(field))
        .flat_map(values)
        .collect();
    all.sort();
    all.dedup();
    all
});

fn is_single(field: &Field) -> bool {
    let of_cluster = ["", "apiVersion", "kind", "name", "include", "nodes", "pools"];
    !of_cluster.contains(&field.path.as_str()) && !field.path.contains(['[', '*']) && !field.path.starts_with("roles")
}

fn values(field: &Field) -> Vec<String> {
    let words = field.choices.iter().map(|choice| choice.value.clone().into());
    let switches = if field.kind == "true or false" {
        vec![true, false]
    } else {
        Vec::new()
    };
    let switches = switches.into_iter().map(Value::from);
    let values = field.examples.iter().take(1).cloned().chain(words).chain(switches);
    let values = values.chain(field.example());
    values.map(|value| format!("{}={value}", field.path)).collect()
}
