//! Findings as SARIF 2.1.0 (OASIS standard, 2020-03-27), which code review takes for annotations.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::{
    CODES, Diagnostic, Severity, Source,
    redact::{redact_findings, redact_places},
    render::to_json,
    story,
};

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    column_kind: &'static str,
    results: Vec<Outcome<'a>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<Help>,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
struct Help {
    text: &'static str,
    markdown: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    rule_id: &'a str,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: Vec<Location>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

/// Lines and columns from 1, the end behind the last character.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<u64>,
}

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
    let results = findings
        .iter()
        .zip(places)
        .map(|(finding, place)| outcome(finding, place, &codes));
    let log = Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "firelay",
                    version: env!("CARGO_PKG_VERSION"),
                    rules: codes.iter().map(|code| rule(code)).collect(),
                },
            },
            column_kind: "unicodeCodePoints",
            results: results.collect(),
        }],
    };
    serde_json::to_value(log).unwrap_or_default()
}

fn rule(code: &'static str) -> Rule {
    let title = CODES
        .iter()
        .find(|(known, _)| *known == code)
        .map_or(code, |(_, title)| title);
    Rule {
        id: code,
        short_description: Message { text: title.to_owned() },
        help: story(code).map(|story| Help {
            text: story.body,
            markdown: story.body,
        }),
    }
}

fn outcome<'a>(finding: &'a Diagnostic, place: &Value, codes: &[&str]) -> Outcome<'a> {
    let number = |key: &str| place[key].as_u64();
    let region = Region {
        // A finding about the whole file stands at its top: annotations need a line.
        start_line: number("line").unwrap_or(1),
        start_column: number("column"),
        end_line: number("endLine"),
        end_column: number("endColumn"),
    };
    let location = place["file"].as_str().map(|file| Location {
        physical_location: PhysicalLocation {
            artifact_location: ArtifactLocation { uri: uri(file) },
            region,
        },
    });
    Outcome {
        rule_id: finding.code,
        rule_index: codes.iter().position(|code| *code == finding.code).unwrap_or_default(),
        level: match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        message: Message { text: message(finding) },
        locations: location.into_iter().collect(),
    }
}

/// What is said at the place and below it, in one text.
fn message(finding: &Diagnostic) -> String {
    let label = Some(&finding.label).filter(|label| !label.is_empty());
    let label = label.map_or_else(String::new, |label| format!(": {label}"));
    let help = finding
        .help
        .as_ref()
        .map_or_else(String::new, |help| format!("\nhelp: {help}"));
    format!("{}{label}{help}", finding.message)
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
