//! stdout, stderr, and readers that close their end.

use std::ffi::OsStr;
use std::fs;
use std::io::pipe;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::process::{Command, Output};

use super::desk::{Desk, REFUSED, Ran, WARNED};
use super::support::{self, example, said};
use serde_json::Value;

#[test]
fn json_is_all_that_is_on_stdout() {
    let desk = Desk::of("ha-ubuntu");
    let check = desk.run(&["check", "--output", "json"]);
    assert_eq!(check.json(), serde_json::json!({ "valid": true, "findings": [] }));
    let render = desk.run(&["render", "--output", "json"]).json();
    let fingerprint = desk.run(&["secrets", "show", "--fingerprint"]).stdout;
    assert_eq!(render["bundle"], fingerprint.trim_end());
    for node in render["nodes"].as_array().unwrap() {
        let path = desk.at("out").join(node["file"].as_str().unwrap());
        assert!(path.exists(), "{}", path.display());
        assert!(node["bytes"].as_u64() <= node["limit"].as_u64());
    }
    let size = desk.run(&["size", "--output", "json"]).json();
    let size = size.as_array().unwrap();
    assert_eq!(size.len(), 6);
    for (size, node) in size.iter().zip(render["nodes"].as_array().unwrap()) {
        assert_eq!((&size["node"], &size["counted"]), (&node["node"], &node["bytes"]));
    }
    let one = desk.run(&["size", "--node", "cp2", "--output", "json"]).json();
    assert_eq!(one.as_array().unwrap(), &size[1..2]);

    desk.write("cluster.yaml", REFUSED);
    let refused = desk.run(&["check", "--output", "json"]);
    assert_eq!((refused.code, &refused.json()["valid"]), (3, &Value::Bool(false)));
    assert_eq!(refused.json()["findings"].as_array().unwrap().len(), 3);
    desk.write("cluster.yaml", WARNED);
    assert_eq!(desk.run(&["check", "--output", "json"]).json()["valid"], true);
    let strict = desk.run(&["check", "--strict", "--output", "json"]);
    assert_eq!((strict.code, &strict.json()["valid"]), (3, &Value::Bool(false)));
}

/// A reader that closed its end before anything was written.
fn gone() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

const SPEAKING: [&[&str]; 9] = [
    &["init"],
    &["check"],
    &["check", "--output", "json"],
    &["render"],
    &["render", "--output", "json"],
    &["size"],
    &["secrets", "show"],
    &["completions", "zsh"],
    &["--help"],
];

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let desk = Desk::of("single-node");
    for arguments in SPEAKING {
        let ran = Ran::of(
            &desk
                .command(arguments)
                .stdout(gone())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
                .wait_with_output()
                .unwrap(),
        );
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    }
    // Nothing reads the errors either; the exit code stays.
    for (arguments, code) in [
        (&["check", "nowhere"][..], 1),
        (&["render", "--secrets", "nowhere"], 4),
        (&["check", "--frobnicate"], 2),
    ] {
        let status = desk.command(arguments).stdout(gone()).stderr(gone()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    let desk = Desk::of("single-node");
    for arguments in &SPEAKING[..8] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(
            &desk
                .command(arguments)
                .stdout(full)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
                .wait_with_output()
                .unwrap(),
        );
        assert_eq!(ran.code, 1, "{arguments:?}: {ran:?}");
        assert!(
            ran.stderr
                .ends_with("error: cannot write to stdout: No space left on device (os error 28)\n"),
            "{ran:?}"
        );
    }
}

#[test]
fn paths_need_not_be_text() {
    let desk = Desk::of("single-node");
    let out = OsStr::from_bytes(b"out-\xff");
    let ran = Ran::of(
        &desk
            .command(&["render", "--output", "json", "--out"])
            .arg(out)
            .output()
            .unwrap(),
    );
    assert_eq!((ran.code, &ran.json()["out"]), (0, &Value::from("out-\u{fffd}")));
    assert!(desk.directory.path().join(out).join("manifest.json").exists());
}

/// The output of a verb on a terminal. `script` provides the terminal.
fn on_a_terminal(desk: &Desk, verb: &str, no_color: Option<&str>) -> Output {
    let mut script = Command::new("script");
    script
        .args(["--quiet", "--return", "--command"])
        .arg(format!("{} {verb}", env!("CARGO_BIN_EXE_firelay")))
        .arg("/dev/null")
        .current_dir(desk.directory.path())
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    if let Some(value) = no_color {
        script.env("NO_COLOR", value);
    }
    support::output(&mut script, "bsdutils")
}

#[test]
fn only_terminals_see_colours_and_not_those_who_ask_for_none() {
    let desk = Desk::empty();
    desk.write("cluster.yaml", REFUSED);
    let escape = '\u{1b}';
    let check = |no_color| {
        let output = on_a_terminal(&desk, "check", no_color);
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        said(&output)
    };
    assert!(check(None).contains(escape));
    assert!(check(Some("")).contains(escape));
    assert!(!check(Some("1")).contains(escape));
    let piped = desk.command(&["check"]).env_remove("NO_COLOR").output().unwrap();
    assert!(!said(&piped).contains(escape));
}

#[test]
fn tables_and_drawings_have_colours_on_a_terminal() {
    let desk = Desk::of("single-node");
    desk.write(
        "cluster.yaml",
        &fs::read_to_string(example("single-node").spec).unwrap(),
    );
    let out = support::rendered("ha-ubuntu");
    let of_tree = |verb: &str| format!("{verb} {}", out.display());
    for (verb, colours) in [
        ("artifacts list".to_owned(), &["\u{1b}[36mFILE", "\u{1b}[36mIMAGE"][..]),
        (format!("artifacts list --mirror {}", out.display()), &["\u{1b}[33m-"]),
        (of_tree("graph"), &["\u{1b}[32m===", "\u{1b}[33m..."]),
        (of_tree("size"), &["\u{1b}[36mMACHINE"]),
        (of_tree("audit"), &["\u{1b}[36m"]),
    ] {
        let output = on_a_terminal(&desk, &verb, None);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        for colour in colours {
            assert!(
                said(&output).contains(colour),
                "{verb}: {colour:?} in {}",
                said(&output)
            );
        }
        let plain = on_a_terminal(&desk, &verb, Some("1"));
        assert!(!said(&plain).contains('\u{1b}'), "{verb}: {}", said(&plain));
    }
}
