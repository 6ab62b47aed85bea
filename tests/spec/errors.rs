//! The messages are part of the product: for each `errors/NAME.yaml` the complete output is in `NAME.txt`.
//!
//! A case of several files is a folder. `arguments` has the arguments of `check`, one per line, with paths relative to
//! the folder. `environment` has variables, one `NAME=VALUE` per line; patches are in `patches/FOLDER/`.
//!
//! `FIRELAY_BLESS=1 cargo test --test spec errors::` rewrites the texts.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use clap::Parser;
use firelay::{
    cli::{Cli, Verb},
    commands::{check, input, project::Project},
    profile::{Library, Profiles},
    redact::redact_spec,
    spec::{Arch, Composed, Input},
};
use firelay_yaml::diagnostic::{Diagnostic, STORIES, Severity, Source, render, to_json, to_sarif};
use proptest::prelude::*;
use rayon::prelude::*;
use serde_json::{Value, json};

static PROFILES: LazyLock<Profiles> = LazyLock::new(|| Profiles::embedded().unwrap());

/// The day on which all cases are checked.
const TODAY: time::Date = time::macros::date!(2026 - 11 - 22);

/// No node runs pods.
const NO_PODS: &str = "FL0231";

/// The first line of a case that uses profiles with fewer features than the embedded ones.
const NARROW: &str = "# with narrowed profiles\n";

fn narrowed() -> Profiles {
    let mut profiles = PROFILES.clone();
    for os in profiles.os.values_mut() {
        Arc::make_mut(os).architectures = vec![Arch::Amd64];
    }
    for platform in profiles.platform.values_mut() {
        Arc::make_mut(platform).ignition = None;
    }
    for kubernetes in profiles.kubernetes.values_mut() {
        Arc::make_mut(kubernetes)
            .encryption_algorithms
            .retain(|name| name != "ECDSA-P384");
    }
    profiles
}

/// All findings of a spec.
fn findings(source: &Source, profiles: &Profiles) -> Vec<Diagnostic> {
    found(source.clone().into(), profiles).1
}

/// The texts of a spec with the positions of its secrets, and all findings.
fn read(spec: Composed, profiles: &Profiles) -> (Source, Vec<Diagnostic>) {
    let (spec, findings) = found(spec, profiles);
    (redact_spec(&spec), findings)
}

fn found(spec: Composed, profiles: &Profiles) -> (Composed, Vec<Diagnostic>) {
    let outcome = Project::resolve(spec, profiles.clone())
        .and_then(|project| project.check_patches().unwrap())
        .and_then(|project| check::check_sizes(check::check_age(project, TODAY), false).unwrap());
    let (spec, mut findings) = match outcome {
        Ok(project) => (project.spec, project.warnings),
        Err(refused) => (refused.spec, refused.findings),
    };
    // Most cases have a single control plane, to be short. One case is about that finding.
    if findings.len() > 1 {
        findings.retain(|finding| finding.code != NO_PODS);
    }
    (spec, findings)
}

/// The patches of a case, in order.
fn patches(folder: &Path, input: &mut Input) {
    let folder = folder.join("patches");
    let mut waiting = vec![folder.clone()];
    while let Some(at) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&at) else { continue };
        let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|path| path.is_dir());
        waiting.extend(folders.into_iter().rev());
        for file in files {
            let name = file.strip_prefix(&folder).unwrap();
            if name.extension().is_some_and(|ending| ending == "off") {
                input.stray(&format!("patches/{}", name.display()));
                continue;
            }
            let above = name.parent().unwrap().to_str().unwrap();
            input.patch(
                above,
                &format!("patches/{}", name.display()),
                fs::read_to_string(&file).unwrap(),
            );
        }
    }
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.retain(|path| path.is_dir() || path.extension().is_some_and(|ending| ending == "yaml"));
    cases.sort();
    cases
}

/// The findings of each case; rendering its documents takes a while, so it runs once.
static RUNS: LazyLock<BTreeMap<PathBuf, (Source, Vec<Diagnostic>)>> = LazyLock::new(|| {
    let runs = cases().into_par_iter().map(|path| (path.clone(), run_once(&path)));
    runs.collect()
});

fn run(path: &Path) -> (Source, Vec<Diagnostic>) {
    RUNS[path].clone()
}

