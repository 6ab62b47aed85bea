//! The order of the first boot: it is complete in all examples, and tampering is found. The drawings of two examples
//! are golden files.

use std::{collections::BTreeSet, fs, process::Command, sync::Arc};

use firelay_verify::{
    Finding, Level, Tree, What, graph as drawing,
    order::{Picture, check, check_scripts},
};

use super::{
    support::{
        self, examples,
        golden::{Golden, blessing},
    },
    tampering::NOW,
};

/// The codes of findings about order.
pub const CASES: &[&str] = &[
    "FL1029", "FL1051", "FL1052", "FL1053", "FL1054", "FL1055", "FL1056", "FL1057", "FL1058", "FL1059",
];

const JOIN: &str = "/usr/local/lib/firelay/steps/50-join";
const ETCD: &str = "/usr/local/lib/firelay/steps/40-etcd";
const ENV: &str = "/etc/firelay/node.env";
const UNIT: &str = "/etc/systemd/system/firelay.service";
const INIT: &str = "/etc/firelay/kubeadm/init.yaml";

fn names() -> Vec<String> {
    examples().into_iter().map(|example| example.name).collect()
}

fn tree(example: &str) -> Tree {
    Tree::open(support::rendered(example)).unwrap()
}

fn write(tree: &mut Tree, machine: &str, path: &str, text: Option<&str>) {
    let machine = tree.machines.iter_mut().find(|own| own.name == machine).unwrap();
    machine.configs.retain(|config| config.path != path);
    match text {
        Some(text) => machine.root.entries.get_mut(path).unwrap().what = What::File(Arc::from(text.as_bytes())),
        None => drop(machine.root.entries.remove(path).unwrap()),
    }
}

fn read(tree: &Tree, machine: &str, path: &str) -> String {
    let machine = tree.machines.iter().find(|own| own.name == machine).unwrap();
    machine.text(path).unwrap().to_owned()
}

/// Replaces a text that must be present.
fn tamper(tree: &mut Tree, machine: &str, path: &str, old: &str, new: &str) {
    let text = read(tree, machine, path);
    assert!(text.contains(old), "{machine} {path} has no {old}");
    write(tree, machine, path, Some(&text.replace(old, new)));
}

fn variable(tree: &mut Tree, machine: &str, name: &str, value: &str) {
    let text = read(tree, machine, ENV);
    let old = text
        .lines()
        .find(|line| line.starts_with(&format!("{name}=")))
        .unwrap()
        .to_owned();
    tamper(tree, machine, ENV, &old, &format!("{name}='{value}'"));
}

fn codes(findings: &[Finding]) -> BTreeSet<&str> {
    findings.iter().map(|finding| finding.code).collect()
}

/// Exactly this code is found, on these machines; returns the message of the first finding.
fn found(tree: &Tree, code: &str, documents: &[&str]) -> String {
    let findings = check(tree);
    assert_eq!(codes(&findings), BTreeSet::from([code]), "{findings:#?}");
    let on: BTreeSet<_> = findings
        .iter()
        .map(|finding| finding.document.split('/').nth(1).unwrap_or_default())
        .collect();
    assert_eq!(on, documents.iter().copied().collect(), "{findings:#?}");
    assert!(findings.iter().all(|finding| finding.help.is_some()));
    findings[0].message.clone()
}

#[test]
fn the_examples_have_an_order() {
    for name in &names() {
        let tree = tree(name);
        let findings = check(&tree);
        assert!(findings.is_empty(), "{name}: {findings:#?}");
        let picture = Picture::of(&tree);
        let steps = picture.groups.iter().flat_map(|group| &group.steps);
        assert!(
            steps.clone().all(|step| step.time.is_some()),
            "{name}: every machine gets through"
        );
        assert!(
            picture.groups.iter().all(|group| group.steps.len() >= 4),
            "{name}: every machine has a chain"
        );
    }
}

