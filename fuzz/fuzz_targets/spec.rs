//! No text makes firelay panic, hang or exhaust memory: it is parsed, checked and resolved, and its findings are
//! printed.
#![no_main]

use std::sync::LazyLock;

use firelay_yaml::diagnostic::{self, Source};
use firelay::{plan, profile::Profiles};
use libfuzzer_sys::fuzz_target;

static PROFILES: LazyLock<Profiles> = LazyLock::new(|| Profiles::embedded().expect("the embedded profiles are right"));

fuzz_target!(|text: &str| {
    let source = Source::new("cluster.yaml", text);
    let findings = plan::load(&source.clone().into(), &PROFILES).map_or_else(|findings| findings, |(_, warnings)| warnings);
    diagnostic::render(&source, &findings, true);
    diagnostic::to_json(&source, &findings);
});
