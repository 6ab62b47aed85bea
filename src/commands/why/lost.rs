//! What is said when there is no such thing.

use firelay_yaml::diagnostic::nearest;

use super::address::{Address, Thing};
use crate::node::NodeFiles;

pub(super) fn unknown_thing(address: &Address, files: &NodeFiles) -> String {
    let units = files.units.iter().flat_map(|unit| {
        let own = (!unit.content.is_empty()).then(|| Thing::Unit {
            unit: unit.name.clone(),
            dropin: None,
        });
        let dropins = unit.dropins.iter().map(|(name, _)| Thing::Unit {
            unit: unit.name.clone(),
            dropin: Some(name.clone()),
        });
        own.into_iter().chain(dropins)
    });
    let paths = files.files.iter().map(|file| file.path.clone());
    let all: Vec<_> = paths.chain(units.map(|unit| unit.to_string())).collect();
    let names: Vec<_> = all.iter().map(String::as_str).collect();
    not_there(
        &format!("{} has no file", address.node),
        &address.thing.to_string(),
        &names,
    )
}

pub(super) fn not_there(what: &str, name: &str, names: &[&str]) -> String {
    let what = if what.contains(' ') && !what.starts_with("document") {
        format!("{what} {name}")
    } else {
        format!("there is no {what} {name}")
    };
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("{what}\n  = help: did you mean {near}?"),
        None if names.is_empty() => what,
        None => format!("{what}\n  = help: there are: {}", names.join(", ")),
    }
}