/// The table and the templates have the same waits and actions.
#[test]
fn the_table_and_the_templates_have_the_same_waits() {
    let table = table();
    let part = |name: &str| fs::read_to_string(support::root().join("templates/boot").join(name)).unwrap();
    // An update in place applies manifests in the same way.
    let (apply, modules) = (part("apply.sh.j2"), part("modules.sh.j2"));
    let mut templates = BTreeSet::new();
    for step in table["steps"].as_array().unwrap() {
        let file = format!("steps/{}.j2", step["file"].as_str().unwrap());
        let template = step["template"].as_str().map_or(file, |path| path.replace("boot/", ""));
        let text = fs::read_to_string(support::root().join("templates/boot").join(&template)).unwrap();
        let text = text.replace(r#"{% include "boot/apply.sh.j2" %}"#, &apply);
        let text = match template.ends_with("18-kernel.j2") {
            true => text.replace(r#"{% include "boot/modules.sh.j2" %}"#, &modules),
            false => text,
        };
        assert!(
            !text.contains("wait_for ") && !text.contains("poll "),
            "{template}: a wait of its own"
        );
        let used = regex_lite::Regex::new(r"\{\{ waits\.(\w+) \}\}").unwrap();
        let used: BTreeSet<_> = used.captures_iter(&text).map(|found| found[1].to_owned()).collect();
        let events = step["events"].as_array().cloned().unwrap_or_default();
        let waits = events.iter().filter_map(|event| event["wait"].as_str());
        assert_eq!(used, waits.map(str::to_owned).collect(), "{template}");
        for action in events.iter().filter_map(|event| event["action"].as_str()) {
            // The name of a static pod is a parameter.
            let line = action
                .replace(".kube-vip", ".{{ manifest }}")
                .replace(".haproxy", ".{{ manifest }}");
            assert!(text.contains(&line), "{template} does not do {line}");
        }
        templates.insert(template);
    }
    for entry in fs::read_dir(support::root().join("templates/boot/steps")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            templates.contains(&format!("steps/{name}")),
            "{name}: add it to templates/boot/steps.yaml"
        );
    }
}

/// `verify` shares no code with the renderer, so both define the steps.
#[test]
fn every_step_of_the_examples_is_in_the_table() {
    let table = table();
    let steps = table["steps"].as_array().unwrap().iter();
    let files: BTreeSet<_> = steps.map(|step| step["file"].as_str().unwrap()).collect();
    for name in &names() {
        for machine in &tree(name).machines {
            let paths = machine.root.entries.keys();
            for (_, file) in paths.filter_map(|path| path.split_once("/steps/")) {
                assert!(files.contains(file), "{file}");
            }
        }
    }
}

fn table() -> serde_json::Value {
    let text = fs::read_to_string(support::root().join("templates/boot/steps.yaml")).unwrap();
    firelay_yaml::parse("steps.yaml", &text).unwrap()
}

/// A script is firelay's own; otherwise the first foreign line is reported.
#[test]
fn a_script_with_other_text() {
    for name in &names() {
        for machine in &tree(name).machines {
            assert_eq!(check_scripts(machine), [], "{name}");
        }
    }
    let turn = "  wait_for \"$FL_WAIT\" \"the turn to join\" take_lease\n";
    let moon = "wait_for 60 \"the moon\" rises\nmark joined\n";
    for (example, machine, path, old, new) in [
        ("ha-ubuntu", "cp1", JOIN, "|| cluster_answers; then", "; then"),
        (
            "ha-ubuntu",
            "cp1",
            JOIN,
            "  mark init\n",
            "  wait_for \"$FL_WAIT\" \"https://$FL_ENDPOINT\" founded\n  mark init\n",
        ),
        ("ha-ubuntu", "cp2", JOIN, turn, ""),
        ("ha-ubuntu", "cp3", JOIN, "firelay-join", "firelay-join-3"),
        ("ha-ubuntu", "worker-1", JOIN, "mark joined\n", moon),
        ("ha-ubuntu", "worker-1", JOIN, "wait_for 600 ", "wait_for 6 "),
        (
            "ha-ubuntu",
            "worker-1",
            "/usr/local/lib/firelay/lib.sh",
            "sleep 5",
            "sleep 50",
        ),
        (
            "ha-ubuntu",
            "worker-1",
            "/usr/local/lib/firelay/driver",
            "mark complete\n",
            "",
        ),
        ("external-etcd", "etcd1", ETCD, "systemctl start --no-block etcd\n", ""),
    ] {
        let mut tree = tree(example);
        let line = read(&tree, machine, path).split(old).next().unwrap().lines().count();
        tamper(&mut tree, machine, path, old, new);
        let machine = tree.machines.iter().find(|own| own.name == machine).unwrap();
        let findings = check_scripts(machine);
        assert_eq!(codes(&findings), BTreeSet::from(["FL1029"]), "{old}");
        assert_eq!(findings[0].path.as_deref(), Some(path));
        let said = findings[0]
            .message
            .strip_prefix("the script is not as firelay writes it, from line ");
        let said: usize = said.unwrap().strip_suffix(" on").unwrap().parse().unwrap();
        assert!(said.abs_diff(line) <= 2, "{old}: {said} and not {line}");
    }
}

/// Every code here has a tampered tree.
#[test]
fn every_code_has_a_tampered_tree() {
    for code in CASES {
        assert!(
            include_str!("order.rs").matches(&format!("\"{code}\"")).count() > 1,
            "{code}"
        );
    }
}

#[test]
fn a_chain_that_cannot_be_read() {
    for machine in ["cp1", "worker-1"] {
        let mut tree = tree("ha-ubuntu");
        let driver = "ExecStart=/usr/local/lib/firelay/driver";
        tamper(&mut tree, machine, UNIT, driver, &format!("{driver} --quiet"));
        let message = found(&tree, "FL1058", &[machine]);
        assert_eq!(
            message,
            format!("no steps of {machine} are found: {UNIT} starts none that can be read")
        );
        // On machines with SELinux an interpreter precedes it.
        tamper(
            &mut tree,
            machine,
            UNIT,
            &format!("{driver} --quiet"),
            "ExecStart=/usr/bin/env bash /usr/local/lib/firelay/driver",
        );
        assert_eq!(check(&tree), []);
    }
}

#[test]
fn a_tree_without_a_founder() {
    let mut tree = tree("ha-ubuntu");
    write(&mut tree, "cp1", INIT, None);
    let findings = check(&tree);
    assert!(codes(&findings).contains("FL1051"), "{findings:#?}");
    let founder = findings.iter().find(|finding| finding.code == "FL1051").unwrap();
    assert_eq!(
        founder.message,
        "no machine founds the cluster: cp1 would, but /etc/firelay/kubeadm/init.yaml is missing"
    );
    assert_eq!(founder.path.as_deref(), Some(INIT));
    tree.machines.retain(|machine| machine.name != "cp1");
    assert!(codes(&check(&tree)).contains("FL1051"));
}

#[test]
fn a_cluster_that_stands_needs_no_founder() {
    let mut tree = tree("ha-ubuntu");
    tree.machines.retain(|machine| machine.name != "cp1");
    tree.manifest.founded = true;
    assert_eq!(check(&tree), []);
    assert!(Picture::of(&tree).standing);
}

#[test]
fn render_says_that_the_cluster_stands() {
    let example = examples()
        .into_iter()
        .find(|example| example.name == "kube-vip")
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (bundle, out) = (
        directory.path().join("bundle.secrets.yaml"),
        directory.path().join("out"),
    );
    example.lay_bundle(&bundle);
    let render = |more: &[&str]| {
        let mut command = support::firelay(&["render"]);
        command
            .arg(&example.spec)
            .arg("--secrets")
            .arg(&bundle)
            .arg("--out")
            .arg(&out)
            .args(more);
        support::succeed(&mut command, "firelay");
        Tree::open(&out).unwrap()
    };
    let tree = render(&["--founded"]);
    assert!(tree.manifest.founded);
    assert_eq!(check(&tree), []);
    let tree = render(&["--node", "w1"]);
    assert!(tree.manifest.founded, "a render of some does not change what stands");
    let tree = render(&[]);
    assert!(tree.manifest.founded, "nor does one of all");
    assert_eq!(check(&tree), []);
    let tree = render(&["--refound"]);
    assert!(!tree.manifest.founded);
    fs::remove_dir_all(&out).unwrap();
    assert_eq!(
        check(&render(&["--node", "w1"])),
        [],
        "a tree of one machine cannot be judged as a whole"
    );
}

#[test]
fn two_founders() {
    let mut tree = tree("ha-ubuntu");
    let (script, config) = (read(&tree, "cp1", JOIN), read(&tree, "cp1", INIT));
    write(&mut tree, "cp2", JOIN, Some(&script));
    let machine = tree.machines.iter_mut().find(|machine| machine.name == "cp2").unwrap();
    let mut entry = machine.root.entries[JOIN].clone();
    entry.what = What::File(Arc::from(config.as_bytes()));
    machine.root.entries.insert(INIT.to_owned(), entry);
    assert_eq!(
        found(&tree, "FL1052", &["cp1", "cp2"]),
        "2 machines found a cluster each: cp1, cp2"
    );
}

#[test]
fn a_founder_that_does_not_ask() {
    let mut tree = tree("ha-ubuntu");
    let peers = read(&tree, "cp1", ENV);
    let peers = peers.lines().find_map(|line| line.strip_prefix("FL_PEERS=")).unwrap();
    let first = peers.trim_matches('\'').split(' ').next().unwrap().to_owned();
    variable(&mut tree, "cp1", "FL_PEERS", &first);
    let message = found(&tree, "FL1053", &["cp1"]);
    assert_eq!(message, "cp1 founds without asking cp3 whether a cluster exists");
    tamper(
        &mut tree,
        "cp1",
        JOIN,
        "poll \"$FL_FOUND_AFTER\" \"other control planes\"",
        "true",
    );
    assert_eq!(
        found(&tree, "FL1053", &["cp1"]),
        "cp1 founds without asking whether a cluster exists"
    );
}

#[test]
fn a_wait_without_a_provider() {
    let mut tree = tree("external-etcd");
    tree.machines
        .retain(|machine| !matches!(machine.name.as_str(), "etcd1" | "etcd2"));
    let message = found(&tree, "FL1054", &["cp1", "etcd3"]);
    assert_eq!(
        message,
        "cp1 waits for a quorum of etcd members, which no machine of the tree gives at 10.2.0.31, 10.2.0.32, 10.2.0.33 (1 of 2 that it takes)"
    );
}

#[test]
fn a_worker_that_asks_elsewhere() {
    let mut tree = tree("local-endpoint");
    variable(&mut tree, "w1", "FL_PEERS", "https://10.99.0.1:6443");
    let message = found(&tree, "FL1054", &["w1"]);
    assert!(
        message.ends_with("which no machine of the tree gives at 10.99.0.1"),
        "{message}"
    );
}

#[test]
fn a_machine_that_waits_for_a_later_step() {
    let mut tree = tree("local-endpoint");
    let step = |number| format!("{STEPS}/{number}-runtime");
    let text = read(&tree, "w1", &step(30));
    let lines: Vec<_> = text
        .lines()
        .filter(|line| *line != "systemctl restart containerd")
        .collect();
    write(&mut tree, "w1", &step(30), Some(&lines.join("\n")));
    let machine = tree.machines.iter_mut().find(|machine| machine.name == "w1").unwrap();
    let mut entry = machine.root.entries[&step(30)].clone();
    entry.what = What::File(Arc::from(text.as_bytes()));
    machine.root.entries.insert(step(31), entry);
    let message = found(&tree, "FL1055", &["w1"]);
    assert_eq!(
        message,
        "w1 waits for what comes later on itself: w1 (runtime: containerd)"
    );
}

#[test]
fn machines_that_wait_for_each_other() {
    let mut tree = tree("local-endpoint");
    let names: Vec<_> = tree.machines.iter().map(|machine| machine.name.clone()).collect();
    let address = |name: &str| {
        let text = read(&tree, name, ENV);
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("FL_URL_ADDRESS="))
            .unwrap();
        format!("https://{}:6443", line.trim_matches('\''))
    };
    assert!(
        names.iter().any(|name| name == "cp2") && names.iter().any(|name| name == "cp3"),
        "{names:?}"
    );
    let (cp2, cp3) = (address("cp2"), address("cp3"));
    variable(&mut tree, "cp2", "FL_PEERS", &cp3);
    variable(&mut tree, "cp3", "FL_PEERS", &cp2);
    let message = found(&tree, "FL1055", &["cp2"]);
    assert_eq!(
        message,
        "machines wait for each other: cp2 (join: a cluster that answers) <- cp3 (join: a cluster that answers) <- \
         cp2 (join: a cluster that answers)"
    );
}

