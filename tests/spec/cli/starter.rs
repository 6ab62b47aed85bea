//! `init`: with flags and with interactive answers.

use std::process::Command;

use firelay_yaml::diagnostic::{self, Source};

use super::desk::{Desk, INIT};
use super::support::{self, said};
use firelay::{
    cli::InitAnswers,
    commands::{Failure, check, init, project::Project},
    profile::Profiles,
    spec::Composed,
};
use rayon::prelude::*;

#[test]
fn the_starter_is_valid_whatever_the_name() {
    for name in ["my-cluster", "null", "no", "12", "1e5", "0x10", "2026-01-01", "a"] {
        let desk = Desk::empty();
        let starter = desk.run(&["init", "--name", name]);
        assert_eq!(starter.code, 0);
        assert!(
            starter.stderr.contains("worker-3  worker         10.0.0.23\n") && starter.stderr.contains("\nnext: "),
            "the layout: {starter:?}"
        );
        let ran = desk.pipe(&["check", "--strict", "-"], starter.stdout.as_bytes());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains(&format!("cluster {name}, ")), "{ran:?}");
    }
}

#[test]
fn a_spec_of_flags_is_valid() {
    let flags: [&[&str]; 5] = [
        INIT,
        &["init", "--control-plane", "one=10.0.0.1"],
        &["init", "--endpoint-provider", "local", "--platform", "openstack"],
        &[
            "init",
            "--os",
            "flatcar",
            "--platform",
            "gce",
            "--worker",
            "w1=10.0.0.1",
            "--worker",
            "w2=10.0.0.2",
        ],
        &[
            "init",
            "--name",
            "null",
            "--control-plane",
            "no=10.0.0.1",
            "--worker",
            "off=10.0.0.2",
        ],
    ];
    for flags in flags {
        let desk = Desk::empty();
        let spec = desk.run(flags);
        assert_eq!(spec.code, 0, "{spec:?}");
        // A place that nobody chose is a warning.
        let text = spec.stdout.replace("gs://bucket/", "gs://acme/");
        let ran = desk.pipe(&["check", "--strict", "-"], text.as_bytes());
        assert_eq!(ran.code, 0, "{ran:?}\n{}", spec.stdout);
    }
}

/// Every third system on each platform, so that each system is on every third platform, and every provider of the endpoint on every platform.
fn choices(profiles: &Profiles) -> Vec<InitAnswers> {
    let answers = |os: Option<&String>, platform: &String, provider: &str| InitAnswers {
        os: os.cloned(),
        platform: Some(platform.clone()),
        endpoint_provider: Some(provider.to_owned()),
        ..InitAnswers::default()
    };
    let mut all = Vec::new();
    for (number, platform) in profiles.platform.keys().enumerate() {
        let systems = profiles.os.keys().skip(number % 3).step_by(3);
        all.extend(systems.map(|os| answers(Some(os), platform, "external")));
        all.extend(["local", "kubeVip=10.0.0.100"].map(|provider| answers(None, platform, provider)));
    }
    all
}

/// The errors of `check` for the spec of some answers.
fn refused(answers: &InitAnswers, profiles: &Profiles) -> Option<String> {
    let spec = match init::spec(answers, profiles) {
        Ok(spec) => spec,
        // A refusal must have a reason.
        Err(Failure::Usage(why)) => return why.is_empty().then(|| format!("{answers:?}: refused")),
        Err(other) => return Some(format!("{answers:?}: {other:?}")),
    };
    let spec = Composed::from(Source::new("cluster.yaml", spec));
    let outcome =
        Project::resolve(spec, profiles.clone()).and_then(|project| check::check_sizes(project, false).unwrap());
    let findings = outcome.map_or_else(|refused| refused.findings, |project| project.warnings);
    diagnostic::refuse(&findings).then(|| format!("{answers:?}: {findings:?}"))
}