fn run_once(path: &Path) -> (Source, Vec<Diagnostic>) {
    if path.is_dir() {
        return run_folder(path);
    }
    let text = fs::read_to_string(path).unwrap();
    let narrow = text.starts_with(NARROW).then(narrowed);
    let composed = Composed::new(Source::new("cluster.yaml", text).into(), |source, name| {
        Library::embedded_baselines(source).map(|library| library.baseline(source, name))
    });
    read(composed.unwrap(), narrow.as_ref().unwrap_or(&PROFILES))
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn run_folder(folder: &Path) -> (Source, Vec<Diagnostic>) {
    let arguments = ["firelay".to_owned(), "check".to_owned()]
        .into_iter()
        .chain(lines(&folder.join("arguments")));
    let Verb::Check(check) = Cli::try_parse_from(arguments).unwrap().verb else {
        panic!("not check");
    };
    let mut input = Input::default();
    let mut include = |path: &Path| {
        let missing = || "there is no such file".to_owned();
        fs::read_to_string(folder.join(path)).map_err(|_| missing())
    };
    for path in &check.spec.specs {
        let text = fs::read_to_string(folder.join(path)).unwrap();
        input.add(path.to_str().unwrap(), path, text, &mut include);
    }
    patches(folder, &mut input);
    for path in &check.spec.specs {
        let beside = path.with_file_name("patches");
        if path.components().count() > 1 && folder.join(&beside).is_dir() {
            input.unread(path, &beside);
        }
    }
    input.set(&check.spec.set);
    if check.spec.env {
        let variables = lines(&folder.join("environment"));
        let variables = variables.iter().map(|line| line.split_once('=').unwrap());
        input.substitute(
            variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        );
    }
    let own = check.spec.profiles.directory.as_ref();
    let library = own.map(|directory| library(&mut input.source, folder, directory));
    let composed = input::compose(input, library.as_ref(), &mut |path| {
        input::read_file(&folder.join(path))
    })
    .unwrap();
    let Some(library) = library else {
        return read(composed, &PROFILES);
    };
    match PROFILES.clone().with(composed.source(), &library) {
        Ok((profiles, warnings)) => {
            let (source, findings) = read(composed, &profiles);
            (source, [findings, warnings].concat())
        }
        Err(findings) => (redact_spec(&composed), findings),
    }
}

/// The profiles in a directory of a case.
fn library(source: &mut Source, folder: &Path, directory: &Path) -> Library {
    let mut library = Library::embedded(source).unwrap();
    let mut kinds: Vec<_> = fs::read_dir(folder.join(directory))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    kinds.sort();
    for kind in kinds {
        let mut files: Vec<_> = match fs::read_dir(&kind) {
            Ok(files) => files.map(|entry| entry.unwrap().path()).collect(),
            Err(_) => vec![kind],
        };
        files.sort();
        for file in files {
            let name = file.strip_prefix(folder).unwrap();
            let below = name.strip_prefix(directory).unwrap();
            library.add(
                source,
                name.to_str().unwrap(),
                below.to_str().unwrap(),
                fs::read_to_string(&file).unwrap(),
            );
        }
    }
    library
}

#[test]
fn every_message_is_as_it_was_agreed() {
    let bless = std::env::var_os("FIRELAY_BLESS").is_some();
    let mut failures = Vec::new();
    for path in cases() {
        let (source, findings) = run(&path);
        let mut text = render(&source, &findings, false);
        let golden = path.with_extension("txt");
        if bless {
            fs::write(&golden, &text).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        // RSA keys are random, and compressed sizes with them differ by some bytes: the message rounds them to 100.
        let is_rsa = fs::read_to_string(&path).is_ok_and(|spec| spec.contains("rsa-2048"));
        if is_rsa && has_sizes_one_step_away(&text, &expected) {
            text.clone_from(&expected);
        }
        if text.is_empty() || text != expected {
            let diff = similar::TextDiff::from_lines(&expected, &text)
                .unified_diff()
                .to_string();
            failures.push(format!("{}\n{diff}", golden.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Whether two texts are the same but for numbers after `about`, which differ by 100 at most.
fn has_sizes_one_step_away(text: &str, expected: &str) -> bool {
    let number = |word: &str| {
        let digits = word.find(|mark: char| !mark.is_ascii_digit()).unwrap_or(word.len());
        let (number, rest) = word.split_at(digits);
        (number.parse::<i32>().unwrap_or_default(), rest.to_owned())
    };
    let is_near = |one: &str, other: &str| {
        let ((one, rest), (other, other_rest)) = (number(one), number(other));
        rest == other_rest && one.abs_diff(other) <= 100
    };
    let words = |text| str::split(text, ' ').collect::<Vec<_>>();
    let (own, agreed) = (words(text), words(expected));
    let is_same = |at: usize| own[at] == agreed[at] || own[at - 1] == "about" && is_near(own[at], agreed[at]);
    own.len() == agreed.len() && own[0] == agreed[0] && (1..own.len()).all(is_same)
}

/// The change in the help is applied over the spec: then the documents fit, and there are no other findings.
#[test]
fn every_way_out_of_a_document_over_its_limit_works() {
    let mut tried = 0;
    for path in cases()
        .iter()
        .filter(|path| path.to_str().unwrap().contains("/too-large"))
    {
        let (_, findings) = run(path);
        let helps = findings.iter().filter(|finding| finding.code == "FL0931");
        for way in helps.flat_map(|finding| finding.help.iter().flat_map(|help| help.lines())) {
            let Some(way) = way.strip_prefix("fits with ").filter(|way| !way.starts_with("no ")) else {
                continue;
            };
            let change = &way[..=way.rfind('}').unwrap()];
            let mut input = Input::default();
            let mut nothing = |_: &Path| Err(String::new());
            let spec = fs::read_to_string(path).unwrap();
            input.add("cluster.yaml", Path::new("cluster.yaml"), spec, &mut nothing);
            input.add(
                "change.yaml",
                Path::new("change.yaml"),
                format!("{change}\n"),
                &mut nothing,
            );
            let left = read(input.into(), &PROFILES).1;
            let wrong = left
                .iter()
                .find(|finding| finding.severity == Severity::Error || finding.code == "FL0931");
            assert!(wrong.is_none(), "{}: {change}: {wrong:?}", path.display());
            tried += 1;
        }
    }
    assert!(tried > 3);
}

/// These codes report a value in another form; the help shows the expected form.
#[test]
fn a_value_of_another_form_has_help() {
    let mut seen = BTreeSet::new();
    for path in cases() {
        for finding in run(&path).1 {
            if ["FL0114", "FL0801"].contains(&finding.code) {
                assert!(finding.help.is_some(), "{}: {finding:?}", path.display());
                seen.insert(finding.code);
            }
        }
    }
    assert_eq!(seen.len(), 2);
}

/// No finding shows a secret of the cases, in any output format.
#[test]
fn no_secret_is_told() {
    let secret = |text: &str| text.contains("hunter2");
    let mut looked_at = 0;
    for path in cases() {
        let (source, findings) = run(&path);
        looked_at += usize::from(source.texts().iter().any(|text| secret(&text.text)));
        let told = [
            render(&source, &findings, false),
            to_json(&source, &findings).to_string(),
            to_sarif(&source, &findings).to_string(),
        ];
        for told in told {
            assert!(!secret(&told), "{}\n{told}", path.display());
        }
    }
    assert!(looked_at > 3);
}

#[test]
fn every_code_has_a_case_and_every_case_a_registered_code() {
    let said: BTreeSet<_> = cases()
        .iter()
        .flat_map(|path| run(path).1)
        .map(|finding| finding.code)
        .collect();
    let registered: BTreeSet<_> = STORIES.iter().map(|story| story.code).collect();
    assert_eq!(registered.len(), STORIES.len(), "a code is registered twice");
    // Findings of rendered trees have cases in tests/output, those of bundles, records and adopted clusters in tests/spec/cli.
    let elsewhere = |code: &&str| {
        ["FL10", "FL11", "FL12", "FL13"]
            .iter()
            .any(|group| code.starts_with(group))
    };
    let of_specs = registered.into_iter().filter(|code| !elsewhere(code));
    assert_eq!(said, of_specs.collect());
}

/// `explain FLnnnn` describes the mistake, its consequence, and the correction.
#[test]
fn every_story_says_what_to_write_instead() {
    for story in STORIES.iter() {
        let (what, instead) = story
            .body
            .split_once("\n\n**Instead:**")
            .unwrap_or_else(|| panic!("{}", story.code));
        assert!(what.len() > 60 && !instead.is_empty(), "{}: {}", story.code, story.body);
        assert_eq!(story.body.matches("```").count() % 2, 0, "{}", story.code);
        let group = story.code[..4].to_lowercase();
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors");
        let pages = fs::read_dir(page).unwrap().map(|entry| entry.unwrap().path());
        let mut pages = pages.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&group));
        assert!(
            pages.any(|page| fs::read_to_string(page).unwrap().contains(story.body)),
            "{} is on another page",
            story.code
        );
    }
}

/// The parts of SARIF 2.1.0 (section 3) that its readers need: of a log, a rule, a result and a region.
#[test]
fn every_finding_is_a_result_of_sarif() {
    for path in cases() {
        let (source, findings) = run(&path);
        let log = to_sarif(&source, &findings);
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), findings.len());
        let told = to_json(&source, &findings);
        for ((result, finding), told) in results.iter().zip(&findings).zip(told.as_array().unwrap()) {
            assert_eq!(result["ruleId"], finding.code);
            let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
            assert_eq!(rule["id"], finding.code);
            assert!(!rule["help"]["text"].as_str().unwrap().is_empty());
            assert!(["error", "warning"].contains(&result["level"].as_str().unwrap()));
            let text = result["message"]["text"].as_str().unwrap();
            assert!(text.starts_with(told["message"].as_str().unwrap()), "{text}");
            let place = &result["locations"][0]["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().unwrap();
            assert!(source.texts().iter().any(|text| text.name == uri), "{uri}");
            let number = |key: &str| place["region"][key].as_u64().unwrap_or(1);
            let (start, end) = (("startLine", "startColumn"), ("endLine", "endColumn"));
            let place = |(line, column)| (number(line), number(column));
            assert!(
                place(start) >= (1, 1) && (finding.span.is_none() || place(end) >= place(start)),
                "{log}"
            );
        }
    }
}

#[test]
fn messages_are_lower_case_without_a_full_stop() {
    for finding in cases().iter().flat_map(|path| run(path).1) {
        let proper = ["CRI-O", "Kubernetes", "KubeletConfiguration", "KubeProxyConfiguration"];
        let first = finding.message.chars().next().unwrap();
        assert!(
            !first.is_uppercase() || proper.iter().any(|name| finding.message.starts_with(name)),
            "{}",
            finding.message
        );
        for text in [
            &finding.message,
            &finding.label,
            finding.help.as_ref().unwrap_or(&String::new()),
        ] {
            assert!(!text.ends_with('.'), "{text}");
        }
    }
}

const SPEC: &str = include_str!("../plan/every-key.yaml");

/// Every `key: ` of the good spec with its position, in block lines and in flow mappings.
fn keys() -> Vec<(usize, &'static str)> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    SPEC.match_indices(':')
        .filter(|(at, _)| SPEC[at + 1..].starts_with([' ', '\n']))
        .map(|(at, _)| {
            let start = SPEC[..at].rfind(|c| !word(c)).map_or(0, |before| before + 1);
            (start, &SPEC[start..at])
        })
        .filter(|(_, key)| !key.is_empty())
        .collect()
}

/// A mistake of form in an otherwise good spec: findings about its meaning would be wrong. Each key gets two of the
/// four mistakes, the next key the other two.
#[test]
fn a_mistake_of_form_makes_nothing_else_look_wrong() {
    // Documents are not rendered: a spec with a mistake of form has none.
    let findings = |text: String| match Project::resolve(Source::new("cluster.yaml", text).into(), PROFILES.clone()) {
        Ok(project) => project.warnings,
        Err(refused) => refused.findings,
    };
    let good: BTreeSet<_> = findings(SPEC.to_owned()).iter().map(|finding| finding.code).collect();
    let mut wrong = Vec::new();
    for (number, (start, key)) in keys().into_iter().enumerate() {
        let end = start + key.len();
        let rest = &SPEC[end + 1..];
        let value = rest.find(['\n', ',', '}']).unwrap_or(rest.len());
        let (before, value) = (&SPEC[..start], &rest[value..]);
        for (how, damaged) in [
            ("mistyped", format!("{before}{key}x:{rest}")),
            ("unknown", format!("{before}qqqqqqqqqqqqqqqqqqq:{rest}")),
            ("a list", format!("{before}{key}: [[]]{value}")),
            ("a word", format!("{before}{key}: qq qq{value}")),
        ]
        .into_iter()
        .skip(number % 4)
        .step_by(4)
        {
            let found = findings(damaged);
            let mistake = |finding: &Diagnostic| finding.code < "FL0100";
            if !found.iter().any(mistake) {
                continue;
            }
            let false_ones = found.iter().filter(|f| !mistake(f) && !good.contains(f.code));
            wrong.extend(false_ones.map(|f| format!("{key} {how}: {} {}", f.code, f.message)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Names with a meaning in embedded configuration.
const NAMES: [&str; 24] = [
    "$patch",
    "NodeSwap",
    "anonymous",
    "apiVersion",
    "authentication",
    "clusterDNS",
    "conntrack",
    "cpu",
    "crashLoopBackOff",
    "enabled",
    "evictionHard",
    "featureGates",
    "kind",
    "limits",
    "logging",
    "maxPods",
    "memory.available",
    "memorySwap",
    "options",
    "reservedMemory",
    "spec",
    "text",
    "tlsCipherSuites",
    "tlsCurvePreferences",
];

/// An arbitrary value that contains some of those names.
fn nested() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "-?[0-9.]{1,25}(ms|s|h|%|Mi|e)?".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        let key = prop_oneof![3 => prop::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => "[-a-zA-Z./$~]{0,10}"];
        prop_oneof![
            1 => proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => proptest::collection::btree_map(key, inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Arbitrary values in embedded configuration, and in patches of it.
    #[test]
    fn nested_values_are_never_a_panic(config in nested(), patch in nested(), path in "(/[-a-zA-Z0-9~.]{0,12}){0,4}") {
        let spec = json!({
            "apiVersion": "firelay.dev/v1alpha1", "kind": "Cluster", "name": "prod",
            "kubernetes": {
                "version": "1.36.4",
                "kubelet": { "config": config },
                "kubeProxy": { "config": patch },
                "patches": [
                    { "target": "kubeletconfiguration", "content": patch.to_string() },
                    { "target": "kubeletconfiguration", "type": "json", "content":
                        json!([{ "op": "add", "path": path, "value": config }]).to_string() },
                    { "target": "kube-apiserver", "type": "merge", "content": config.to_string() },
                ],
            },
            "endpoint": { "host": "api.example.com" }, "os": "ubuntu-24.04", "platform": "aws",
            "nodes": [{ "name": "cp1", "roles": ["control-plane"], "addresses": ["10.0.0.11"] }],
        });
        let patched = json!({
            "apiVersion": "firelay.dev/v1alpha1", "kind": "Cluster", "name": "prod",
            "kubernetes": { "version": "1.35.8" },
            "endpoint": { "host": "api.example.com" }, "os": "ubuntu-24.04", "platform": "aws",
            "nodes": [{ "name": "cp1", "roles": ["control-plane"], "addresses": ["10.0.0.11"] }],
            "patches": [
                { "target": { "kind": "KubeletConfiguration" }, "merge": patch },
                { "target": { "kind": "KubeletConfiguration" }, "json": [{ "op": "add", "path": path, "value": config }] },
                { "target": { "kind": "InitConfiguration" }, "merge": config },
                { "target": { "unit": "kubelet.service" }, "merge": patch },
            ],
        });
        for text in [spec.to_string(), patched.to_string()] {
            let length = text.len();
            let source = Source::new("cluster.yaml", text);
            let found = findings(&source, &PROFILES);
            render(&source, &found, true);
            prop_assert!(found.iter().all(|finding| finding.span.is_none_or(|span| span.end <= length)));
            prop_assert!(found.iter().all(|finding| STORIES.iter().any(|story| story.code == finding.code)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Lines of a good spec removed, repeated, cut or overwritten.
    #[test]
    fn a_damaged_spec_is_never_a_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0..6_u8, "[-a-z0-9:/.{}\\[\\]'\"~ ]{0,12}"), 1..4),
    ) {
        let mut lines: Vec<String> = SPEC.lines().map(str::to_owned).collect();
        for (at, edit, text) in edits {
            let at = at.index(lines.len());
            let (key, _) = lines[at].split_once(": ").map(|(key, value)| (key.to_owned(), value.to_owned())).unwrap_or_default();
            match edit {
                0 => { lines.remove(at); }
                1 => lines.insert(at, lines[at].clone()),
                2 => { let half = lines[at].floor_char_boundary(lines[at].len() / 2); lines[at].truncate(half); }
                3 => lines[at] = format!("{key}: {text}"),
                4 => lines[at].push_str(&text),
                _ => lines[at] = text,
            }
            if lines.is_empty() { lines.push(String::new()); }
        }
        let source = Source::new("cluster.yaml", lines.join("\n"));
        let found = findings(&source, &PROFILES);
        render(&source, &found, true);
        prop_assert!(found.iter().all(|finding| STORIES.iter().any(|story| story.code == finding.code)));
    }

    #[test]
    fn any_text_is_never_a_panic(text in "\\PC{0,200}") {
        let source = Source::new("cluster.yaml", text);
        render(&source, &findings(&source, &PROFILES), false);
    }
}