#[test]
fn control_planes_that_do_not_take_turns() {
    let turn = "  wait_for \"$FL_WAIT\" \"the turn to join\" take_lease\n";
    for name in ["cp1", "cp2"] {
        let mut tree = tree("ha-ubuntu");
        tamper(&mut tree, name, JOIN, turn, "");
        assert_eq!(
            found(&tree, "FL1056", &[name]),
            format!("{name} joins without waiting for its turn")
        );
    }
    let mut tree = tree("ha-ubuntu");
    variable(&mut tree, "cp3", "FL_ENDPOINT", "10.9.9.9:6443");
    let message = found(&tree, "FL1056", &["cp3"]);
    assert_eq!(
        message,
        "cp3 takes another turn than the other control planes: 10.9.9.9:6443"
    );
}

#[test]
fn a_worker_that_gives_up_before_the_founder_can_be_there() {
    let mut tree = tree("ha-ubuntu");
    variable(&mut tree, "worker-2", "FL_WAIT", "5");
    let message = found(&tree, "FL1057", &["worker-2"]);
    assert!(
        message.starts_with("worker-2 gives up after 5 s on a cluster that answers, which takes about "),
        "{message}"
    );
    assert_eq!(check(&tree)[0].level, Level::Error);
}

#[test]
fn a_worker_that_gives_up_before_the_founder_does() {
    let mut tree = tree("ha-ubuntu");
    variable(&mut tree, "worker-2", "FL_WAIT", "600");
    let message = found(&tree, "FL1057", &["worker-2"]);
    // The founder's own wait for artifacts is even longer.
    assert_eq!(
        message,
        "worker-2 gives up after 600 s on a cluster that answers, before cp1 gives up after 1800 s on artifacts"
    );
    assert_eq!(check(&tree)[0].level, Level::Warning);
    let mut tree = self::tree("ha-ubuntu");
    tamper(
        &mut tree,
        "cp1",
        INIT,
        "kubeletHealthCheck: 10m",
        "kubeletHealthCheck: 30m",
    );
    let findings = check(&tree);
    assert!(
        findings.iter().all(|finding| finding
            .message
            .contains("cp1 gives up after 1800 s on kubeadm init (kubeletHealthCheck)")),
        "{findings:#?}"
    );
    assert_eq!(findings.len(), 5, "everybody who joins");
}

