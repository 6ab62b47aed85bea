//! The tables of docs/hardening.md.

use std::{collections::BTreeSet, fs};

use super::{
    CONTROLS,
    support::{golden::blessing, root},
};

/// The heading before the tables.
const HEAD: &str = "## The controls\n";

fn tables() -> String {
    let mut text = format!("{HEAD}\n{}.\n", CONTROLS.benchmark);
    text +=
        "Each row is checked by tests/hardening in documents of every supported minor, where the last column says.\n";
    for section in &CONTROLS.sections {
        text += &format!(
            "\n### {}\n\n| | control | set by | checked in |\n|---|---|---|---|\n",
            section.title
        );
        for control in &section.controls {
            let reason = control.left_out.as_ref().map(|reason| format!("left out: {reason}"));
            let by = reason.or_else(|| control.r#where.clone()).unwrap_or_default();
            let places: BTreeSet<_> = control.checks.iter().map(super::checks::Check::place).collect();
            let places: Vec<_> = places.into_iter().collect();
            text += &format!(
                "| {} | {} | {by} | {} |\n",
                control.id,
                control.control,
                places.join(", ")
            );
        }
    }
    text
}

#[test]
fn the_page_has_every_control() {
    let path = root().join("docs/hardening.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, _) = page.split_once(HEAD).unwrap();
    let wanted = format!("{before}{}", tables());
    if blessing() {
        fs::write(path, wanted).unwrap();
    } else {
        assert!(
            page == wanted,
            "docs/hardening.md is another; FIRELAY_BLESS=1 writes it anew"
        );
    }
}
