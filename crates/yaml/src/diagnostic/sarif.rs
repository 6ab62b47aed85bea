//! Findings as SARIF 2.1.0 (OASIS standard, 2020-03-27), which code review tools show as annotations.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    Diagnostic, Severity, Source,
    redact::{redact_findings, redact_places},
    render::to_json,
    story,
};

/// The findings as one run of SARIF, each with its code as the rule and the code's story as the rule's help.
pub fn to_sarif(source: &Source, findings: &[Diagnostic]) -> Value {
    let source = &redact_places(source, findings);
    let findings = &redact_findings(source, findings)[..];
    let codes: Vec<_> = findings
        .iter()
        .map(|finding| finding.code)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let places = to_json(source, findings);
    let places = places.as_array().map_or(&[][..], Vec::as_slice);
    let results = findings.iter().zip(places);
    let results = results.map(|(finding, place)| outcome(finding, place, &codes));
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "firelay",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(|code| rule(code)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

fn rule(code: &'static str) -> Value {
    let story = story(code);
    let mut rule = json!({ "id": code, "shortDescription": { "text": story.map_or(code, |story| story.title) } });
    if let Some(story) = story {
        rule["help"] = json!({ "text": story.body, "markdown": story.body });
    }
    rule
}

fn outcome(finding: &Diagnostic, place: &Value, codes: &[&str]) -> Value {
    // A finding about the whole file is at its top: annotations need a line.
    let mut region = Map::from_iter([("startLine".to_owned(), 1.into())]);
    for (name, key) in [
        ("startLine", "line"),
        ("startColumn", "column"),
        ("endLine", "endLine"),
        ("endColumn", "endColumn"),
    ] {
        if place[key].is_u64() {
            region.insert(name.to_owned(), place[key].clone());
        }
    }
    let location = place["file"]
        .as_str()
        .map(|file| json!({ "physicalLocation": { "artifactLocation": { "uri": uri(file) }, "region": region } }));
    json!({
        "ruleId": finding.code,
        "ruleIndex": codes.iter().position(|code| *code == finding.code).unwrap_or_default(),
        "level": match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "message": { "text": finding.in_one("\nhelp: ", "") },
        "locations": location.into_iter().collect::<Vec<_>>(),
    })
}

/// A path as a reference (RFC 3986): relative as it is, absolute with its scheme.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let quoted = path.bytes().map(|byte| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", quoted.collect::<String>())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{super::Span, *};

    #[test]
    fn a_result_has_its_rule_and_place() {
        let source = Source::new("my cluster.yaml", "a: ü\nb: xyz\n");
        let start = "a: ü\nb: ".len();
        let findings = [
            Diagnostic::error("FL0103", "overlap")
                .at(Span { start, end: start + 3 })
                .label("here")
                .help("choose"),
            Diagnostic::warning("FL0005", "whole file"),
        ];
        let log = to_sarif(&source, &findings);
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][1]["id"], "FL0103");
        assert_eq!(run["results"][0]["ruleIndex"], 1);
        assert_eq!(run["results"][0]["message"]["text"], "overlap: here\nhelp: choose");
        let place = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20cluster.yaml");
        let region = serde_json::json!({ "startLine": 2, "startColumn": 4, "endLine": 2, "endColumn": 7 });
        assert_eq!(place["region"], region);
        assert_eq!(run["results"][1]["level"], "warning");
        let whole = &run["results"][1]["locations"][0]["physicalLocation"]["region"];
        assert_eq!(*whole, serde_json::json!({ "startLine": 1 }));
    }
}