#[test]
fn a_control_plane_that_gives_up_before_its_turn_can_come() {
    let mut tree = tree("ha-ubuntu");
    let config = "/etc/firelay/kubeadm/join.yaml";
    tamper(&mut tree, "cp2", config, "etcdAPICall: 3m", "etcdAPICall: 1h");
    let message = found(&tree, "FL1057", &["cp3"]);
    assert_eq!(
        message,
        "cp3 gives up after 1800 s on its turn to join, before cp2 gives up after 3600 s on kubeadm join (etcdAPICall)"
    );
}

#[test]
fn a_wait_that_nobody_can_judge() {
    let mut tree = tree("ha-ubuntu");
    for limit in ["soon", "18446744073709551615"] {
        variable(&mut tree, "worker-1", "FL_WAIT", limit);
        assert_eq!(
            found(&tree, "FL1058", &["worker-1"]),
            "the wait for a clock that is right has no deadline that can be read"
        );
    }
}

const STEPS: &str = "/usr/local/lib/firelay/steps";

#[test]
fn a_chain_without_a_step() {
    for (example, machine, step) in [
        ("ha-ubuntu", "worker-1", "10-prepare"),
        ("ha-ubuntu", "worker-1", "20-artifacts"),
        ("ha-ubuntu", "worker-1", "30-runtime"),
        ("ha-ubuntu", "cp1", "70-addons"),
        ("ha-ubuntu", "cp2", "90-ready"),
        ("local-endpoint", "w1", "60-endpoint"),
        ("kube-vip", "cp2", "60-endpoint"),
    ] {
        let mut tree = tree(example);
        write(&mut tree, machine, &format!("{STEPS}/{step}"), None);
        let findings = check(&tree);
        let name = step.split_once('-').unwrap().1;
        let lacks = findings.iter().find(|finding| finding.code == "FL1059").unwrap();
        assert_eq!(lacks.message, format!("{machine} has no step {name}"), "{findings:#?}");
        assert_eq!(lacks.level, Level::Error);
    }
    // The spec sets it for all machines, but a tree of several renders may have it on some.
    let mut tree = tree("hardened");
    let without = tree.machines[0].name.clone();
    write(&mut tree, &without, &format!("{STEPS}/85-restrict"), None);
    found(&tree, "FL1059", &[&without]);
    assert_eq!(check(&tree)[0].level, Level::Warning);
}