#[test]
fn every_choice_gives_a_spec_that_check_accepts() {
    let profiles = Profiles::embedded().unwrap();
    let choices = choices(&profiles);
    let wrong: Vec<_> = choices
        .par_iter()
        .filter_map(|answers| refused(answers, &profiles))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_document_that_is_too_large_gets_a_pointer() {
    let desk = Desk::empty();
    let flags = ["init", "--os", "flatcar", "--platform", "aws"];
    let spec = desk.run(&flags);
    assert_eq!(spec.code, 0, "{spec:?}");
    assert!(
        spec.stdout.contains("\ndelivery:\n  pointer: { base: s3://"),
        "{spec:?}"
    );
    assert!(spec.stderr.contains(" } } is a placeholder"));
    let ran = desk.pipe(&["check", "-"], spec.stdout.as_bytes());
    assert!(ran.code == 0 && ran.stderr.contains("warning[FL0906]"), "{ran:?}");
    assert!(!desk.run(&["init"]).stdout.contains("pointer"));
}

/// An inventory is a file that exists: what only warns about a spec is no reason to write none.
#[test]
fn an_inventory_is_taken_as_check_takes_it() {
    let desk = Desk::empty();
    desk.write(
        "two.csv",
        "name,role,address\ncp1,control-plane,10.0.0.1\ncp2,control-plane;worker,10.0.0.2\n",
    );
    let ran = desk.run(&["init", "--nodes", "two.csv", "cluster.yaml"]);
    assert_eq!((ran.code, ran.stderr.matches("FL0209").count()), (0, 1), "{ran:?}");
    assert_eq!(desk.run(&["check"]).code, 0);
    desk.write("folder.yaml", &desk.read("cluster.yaml").replace("two.csv", "."));
    let ran = desk.run(&["check", "folder.yaml"]);
    assert!(
        ran.code == 3 && ran.stderr.contains("^ .: a directory, not a file"),
        "{ran:?}"
    );
    for (file, text, said) in [
        (".", "", "--nodes: .: a directory, not a file"),
        (
            "none.csv",
            "",
            "--nodes: none.csv: there is no such file; write the path",
        ),
        (
            "latin.csv",
            "name,role,address\nb\u{e4}r",
            "latin.csv: not UTF-8 (line 2, column 2)",
        ),
    ] {
        if !text.is_empty() {
            let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
            std::fs::write(desk.at(file), latin).unwrap();
        }
        let ran = desk.run(&["init", "--nodes", file]);
        assert!(ran.code == 2 && ran.stderr.contains(said), "{ran:?}");
    }
}

/// The output of `init` on a terminal with these answers. `script` provides the terminal.
fn asked(desk: &Desk, arguments: &str, answers: &str) -> String {
    let mut script = Command::new("script");
    script
        .args(["--quiet", "--return", "--echo", "never", "--command"])
        .arg(format!("{} init {arguments}", env!("CARGO_BIN_EXE_firelay")))
        .arg("/dev/null")
        .current_dir(desk.directory.path());
    let output = support::pipe(&mut script, "bsdutils", answers.as_bytes());
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

#[test]
fn on_a_terminal_init_asks() {
    let desk = Desk::empty();
    let said = asked(
        &desk,
        "",
        "My Lab\nlab\n\ndebain-13\ndebian-13\nmetal\n\n\n\n\nlocal\n\n\n\n",
    );
    for text in [
        "Name of the cluster:",
        "[my-cluster] not a cluster name",
        "did you mean `debian-13`?",
        "worker-3  worker         10.0.0.23",
        "wrote cluster.yaml and firelay.schema.json; next: firelay check cluster.yaml",
    ] {
        assert!(said.contains(text), "{text}\n{said}");
    }
    let spec = desk.read("cluster.yaml");
    assert!(spec.starts_with("# yaml-language-server: $schema=firelay.schema.json\n"));
    assert!(
        spec.contains("\nos: debian-13\n") && spec.contains("  provider: local\n"),
        "{spec}"
    );
    assert_eq!(desk.run(&["check", "--strict"]).code, 0);
    assert_eq!(desk.read("firelay.schema.json"), desk.run(&["schema"]).stdout);
    // With the flag there is no question.
    assert!(asked(&desk, "--name lab other.yaml", "").contains("\nwrote other.yaml; next"));
}

/// It measures documents before it asks for the network plugin, and shows that, which needs the terminal as well.
#[test]
fn empty_answers_on_a_terminal_end() {
    let desk = Desk::empty();
    let said = asked(&desk, "cluster.yaml", &"\n".repeat(20));
    assert!(said.contains("fit the limit of aws with: "), "{said}");
    assert_eq!(desk.run(&["check", "--strict"]).code, 0);
}

#[test]
fn the_starter_renders_and_is_not_overwritten() {
    let desk = Desk::empty();
    let ran = desk.run(&["init", "cluster.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert_eq!(desk.read("cluster.yaml"), desk.run(&["init"]).stdout);
    assert_eq!(desk.run(&["init", "-"]).stdout, desk.run(&["init"]).stdout);
    assert!(!desk.at("-").exists());
    assert_eq!(desk.run(&["render", "--new-secrets"]).code, 0);
    desk.write("cluster.yaml", "mine");
    assert_eq!(desk.run(&["init", "cluster.yaml"]).code, 1);
    assert_eq!(desk.read("cluster.yaml"), "mine");
}

#[test]
fn every_example_is_without_a_warning() {
    for example in support::examples() {
        let arguments = ["check", "--strict", example.spec.to_str().unwrap()];
        let output = support::firelay_at(MAINTAINED, &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
}

/// A day on which every minor of the examples was supported.
const MAINTAINED: &str = "2026-06-01 00:00:00";
