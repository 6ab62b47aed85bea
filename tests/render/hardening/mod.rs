//! The profile `hardened`: each control of docs/hardening.md is found in the rendered documents of every minor, without
//! firelay's own types. The page's tables are generated from the list of checks.
//!
//! `FIRELAY_BLESS=1 cargo test --test render hardening::` rewrites the tables.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod audit;
mod checks;
mod guards;
mod namespaces;
mod sandbox;
use crate::support;
mod tables;

use std::{collections::BTreeMap, fs, sync::LazyLock};

use firelay::profile::Profiles;
use serde::Deserialize;
use support::{Example, Files, example, read_tree, render, root};

/// `controls.yaml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Controls {
    benchmark: String,
    sections: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    controls: Vec<Control>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Control {
    id: String,
    control: String,
    r#where: Option<String>,
    left_out: Option<String>,
    #[serde(default)]
    checks: Vec<checks::Check>,
}

static CONTROLS: LazyLock<Controls> = LazyLock::new(|| {
    let text = fs::read_to_string(root().join("tests/hardening/controls.yaml")).unwrap();
    firelay_yaml::parse("controls.yaml", &text).unwrap_or_else(|error| panic!("{error}"))
});

/// Machines that the example lacks: another system, and a member of an external etcd. Both have the add-on with its own
/// unit.
const ROCKY: &str =
    "  - { name: rocky, os: rocky-9, roles: [worker], addresses: [10.6.0.22] }\naddons: { certificateRenewal: {} }\n";
const MEMBER: &str = "  - { name: e1, roles: [etcd], addresses: [10.6.0.31] }\n";

/// The machines' files for a Kubernetes version, by the names that checks use.
fn machines(version: &str) -> BTreeMap<&'static str, Files> {
    let text = fs::read_to_string(example("hardened").spec).unwrap();
    let text = text.replace("version: 1.36.4", &format!("version: {version}"));
    assert!(text.contains(&format!("version: {version}\n")));
    let mut stacked = rendered(&(text.clone() + ROCKY));
    let mut external = rendered(&(text + MEMBER));
    BTreeMap::from([
        ("founder", stacked.remove("cp1").unwrap()),
        ("worker", stacked.remove("w1").unwrap()),
        ("rocky", stacked.remove("rocky").unwrap()),
        ("etcd", external.remove("e1").unwrap()),
    ])
}

fn rendered(text: &str) -> BTreeMap<String, Files> {
    let directory = tempfile::tempdir().unwrap();
    let spec = directory.path().join("cluster.yaml");
    fs::write(&spec, text).unwrap();
    let of = Example {
        spec,
        ..example("hardened")
    };
    let out = directory.path().join("out");
    render(&of, &out);
    read_tree(&out)
}

/// The newest patch of every minor.
fn versions() -> Vec<String> {
    let profiles = Profiles::embedded().unwrap();
    let minors = profiles.kubernetes.values();
    minors.map(|minor| minor.versions[0].to_string()).collect()
}

#[test]
fn every_control_is_in_the_documents_of_every_minor() {
    let versions = versions();
    assert!(versions.len() >= 4, "{versions:?}");
    let mut wrong = Vec::new();
    for version in versions {
        let machines = machines(&version);
        for control in CONTROLS.sections.iter().flat_map(|section| &section.controls) {
            let missing = control.checks.iter().filter_map(|check| check.fault(&machines));
            wrong.extend(missing.map(|fault| format!("{version} {}: {fault}", control.id)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// systemd may not execute `lib_t`, the type of scripts in the library, and an image enforces until the chain ends that: whatever the
/// cluster is to do with SELinux, a program of type `bin_t` starts each script.
#[test]
fn systemd_starts_no_script_by_its_path_where_an_image_has_selinux() {
    let text = fs::read_to_string(example("hardened").spec).unwrap();
    assert!(text.contains("\nos: debian-13\n") && text.contains("security: { profile: hardened }\n"));
    let text = text.replace("security: { profile: hardened }\n", "");
    let text = text.replace(
        "    audit:\n",
        "    audit:\n      policy: { rules: [{ level: None }] }\n",
    );
    let backup = "etcd: { backup: { every: 6h, keep: 3 } }\n";
    for os in ["rocky-9", "rocky-10", "fedora-coreos", "flatcar", "opensuse-leap-16"] {
        let spec = text.replace("\nos: debian-13\n", &format!("\nos: {os}\n")) + backup;
        let machines = rendered(&spec);
        let units = machines.values().flatten();
        let units: Vec<_> = units
            .filter(|(path, _)| path.starts_with("/etc/systemd/system/"))
            .collect();
        assert!(
            units
                .iter()
                .any(|(path, _)| path.ends_with("/firelay-etcd-backup.service")),
            "{os}"
        );
        for (path, (_, unit)) in units {
            let started = unit.lines().filter_map(|line| line.strip_prefix("ExecStart="));
            for program in started.map(|line| line.trim_start_matches(['-', '"'])) {
                assert!(
                    !program.contains("/lib/firelay/") || program.starts_with("/usr/bin/"),
                    "{os} {path}: {program}"
                );
            }
        }
    }
}

/// Every control has either a check or a reason for having none.
#[test]
fn no_control_is_without_a_check_or_a_reason() {
    for control in CONTROLS.sections.iter().flat_map(|section| &section.controls) {
        let checked = !control.checks.is_empty() && control.r#where.is_some();
        assert!(checked != control.left_out.is_some(), "{}", control.id);
    }
}

/// A check that always succeeds is useless: most controls are missing without the profile.
#[test]
fn without_the_profile_its_controls_are_not_there() {
    let text = fs::read_to_string(example("hardened").spec).unwrap();
    let open = text.replace("security: { profile: hardened }\n", "");
    let open = open.replace(
        "    audit:\n",
        "    audit:\n      policy: { rules: [{ level: None }] }\n",
    );
    let mut open = rendered(&open);
    let machines = BTreeMap::from([
        ("founder", open.remove("cp1").unwrap()),
        ("worker", open.remove("w1").unwrap()),
    ]);
    let lost = CONTROLS
        .sections
        .iter()
        .flat_map(|section| &section.controls)
        .filter(|control| {
            let own = control
                .checks
                .iter()
                .filter(|check| machines.contains_key(check.node()));
            own.into_iter().any(|check| check.fault(&machines).is_some())
        });
    assert!(lost.count() >= 25);
}