#[test]
fn a_chain_in_another_order() {
    for (from, to, message) in [
        (
            "50-join",
            "25-join",
            "step join runs before step runtime, and has to come after it",
        ),
        (
            "90-ready",
            "05-ready",
            "step ready runs before step prepare, and has to come after it",
        ),
    ] {
        let mut tree = tree("ha-ubuntu");
        let machine = tree
            .machines
            .iter_mut()
            .find(|machine| machine.name == "worker-2")
            .unwrap();
        let entry = machine.root.entries.remove(&format!("{STEPS}/{from}")).unwrap();
        machine.root.entries.insert(format!("{STEPS}/{to}"), entry);
        let findings = check(&tree);
        assert!(
            findings
                .iter()
                .any(|finding| finding.code == "FL1059" && finding.message == message),
            "{findings:#?}"
        );
    }
}

#[test]
fn a_step_without_what_it_works_by() {
    for (example, machine, file) in [
        ("ha-ubuntu", "worker-1", "/etc/containerd/config.toml"),
        ("local-endpoint", "w1", "/etc/firelay/endpoint/haproxy.cfg"),
    ] {
        let mut tree = tree(example);
        write(&mut tree, machine, file, None);
        let message = found(&tree, "FL1059", &[machine]);
        assert!(
            message.ends_with(&format!(" works by {file}, which nothing puts there")),
            "{message}"
        );
        assert_eq!(check(&tree)[0].level, Level::Error);
        // A user's commands may create the file.
        let machine = tree.machines.iter_mut().find(|own| own.name == machine).unwrap();
        let entry = machine.root.entries[ENV].clone();
        machine
            .root
            .entries
            .insert("/etc/firelay/commands/first".to_owned(), entry);
        assert_eq!(check(&tree)[0].level, Level::Warning);
    }
}

/// The user's steps are between firelay's.
#[test]
fn steps_of_the_users_commands_are_not_judged() {
    let mut tree = tree("ha-ubuntu");
    for step in ["17-first", "45-before", "80-after"] {
        let machine = tree
            .machines
            .iter_mut()
            .find(|machine| machine.name == "worker-2")
            .unwrap();
        let mut entry = machine.root.entries[JOIN].clone();
        entry.what = What::File(Arc::from(*b"#!/bin/bash\ntrue\n"));
        machine.root.entries.insert(format!("{STEPS}/{step}"), entry);
    }
    assert_eq!(check(&tree), []);
}

/// A stub that does not start the unit which fetches the document.
#[test]
fn a_pointer_that_nobody_follows() {
    let mut tree = tree("pointer-s3");
    let machine = tree.machines.iter_mut().find(|machine| machine.name == "cp1").unwrap();
    machine
        .commands
        .retain(|words| !words.contains(&"firelay-fetch.service".to_owned()));
    let findings = firelay_verify::check(&tree, NOW);
    assert_eq!(codes(&findings), BTreeSet::from(["FL1020"]), "{findings:#?}");
    assert!(findings[0].path.as_deref().unwrap().ends_with("/firelay-fetch.service"));
}

/// Truncated scripts can still be checked and drawn.
#[test]
fn scripts_that_are_cut_short_are_judged_and_drawn() {
    let mut tree = tree("external-etcd");
    let script = read(&tree, "cp1", JOIN);
    let lines: Vec<_> = script.lines().collect();
    let whole = lines.iter().position(|line| *line == "  found").unwrap();
    for end in (0..whole).step_by(25) {
        let text = lines[..end].join("\n");
        write(&mut tree, "cp1", JOIN, Some(&text));
        let founder = tree.machines.iter().find(|machine| machine.name == "cp1").unwrap();
        assert_eq!(
            codes(&check_scripts(founder)),
            BTreeSet::from(["FL1029"]),
            "{end} lines"
        );
        let picture = Picture::of(&tree);
        let founds = text.contains("run_kubeadm init");
        assert_eq!(drawing::text(&picture).contains("  never\n"), !founds, "{end} lines");
        assert_eq!(check(&tree).is_empty(), founds, "{end} lines");
        drawing::svg(&picture).unwrap();
    }
    let machine = tree.machines.iter_mut().find(|machine| machine.name == "cp1").unwrap();
    machine
        .faults
        .push(Finding::error("FL1003", "nodes/cp1/user-data", "not read"));
    assert_eq!(check(&tree), [], "what others wait for is not known");
}

#[test]
fn the_drawings_are_those_that_were_looked_at() {
    let mut golden = Golden::open("graph");
    for example in ["ha-ubuntu", "external-etcd"] {
        let picture = Picture::of(&tree(example));
        golden.compare(&format!("{example}.txt"), &drawing::text(&picture));
        golden.compare(&format!("{example}.dot"), &drawing::dot(&picture).unwrap());
        golden.compare(&format!("{example}.mmd"), &drawing::mermaid(&picture).unwrap());
        golden.compare(&format!("{example}.svg"), &drawing::svg(&picture).unwrap());
    }
    golden.close();
}

const STEPS_HEADER: &str = "| step | where | waits for, at most |\n|---|---|---|\n";

/// docs/boot.md shows the table of the steps.
#[test]
fn the_page_has_every_step() {
    let path = support::root().join("docs/boot.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(STEPS_HEADER).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let table = table();
    let rows: Vec<_> = table["steps"].as_array().unwrap().iter().map(step_row).collect();
    let shown = format!("{before}{STEPS_HEADER}{}\n\n{after}", rows.join("\n"));
    if blessing() {
        fs::write(path, shown).unwrap();
    } else {
        assert!(
            page == shown,
            "docs/boot.md shows another table of the steps: just bless"
        );
    }
}

fn step_row(step: &serde_json::Value) -> String {
    let limit = |wait: &serde_json::Value| match wait["limit"].as_str() {
        Some("FL_WAIT") => "`join.waitTimeout`".to_owned(),
        Some("FL_FOUND_AFTER") => "`join.foundAfter`".to_owned(),
        _ => format!("{} s", wait["limit"]),
    };
    let events = step["events"].as_array().cloned().unwrap_or_default();
    let waits = events.iter().filter(|event| event["wait"].is_string());
    let waits: Vec<_> = waits
        .map(|wait| format!("{} ({})", wait["title"].as_str().unwrap(), limit(wait)))
        .collect();
    let when = step["when"].as_str().unwrap_or("everywhere");
    format!("| {} | {when} | {} |", step["file"].as_str().unwrap(), waits.join(", "))
}

/// A page with another text in its block of a language.
fn with_block(page: &str, language: &str, text: &str) -> String {
    let fence = format!("```{language}\n");
    let (before, rest) = page.split_once(&fence).unwrap();
    let (_, after) = rest.split_once("```").unwrap();
    format!("{before}{fence}{text}```{after}")
}

#[test]
fn the_page_shows_a_drawing() {
    let path = support::root().join("docs/order.md");
    let page = fs::read_to_string(&path).unwrap();
    let picture = Picture::of(&tree("external-etcd"));
    let shown = with_block(&page, "text", &drawing::text(&picture));
    let shown = with_block(&shown, "mermaid", &drawing::mermaid(&picture).unwrap());
    if blessing() {
        fs::write(path, shown).unwrap();
    } else {
        assert!(page == shown, "docs/order.md shows another drawing: just bless");
    }
}

/// README and docs/order.md show the drawing of an example.
#[test]
fn the_pages_show_the_drawing_of_an_example() {
    let picture = Picture::of(&tree("ha-ubuntu"));
    let times = drawing::timeline(&picture).unwrap();
    assert!(
        times.contains(" width=\"800\" "),
        "a README is not wider, and the text would become smaller"
    );
    for (name, drawn) in [
        ("first-boot.svg", times),
        ("first-boot-steps.svg", drawing::svg(&picture).unwrap()),
    ] {
        let path = support::root().join("docs").join(name);
        if blessing() {
            fs::write(path, drawn).unwrap();
        } else {
            let shown = fs::read_to_string(path).unwrap_or_default();
            assert!(shown == drawn, "docs/{name} is another drawing: just bless");
        }
    }
    for (page, link) in [
        ("README.md", "](docs/first-boot.svg)"),
        ("docs/order.md", "](first-boot.svg)"),
        ("docs/order.md", "](first-boot-steps.svg)"),
    ] {
        let text = fs::read_to_string(support::root().join(page)).unwrap();
        assert!(text.contains(link), "{page} shows no picture");
    }
}

#[test]
fn the_drawings_of_all_examples_are_well_formed() {
    let directory = tempfile::tempdir().unwrap();
    for name in &names() {
        let picture = Picture::of(&tree(name));
        let svg = directory.path().join(format!("{name}.svg"));
        fs::write(&svg, drawing::svg(&picture).unwrap()).unwrap();
        let dot = drawing::dot(&picture).unwrap();
        assert_eq!(dot.matches('{').count(), dot.matches('}').count(), "{name}");
        for edge in &picture.edges {
            assert!(
                dot.contains(&format!("  {} -> {} [", edge.from, edge.to)),
                "{name}: {edge:?}"
            );
            assert!(
                dot.contains(&format!("    {} [label=", edge.from))
                    && dot.contains(&format!("    {} [label=", edge.to))
            );
        }
    }
    let script = "import sys, xml.dom.minidom as x\nfor p in sys.argv[1:]:\n d = x.parse(p)\n assert d.documentElement.tagName == 'svg'";
    let files = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    support::succeed(Command::new("python3").args(["-c", script]).args(files), "python3");
}

#[test]
fn forty_workers_are_one_line() {
    let mut tree = tree("ha-ubuntu");
    let at = tree
        .machines
        .iter()
        .position(|machine| machine.name == "worker-1")
        .unwrap();
    let root = tree.machines[at].root.clone();
    let before = Picture::of(&tree);
    for machine in &mut tree.machines {
        if machine.name.starts_with("worker-") {
            machine.root = root.clone();
        }
    }
    let picture = Picture::of(&tree);
    assert_eq!(
        picture.groups.len(),
        3,
        "the founder, the other control planes, the workers"
    );
    assert_eq!(picture.groups[2].title, "worker-1..3");
    assert_eq!(before.groups.len(), 3);
    assert!(drawing::text(&picture).contains("\nworker-1..3  worker\n"));
}

#[test]
fn the_verb_draws_and_reports() {
    let out = support::rendered("external-etcd");
    let run = |arguments: &[&str]| {
        let mut command = support::firelay(&["graph"]);
        support::succeed(command.arg(out).args(arguments), "firelay")
    };
    let picture = Picture::of(&tree("external-etcd"));
    assert_eq!(run(&[]), drawing::text(&picture));
    for flag in ["--output", "--format"] {
        assert_eq!(run(&[flag, "svg"]), drawing::svg(&picture).unwrap());
    }
    let json: serde_json::Value = serde_json::from_str(&run(&["--output", "json"])).unwrap();
    assert_eq!(json["groups"][0]["title"], "etcd1..3");
    assert_eq!(json["groups"][1]["founds"], true);
}
