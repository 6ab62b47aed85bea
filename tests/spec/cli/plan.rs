//! `plan`: each field is planned as it is rendered, and what a plan shows.

use std::fs;

use rayon::prelude::*;

use super::desk::{Desk, Ran};
use crate::support::{Example, examples, fields::VALUES, golden::Golden, tree};

fn founded(example: &str) -> Desk {
    let desk = Desk::of(example);
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    desk
}

/// The founder's document loses what founds the cluster. Nothing is done on the machine that runs.
#[test]
fn the_founding_changes_no_machine() {
    for example in examples() {
        let desk = Desk::of(&example.name);
        example.lay_folder(desk.directory.path());
        assert_eq!(desk.run(&["render"]).code, 0, "{}", example.name);
        assert_eq!(desk.run(&["founded"]).code, 0, "{}", example.name);
        let plan = desk.run(&["plan", "--output", "json"]);
        assert_eq!(plan.code, 0, "{}: {plan:?}", example.name);
        for machine in plan.json()["machines"].as_array().unwrap() {
            assert_ne!(machine["action"], "replace", "{}: {machine}", example.name);
            assert_eq!(machine["actions"], serde_json::json!([]), "{}: {machine}", example.name);
        }
    }
}

/// The record of a new clone has the founder's document of before, and no tree to compare it with.
#[test]
fn the_founding_needs_no_tree() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render"]).code, 0);
    let label = ["plan", "--set", "nodes[cp1].labels.tier=app"];
    let told = "prod is not founded yet: machines take their documents at the first boot";
    assert!(desk.run(&label).stderr.contains(told));
    assert_eq!(desk.run(&["founded"]).code, 0);
    fs::remove_dir_all(desk.at("out")).unwrap();
    let plan = desk.run(&["plan"]);
    let document =
        "  = cp1: nothing to do on the machine\n        its document has no kubeadm init since the founding\n";
    assert!(plan.code == 0 && plan.stdout.contains(document), "{plan:?}");
    let changed = desk.run(&label);
    assert!(changed.code == 3 && changed.stderr.contains("FL1207"), "{changed:?}");
    assert_eq!(desk.run(&["render"]).code, 0);
    let plan = desk.run(&label);
    assert!(
        plan.code == 0 && plan.stdout.contains("  ~ cp1: to update in place"),
        "{plan:?}"
    );
}

/// Examples and values in turn, so that each example has other values.
const STRIDE: usize = 29;

fn founded_example(example: &Example) -> Desk {
    let desk = Desk::of(&example.name);
    example.lay_folder(desk.directory.path());
    assert_eq!(desk.run(&["render"]).code, 0, "{}", example.name);
    assert_eq!(desk.run(&["render", "--founded"]).code, 0, "{}", example.name);
    desk
}

fn bytes(desk: &Desk) -> Vec<(String, Option<Vec<u8>>)> {
    let entries = tree(&desk.at("out/nodes")).into_iter();
    entries.map(|(path, entry)| (path, entry.content)).collect()
}

/// Plans one value, renders it, and goes back. Whether the render took it.
fn there_and_back(name: &str, desk: &Desk, value: &str) -> bool {
    let case = format!("{name} {value}");
    let (everything, before) = (desk.everything(), bytes(desk));
    let plan = || desk.run(&["plan", "--detailed-exitcode", "--set", value]);
    let (planned, rendered) = (plan(), desk.run(&["render", "--set", value]));
    // The only control plane is not changed in place by a render.
    let is_refused = rendered.code != 0;
    if is_refused {
        assert_eq!(desk.everything(), everything, "{case}: {rendered:?}");
        let alike = rendered.code == planned.code || rendered.code > 3 || rendered.stderr.contains("FL1217");
        assert!(alike, "{case}: {planned:?} {rendered:?}");
        return false;
    }
    let differs = before != bytes(desk);
    assert!([0, 6].contains(&planned.code), "{case}: {planned:?}");
    assert!(!differs || planned.code == 6, "{case}: {planned:?}");
    let again = plan();
    assert!(
        again.code == 0 && again.stdout.contains("No changes: "),
        "{case}: {again:?}"
    );
    // Control planes that were created anew count when somebody says that they have joined.
    let done = || assert_eq!(desk.run(&["update", "--done"]).code, 0, "{case}");
    done();
    let back = desk.run(&["render"]);
    assert_eq!(back.code, 0, "{case}, back: {back:?}");
    assert!(before == bytes(desk), "{case}: the bytes of the way back");
    done();
    true
}

#[test]
fn each_field_is_planned_as_it_is_rendered() {
    let all = examples();
    let taken = { all.par_iter().enumerate() }.map(|(at, example)| {
        let desk = founded_example(example);
        let values = VALUES.iter().skip(at).step_by(STRIDE * all.len());
        values
            .filter(|value| there_and_back(&example.name, &desk, value))
            .count()
    });
    let taken: usize = taken.sum();
    assert!(taken * 4 > VALUES.len() / STRIDE, "{taken}");
}

#[test]
fn a_plan_names_line_file_and_field_and_orders_the_steps() {
    let desk = founded("ha-ubuntu");
    let arguments = [
        "plan",
        "--set",
        "kubernetes.kubelet.extraArgs=[{ name: v, value: \"3\" }]",
        "--set",
        "update.maxUnavailable=2",
    ];
    let ran = desk.run(&arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
    for text in [
        "  ~ cp1, cp2, cp3: to update in place: change the kubelet's flags, restart kubelet.service\n",
        "--set:1 → /etc/firelay/kubeadm/join.yaml\n",
        "kubeletExtraArgs/v/value: (none) → \"3\"\n",
        "  1. update control plane cp1\n  2. update control plane cp2\n  3. update control plane cp3\n",
        "  4. update 2 workers worker-1, worker-2\n  5. update worker worker-3\n",
        "Plan: 0 to add, 6 to update in place, 0 to replace, 0 to remove.\n",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
}

#[test]
fn machines_that_come_and_go_are_planned() {
    let desk = founded("ha-ubuntu");
    let spec = desk.read("cluster.yaml").replace("worker-{1..3}", "worker-{2..4}");
    desk.write(
        "cluster.yaml",
        &spec.replace("10.0.0.21-10.0.0.23", "10.0.0.22-10.0.0.24"),
    );
    let ran = desk.run(&["plan"]);
    assert!(ran.code == 3 && ran.stderr.contains("FL1218"), "{ran:?}");
    assert!(
        ran.stdout.contains("  + worker-4: to add\n") && ran.stdout.contains("  - worker-1: to remove\n"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("firelay.state.yaml:")
            && ran
                .stdout
                .contains("Plan: 1 to add, 0 to update in place, 0 to replace, 1 to remove."),
        "{ran:?}"
    );
    let sarif = desk.run(&["plan", "--output", "sarif"]).json();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "FL1218");
    let accepted = desk.run(&["plan", "--accept", "FL1218", "--detailed-exitcode"]);
    assert_eq!(accepted.code, 6, "{accepted:?}");
}

/// The registry's password is a secret of the spec's type; files, commands and manifests are texts that firelay does not parse.
#[test]
fn secrets_are_not_shown() {
    let settings = [
        r#"runtime.registries=[{ host: r.lan, mirrors: [{ url: "https://r.lan", auth: { username: u, password: SECRET } }] }]"#,
        r#"files=[{ path: /etc/own/app.conf, mode: "0644", content: "dsn postgres://app;SECRET\n" }]"#,
        r#"commands.after=["curl -H 'X-Own: SECRET' https://own.lan"]"#,
        r#"manifests=[{ name: own, phase: core, content: "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: own, annotations: { dsn: SECRET } }\n" }]"#,
    ];
    for setting in settings {
        let desk = Desk::of("ha-ubuntu");
        let (old, new) = (
            setting.replace("SECRET", "hunter2-is-old"),
            setting.replace("SECRET", "hunter2-is-new"),
        );
        let rendered = desk.run(&["render", "--set", &old]);
        assert_eq!(rendered.code, 0, "{rendered:?}");
        for output in ["text", "json"] {
            let ran = desk.run(&["plan", "--set", &new, "--output", output, "--detailed-exitcode"]);
            assert_eq!(ran.code, 6, "{ran:?}");
            assert!(
                !ran.stdout.contains("hunter2") && !ran.stderr.contains("hunter2-is-old"),
                "{ran:?}"
            );
        }
    }
}

/// Commands in messages and reports name the keys that were set, and no value but versions.
#[test]
fn values_of_the_command_line_are_not_shown_in_commands() {
    let desk = founded("ha-ubuntu");
    let secret = r#"runtime.registries=[{ host: r.lan, mirrors: [{ url: "https://r.lan", auth: { username: u, password: hunter2 } }] }]"#;
    let backup = "etcd.backup={ every: 6h }";
    let old = "kubernetes.version=1.34.11";
    let set = ["--set", secret, "--set", backup, "--set", "platform=openstack"];
    let run = |verb: &[&str]| {
        let ran = desk.run(&[verb, &set].concat());
        assert!(
            !ran.stdout.contains("hunter2") && !ran.stderr.contains("hunter2"),
            "{ran:?}"
        );
        ran
    };
    assert_eq!(run(&["render", "--refound", "--set", old]).code, 0);
    assert_eq!(desk.run(&["founded"]).code, 0);
    let several = run(&["plan", "--set", "kubernetes.version=1.37.1"]);
    let typed =
        "--set 'runtime.registries=…' --set 'etcd.backup=…' --set 'platform=…' --set kubernetes.version=1.35.8\n";
    assert!(several.code == 3 && several.stdout.contains(typed), "{several:?}");
    let lost = [
        "recover",
        "--snapshot",
        "/var/backups/etcd/a.db",
        "--on",
        "cp1",
        "--lost",
        "cp2",
        "--lost",
        "cp3",
    ];
    let recovered = run(&lost);
    assert!(
        recovered.stdout.contains("--set 'runtime.registries=…'"),
        "{recovered:?}"
    );
    let rotated = run(&["secrets", "rotate", "leaves"]);
    assert!(
        rotated.stderr.contains("firelay update --set 'runtime.registries=…'"),
        "{rotated:?}"
    );
    assert!(rotated.stderr.contains("then firelay update --done\n"), "{rotated:?}");
}

/// Long values are shortened where they are shown. When a value goes, the spec no longer says that it came from the environment.
#[test]
fn values_from_the_environment_are_shown_neither_shortened_nor_when_they_go() {
    let desk = Desk::of("ha-ubuntu");
    let spec = desk.read("cluster.yaml");
    let with = |argument: &str, id: &str, pattern: &str| {
        let settings = format!(
            "kubernetes: {{ version: 1.36.4, apiServer: {{ extraArgs: [{{ name: v, value: \"{argument}\" }}] }}, kubelet: {{ config: {{ \
             providerID: \"{id}\" }}, extraArgs: [{{ name: vmodule, value: \"a={pattern}\" }}] }} }}"
        );
        desk.write(
            "cluster.yaml",
            &spec.replace("kubernetes: { version: 1.36.4 }", &settings),
        );
    };
    let run = |arguments: &[&str], value: &str| {
        let mut command = desk.command(arguments);
        let ran = Ran::of(&command.env("VALUE", value).output().unwrap());
        assert!(ran.code == 0 && !ran.stdout.contains("hunter2"), "{ran:?}");
        ran
    };
    let (short, long) = ("hunter2-is-short", "hunter2-is-long".repeat(10));
    with("1-${VALUE}", "${VALUE}", "${VALUE}");
    for value in [short, &long] {
        run(&["render", "--founded", "--env"], value);
        let ran = run(&["plan", "--env"], &value.replace("is", "was"));
        assert!(ran.stdout.contains("providerID: (not shown)"), "{ran:?}");
        with("1", "2", "3");
        let ran = run(&["plan"], "");
        for place in ["providerID", "apiServer/extraArgs/0/value", "kubeletExtraArgs/1/value"] {
            assert!(
                ran.stdout.contains(&format!("{place}: (not shown)")),
                "{place}: {ran:?}"
            );
        }
        with("1-${VALUE}", "${VALUE}", "${VALUE}");
    }
}

#[test]
fn without_a_tree_the_machines_are_known_and_the_files_are_not() {
    let desk = founded("ha-ubuntu");
    std::fs::remove_dir_all(desk.at("out")).unwrap();
    assert_eq!(desk.run(&["plan", "--detailed-exitcode"]).code, 0);
    let ran = desk.run(&["plan", "--set", "nodes[cp1].labels.tier=app"]);
    assert!(ran.stdout.contains("the files that differ are not known"), "{ran:?}");
    let refused = "error[FL1207]: out does not have the last documents of cp1, which this change concerns";
    assert!(ran.code == 3 && ran.stderr.contains(refused), "{ran:?}");
    assert!(
        ran.stdout
            .contains("0 to replace, 0 to remove. 1 machine with a change that is not known."),
        "{ran:?}"
    );
    let json = desk
        .run(&["plan", "--output", "json", "--set", "nodes[cp1].labels.tier=app"])
        .json();
    assert!(
        json["machines"][0]["action"] == "unknown" && json["steps"] == serde_json::json!([]),
        "{json}"
    );
    let first = Desk::of("ha-ubuntu");
    let ran = first.run(&["plan"]);
    assert!(
        ran.stdout
            .contains("Plan: 6 to add, 0 to update in place, 0 to replace, 0 to remove."),
        "{ran:?}"
    );
}

/// The common fields of the kubelets reach the cluster through the founder.
/// Compared with a damaged document, a machine that takes the change in place would be one to replace.
#[test]
fn a_damaged_document_of_the_last_tree_is_no_change_of_its_machine() {
    let desk = founded("ha-ubuntu");
    let set = ["--set", "ntp={ servers: [10.0.0.1] }"];
    let whole = desk.read("out/nodes/worker-1/user-data");
    let damages: [(&str, Option<String>); 3] = [
        ("of the last render is missing", None),
        ("is not the file that the last render wrote", Some("x\n".to_owned())),
        (
            "is not the file that the last render wrote",
            Some(whole.replacen("kubeadm", "kubeadn", 1)),
        ),
    ];
    for (title, content) in damages {
        match content {
            None => fs::remove_file(desk.at("out/nodes/worker-1/user-data")).unwrap(),
            Some(content) => desk.write("out/nodes/worker-1/user-data", &content),
        }
        for verb in ["plan", "update", "render"] {
            let before = desk.everything();
            let ran = desk.run(&[&[verb], &set[..]].concat());
            let finding = format!("error[FL1206]: out/nodes/worker-1/user-data {title}");
            let is_refused = ran.code == 3 && ran.stderr.contains(&finding);
            assert!(is_refused, "{verb}: {ran:?}");
            assert!(ran.stderr.contains("render into out"), "{ran:?}");
            assert_eq!(desk.everything(), before, "{verb}");
        }
        // The way out of the help.
        assert_eq!(desk.run(&["render"]).code, 0);
        assert_eq!(desk.read("out/nodes/worker-1/user-data"), whole);
        let planned = desk.run(&[&["plan"], &set[..]].concat());
        assert!(
            planned.code == 0 && planned.stdout.contains(" 0 to replace"),
            "{planned:?}"
        );
    }
}

#[test]
fn a_change_that_no_document_carries_is_told_once() {
    let desk = founded("ha-ubuntu");
    let set = ["--set", "kubernetes.kubelet.config.maxPods=80"];
    let told = |verb: &str| {
        let ran = desk.run(&[&[verb], &set[..]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stderr
            .contains("warning[FL1221]: kubeadm's configuration of the cluster is not that of firelay.state.yaml:")
    };
    assert!(!told("plan") && told("render") && !told("plan") && !told("render"));
}

#[test]
fn a_directory_among_the_specs_is_the_tree() {
    let desk = founded("ha-ubuntu");
    std::fs::rename(desk.at("out"), desk.at("other")).unwrap();
    let set = ["--set", "nodes[cp1].labels.tier=app"];
    for verb in ["plan", "certs"] {
        let named = desk.run(&[&[verb][..], &["--out", "other"], &set].concat());
        let before = desk.everything();
        for given in [&["other"][..], &["cluster.yaml", "other"], &["other", "cluster.yaml"]] {
            let ran = desk.run(&[&[verb][..], given, &set].concat());
            assert_eq!(
                (ran.code, ran.stdout),
                (named.code, named.stdout.clone()),
                "{verb} {given:?}"
            );
        }
        assert_eq!(desk.everything(), before, "{verb}");
    }
    std::fs::create_dir_all(desk.at("mistyped/nodes")).unwrap();
    for verb in ["plan", "certs"] {
        let ran = desk.run(&[verb, "mistyped"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("there is no rendered tree at mistyped"), "{ran:?}");
    }
    let twice = desk.run(&["plan", "--out", "other", "other"]);
    assert!(twice.stderr.contains("other is a directory, not a spec"), "{twice:?}");
}

/// From 1.34 to 1.37: the plan names each update, with the programs that change with it and the commands.
#[test]
fn a_plan_over_several_minors_lists_each_update() {
    let desk = Desk::of("ha-ubuntu");
    let old = "kubernetes.version=1.34.11";
    let ran = desk.run(&["render", "--founded", "--set", old]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let over = ["--set", "kubernetes.version=1.37.1"];
    let everything = desk.everything();
    assert_eq!(desk.run(&[&["render"], &over[..]].concat()).code, 3);
    let ran = desk.run(&[&["plan"], &over[..]].concat());
    assert!(ran.code == 3 && ran.stderr.contains("FL1212"), "{ran:?}");
    for text in [
        "This change takes 3 updates; begin each one when all machines are done with the one before:\n",
        "  1. Kubernetes 1.34.11 → 1.35.8\n     firelay update cluster.yaml --set kubernetes.version=1.35.8\n     firelay update cluster.yaml --done\n",
        "  2. Kubernetes 1.35.8 → 1.36.4\n     firelay update cluster.yaml --set kubernetes.version=1.36.4\n",
        "  3. Kubernetes 1.36.4 → 1.37.1, containerd 2.3.4 → 2.3.6\n",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("Order;"), "{}", ran.stdout);
    let json = desk.run(&[&["plan", "--output", "json"], &over[..]].concat()).json();
    assert_eq!(json["steps"].as_array().unwrap().len(), 0);
    let upgrades = json["upgrades"].as_array().unwrap();
    assert_eq!(upgrades.len(), 3);
    assert_eq!(upgrades[2]["programs"][0]["name"], "containerd");
    assert_eq!(upgrades[2]["new"], "1.37.1");
    assert_eq!(desk.everything(), everything);
    // Each of the updates is taken, in this order.
    for upgrade in upgrades {
        for command in upgrade["commands"].as_array().unwrap() {
            let words: Vec<_> = command.as_str().unwrap().split(' ').skip(1).collect();
            let ran = desk.run(&words);
            assert_eq!(ran.code, 0, "{command}: {ran:?}");
        }
    }
    assert_eq!(desk.run(&["plan", "--set", "kubernetes.version=1.37.1"]).code, 0);
    // A setting of the spec that a version on the way does not know.
    let own = Desk::of("ha-ubuntu");
    let pinned = [
        "--set",
        "kubernetes.featureGates={ APIServerWebhookAuthenticationToken: true }",
    ];
    assert_eq!(own.run(&["render", "--founded", "--set", old]).code, 0);
    let ran = own.run(&[&["plan"], &over[..], &pinned[..]].concat());
    assert!(ran.stdout.contains("     the spec is refused with it: FL0"), "{ran:?}");
}

/// Of workers that are set up alike, `plan` compares one; `update` compares all. A machine with a new address, new keys or a new label is another.
#[test]
fn workers_with_the_same_change_are_planned_as_update_finds_them() {
    let desk = Desk::of("ha-ubuntu");
    let own = |at: usize| {
        format!("  - {{ name: worker-{at}, roles: [worker], addresses: [10.0.0.2{at}], labels: {{ rack: r{at} }} }}\n")
    };
    let row = "  - { name: \"worker-{1..3}\", roles: [worker], addresses: [10.0.0.21-10.0.0.23] }\n";
    let spec = desk
        .read("cluster.yaml")
        .replace(row, &(1..=5).map(own).collect::<String>());
    desk.write("cluster.yaml", &spec);
    for arguments in [
        &["render"][..],
        &["render", "--founded"],
        &["secrets", "rotate", "leaves", "--node", "worker-2"],
    ] {
        assert_eq!(desk.run(arguments).code, 0);
    }
    desk.write(
        "cluster.yaml",
        &spec.replace("10.0.0.23", "10.0.0.33").replace("r5", "r9"),
    );
    let machines = |verb: &str| {
        let set = ["--set", "timezone=Europe/Berlin", "--output", "json"];
        let ran = desk.run(&[&[verb][..], &set].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()["machines"].clone()
    };
    let planned = machines("plan");
    let files = |at: usize| planned[at]["files"].as_array().unwrap().len();
    assert_eq!([3, 4, 5, 6, 7].map(files), [1, 5, 4, 1, 2], "{planned}");
    assert_eq!(planned, machines("update"));
}

/// A review that uploads the findings gets them also where there is no plan.
#[test]
fn findings_of_record_tree_and_spec_are_in_json_and_sarif() {
    let desk = founded("ha-ubuntu");
    let record = desk.read("firelay.state.yaml");
    let refused = |code: &str, file: &str| {
        let json = desk.run(&["plan", "--output", "json"]);
        assert_eq!(json.code, 3, "{json:?}");
        assert_eq!(json.json()["findings"][0]["code"], code, "{json:?}");
        assert!(
            json.json()["error"]
                .as_str()
                .is_some_and(|error| json.stderr.contains(error))
        );
        let sarif = desk.run(&["plan", "--output", "sarif"]);
        assert_eq!(sarif.code, 3, "{sarif:?}");
        let run = &sarif.json()["runs"][0];
        assert_eq!(run["results"][0]["ruleId"], code, "{sarif:?}");
        assert_eq!(run["invocations"][0]["executionSuccessful"], false);
        let place = &run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(place.as_str().unwrap_or_default(), file);
        let text = desk.run(&["plan"]);
        assert!(
            text.code == 3 && text.stdout.is_empty() && text.stderr.contains(code),
            "{text:?}"
        );
    };
    desk.write("firelay.state.yaml", &record.replace("10.244.0.0", "10.245.0.0"));
    refused("FL1203", "firelay.state.yaml");
    fs::remove_file(desk.at("firelay.state.yaml")).unwrap();
    refused("FL1204", "");
    desk.write("firelay.state.yaml", &record);
    let spec = desk.read("cluster.yaml");
    desk.write("cluster.yaml", &(spec.clone() + "netwrok: {}\n"));
    refused("FL0008", "cluster.yaml");
    desk.write(
        "cluster.yaml",
        &spec
            .replace("worker-{1..3}", "worker-{1..2}")
            .replace("-10.0.0.23", "-10.0.0.22"),
    );
    let accepted = ["plan", "--accept", "FL1218", "--output"];
    let json = desk.run(&[&accepted[..], &["json"]].concat()).json();
    assert_eq!(
        (
            json["accepted"][0]["code"].as_str(),
            json["findings"].as_array().map(Vec::len)
        ),
        (Some("FL1218"), Some(0))
    );
    let sarif = desk.run(&[&accepted[..], &["sarif"]].concat()).json();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(
        (&result["ruleId"], &result["suppressions"][0]["justification"]),
        (&"FL1218".into(), &"--accept FL1218".into())
    );
}

/// A file that is new, and one that gets a line at its end.
#[test]
fn files_and_lines_that_come_have_their_lines_of_the_spec() {
    let desk = founded("ha-ubuntu");
    let spec = desk.read("cluster.yaml");
    let line = spec.lines().count() + 1;
    desk.write("cluster.yaml", &(spec.clone() + "ntp: { servers: [10.0.0.1] }\n"));
    let ran = desk.run(&["plan"]);
    let file = format!("cluster.yaml:{line} → /etc/firelay/chrony.conf (added)\n");
    assert!(ran.code == 0 && ran.stdout.contains(&file), "{ran:?}");
    desk.write("cluster.yaml", &(spec + "sysctls: { vm.swappiness: 1 }\n"));
    let ran = desk.run(&["plan"]);
    let file =
        format!("cluster.yaml:{line} → /etc/sysctl.d/90-firelay.conf\n          vm.swappiness: (none) → \"1\"\n");
    assert!(ran.code == 0 && ran.stdout.contains(&file), "{ran:?}");
}

/// A control plane that is created anew joins with the new kubeadm, which refuses a cluster of an older minor. A patch release would stay.
#[test]
fn a_version_needs_a_control_plane_that_takes_it_in_place() {
    for (old, new, verbs) in [
        ("1.35.8", "1.36.4", &["plan", "render", "update"][..]),
        ("1.36.3", "1.36.4", &["plan"]),
    ] {
        let desk = Desk::of("ha-ubuntu");
        let (old, new) = (format!("kubernetes.version={old}"), format!("kubernetes.version={new}"));
        assert_eq!(desk.run(&["render", "--founded", "--set", &old]).code, 0);
        let packages = "roles.control-plane.packages=[htop]";
        let by_spec = ["--set", &new, "--set", packages];
        let asked = [
            "--set",
            &new,
            "--replace",
            "cp1",
            "--replace",
            "cp2",
            "--replace",
            "cp3",
        ];
        let before = desk.everything();
        for &verb in verbs {
            for (arguments, cause) in [
                (&by_spec[..], "/steps/18-packages)"),
                (&asked[..], "(--replace asks for it)"),
            ] {
                let ran = desk.run(&[&[verb], arguments].concat());
                let texts = [
                    "error[FL1240]",
                    "cp1 is created anew (",
                    cause,
                    "first the version alone, with firelay update",
                ];
                assert!(
                    ran.code == 3 && texts.iter().all(|text| ran.stderr.contains(text)),
                    "{verb}: {ran:?}"
                );
                assert_eq!(desk.everything(), before, "{verb}");
            }
        }
        // One that stays brings the cluster to the version, before the others are created anew.
        let others = desk.run(&[&["plan"], &asked[..6]].concat());
        let order = "  1. update control plane cp3\n  2. replace control plane cp1\n  3. replace control plane cp2\n";
        assert!(others.code == 0 && others.stdout.contains(order), "{others:?}");
        assert_eq!(
            desk.run(&[&["plan", "--accept", "FL1240"], &asked[..]].concat()).code,
            0
        );
        // Either part alone.
        for part in [[old.as_str(), packages], [new.as_str(), "update.maxUnavailable=1"]] {
            assert_eq!(desk.run(&["plan", "--set", part[0], "--set", part[1]]).code, 0);
        }
    }
}

/// A certificate with other names is as old as the one that a machine has, and may have renewed; only younger ones take its place.
#[test]
fn names_and_ends_of_certificates_change_in_place_with_new_keys() {
    let desk = founded("ha-ubuntu");
    let way = "run `firelay secrets rotate leaves` first, and the same change comes in place";
    let (names, end) = ("pki.extraSans=[x.example.com]", "pki.leafValidity=17520h");
    for setting in [names, end] {
        let ran = desk.run(&["plan", "--set", setting]);
        assert!(ran.code == 0 && ran.stdout.contains(way), "{ran:?}");
    }
    let ran = desk.run(&["plan", "--set", names]);
    let help = "= help: run firelay secrets rotate leaves --set 'pki.extraSans=…' first: with new keys";
    assert!(ran.stderr.contains("FL1221") && ran.stderr.contains(help), "{ran:?}");
    let both = ["--set", names, "--set", "packages=[htop]"];
    let ran = desk.run(&[&["plan"], &both[..]].concat());
    assert!(
        !ran.stdout.contains(way) && ran.stderr.contains("= help: undo what"),
        "{ran:?}"
    );
    // New certificates do not carry a value that cannot change.
    let ran = desk.run(&["plan", "--set", "network.services=[10.99.0.0/16]"]);
    let both = ran.stdout.clone() + &ran.stderr;
    assert!(
        ran.code == 3 && both.contains("FL1211") && !both.contains("secrets rotate leaves"),
        "{ran:?}"
    );
    assert_eq!(desk.run(&["secrets", "rotate", "leaves"]).code, 0);
    let ran = desk.run(&["plan", "--set", names, "--set", end]);
    assert!(
        ran.code == 0 && !ran.stderr.contains("FL1221") && ran.stdout.contains(", 6 to update in place, 0 to replace"),
        "{ran:?}"
    );
}

/// Another render made the document: the record has it, and the tree in place is older.
#[test]
fn a_plan_and_an_update_take_the_tree_that_is_there() {
    let desk = founded("ha-ubuntu");
    let (one, other) = ("nodes[cp1].labels.tier=app", "nodes[cp3].labels.tier=app");
    let set = ["--set", one, "--set", other];
    let clone = ["render", "--out", "clone", "--accept", "FL1207", "--set", one];
    assert_eq!(desk.run(&clone).code, 0);
    let known = "  ~ cp1: to update in place: change the kubelet's flags, restart kubelet.service, label the Node\n        \
                 firelay.state.yaml:";
    let why = "has this document already: another render made it, and out is older";
    let plan = desk.run(&["plan", "--detailed-exitcode", "--set", one]);
    assert!(
        plan.code == 6 && plan.stdout.contains(known) && plan.stdout.contains(why),
        "{plan:?}"
    );
    let plan = desk.run(&[&["plan"], &set[..]].concat());
    let update = desk.run(&[&["update"], &set[..]].concat());
    assert!(plan.stdout.contains(known), "{plan:?}");
    assert_eq!((update.code, &update.stdout), (0, &plan.stdout), "{update:?}");
    assert!(desk.at("out/update/1/cp1.sh").exists() && desk.at("out/update/1/cp3.sh").exists());
    assert_eq!(
        desk.run(&["plan", "--detailed-exitcode", "--set", one, "--set", other])
            .code,
        0
    );
    // A render brings the tree to it.
    let desk = founded("ha-ubuntu");
    assert_eq!(desk.run(&clone).code, 0);
    assert_eq!(desk.run(&["render", "--set", one]).code, 0);
    assert_eq!(desk.run(&["plan", "--detailed-exitcode", "--set", one]).code, 0);
}

/// The commands of the updates that a plan prints.
fn upgrade_commands(ran: &Ran) -> Vec<&str> {
    let lines = ran.stdout.lines().map(str::trim_start);
    lines.filter_map(|line| line.strip_prefix("firelay ")).collect()
}

/// Members of external etcd come before Kubernetes, whose API servers of the old minor would use the new etcd.
#[test]
fn external_etcd_keeps_its_version_where_the_running_minor_needs_it() {
    let desk = Desk::with_spec("external-etcd");
    let spec = desk.read("cluster.yaml");
    let ran = desk.run(&[
        "render",
        "--new-secrets",
        "--founded",
        "--set",
        "kubernetes.version=1.35.8",
    ]);
    assert_eq!(ran.code, 0, "{spec}\n{ran:?}");
    let over = ["--set", "kubernetes.version=1.37.1"];
    let ran = desk.run(&[&["plan"], &over[..]].concat());
    for text in [
        "takes 3 updates;",
        "  2. Kubernetes 1.36.4 → 1.37.1, containerd 2.3.4 → 2.3.6\n     \
         firelay update cluster.yaml --set kubernetes.version=1.37.1 --set etcd.version=3.6.14\n",
        "  3. Kubernetes 1.37.1, etcd 3.6.14 → 3.7.2\n     firelay update cluster.yaml --set kubernetes.version=1.37.1\n",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
    let json = desk.run(&[&["plan", "--output", "json"], &over[..]].concat()).json();
    for upgrade in json["upgrades"].as_array().unwrap() {
        for command in upgrade["commands"].as_array().unwrap() {
            let words: Vec<_> = command.as_str().unwrap().split(' ').skip(1).collect();
            let ran = desk.run(&words);
            assert_eq!(ran.code, 0, "{command}: {ran:?}");
        }
        // Over one minor alone the error has the key.
        if upgrade["new"] == "1.36.4" {
            let ran = desk.run(&[&["plan"], &over[..]].concat());
            assert!(
                ran.stderr.contains("FL1214") && ran.stderr.contains("`etcd: { version: 3.6.14 }`"),
                "{ran:?}"
            );
            assert!(ran.stdout.contains("takes 2 updates;"), "{ran:?}");
            // The first of them may not be over.
            let words: Vec<_> = upgrade_commands(&ran)
                .into_iter()
                .map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
                .collect();
            let run = |words: &[String]| desk.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let (before, tree) = (desk.read("firelay.state.yaml"), desk.at("out"));
            desk.copy("out", "kept");
            assert_eq!(run(&words[0]).code, 0);
            let ran = run(&words[2]);
            assert!(
                ran.code == 3 && ran.stderr.contains("FL1214") && ran.stderr.contains("the running Kubernetes 1.36.4"),
                "{ran:?}"
            );
            fs::remove_dir_all(&tree).unwrap();
            fs::rename(desk.at("kept"), &tree).unwrap();
            desk.write("firelay.state.yaml", &before);
        }
    }
    let ran = desk.run(&[&["plan", "--detailed-exitcode"], &over[..]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// cloud-init reads it on the first boot alone, from a file beside the document.
#[test]
fn another_network_creates_machines_anew() {
    let desk = Desk::of("ha-ubuntu");
    let network = |mtu: &str| format!("interfaces=[{{ name: eno1, dhcp4: true{mtu} }}]");
    let run =
        |verb: &[&str], mtu: &str| desk.run(&[verb, &["--set", "platform=metal", "--set", &network(mtu)]].concat());
    let rendered = run(&["render", "--founded"], "");
    assert_eq!(rendered.code, 0, "{rendered:?}");
    assert!(run(&["plan"], "").stdout.contains("No changes: "));
    let plan = run(&["plan"], ", mtu: 9000");
    let replaced = "-/+ worker-1, worker-2, worker-3: to replace\n        user-data  # forces replacement\n          network-config: (not shown)\n";
    assert!(plan.stdout.contains(replaced), "{plan:?}");
}

/// A cluster whose founder has applied arguments, an add-on and a manifest of the user.
fn founded_with_settings() -> Desk {
    let desk = Desk::of("ha-ubuntu");
    let own = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: own, namespace: default }\ndata: { x: plain-1 }\n---\napiVersion: v1\nkind: Secret\n\
               metadata: { name: own, namespace: default }\nstringData: { x: hunter2222 }\n";
    desk.write("own.yaml", own);
    let spec = desk.read("cluster.yaml").replace("platform: aws", "platform: proxmox");
    let further = "addons:\n  metricsServer: {}\nmanifests:\n  - name: own\n    source: own.yaml\n";
    desk.write("cluster.yaml", &(spec + further));
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.run(&["founded"]).code, 0);
    assert_eq!(desk.run(&["render"]).code, 0);
    desk
}

fn edit(desk: &Desk, file: &str, pairs: &[(&str, &str)]) {
    let text = desk.read(file);
    let edited = pairs.iter().fold(text, |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    });
    desk.write(file, &edited);
}

/// Settings that no document carries are named with line of the spec, file and field; of secrets the name alone.
#[test]
fn settings_of_the_founder_have_lines_and_fields() {
    let desk = founded_with_settings();
    assert!(!desk.read("out/founding.json").contains("hunter2222"));
    let arguments = "kubernetes: { version: 1.36.4, apiServer: { extraArgs: [{ name: v, value: \"3\" }] }, kubelet: { config: { maxPods: 80 } } }";
    edit(
        &desk,
        "cluster.yaml",
        &[
            ("kubernetes: { version: 1.36.4 }", arguments),
            ("backend: vxlan", "backend: host-gw"),
            ("metricsServer", "dnsAutoscaler"),
        ],
    );
    edit(
        &desk,
        "own.yaml",
        &[("plain-1", "plain-2"), ("hunter2222", "hunter3333")],
    );
    let ran = desk.run(&["plan", "--accept", "FL1224", "--accept", "FL1227"]);
    let mut golden = Golden::open("plan");
    golden.compare("founding.txt", ran.stdout.split_once('\n').unwrap().1);
    golden.close();
    let json = desk.run(&["plan", "--output", "json"]).json();
    let file = &json["machines"][0]["files"][0];
    assert_eq!(file["spec"][0], "cluster.yaml:6", "{file}");
    assert_eq!(file["fields"][0]["new"], "3", "{file}");
    assert_eq!(json["manifests"][1]["kind"], "added", "{json}");
    let render = desk.run(&["render", "--accept", "FL1224", "--accept", "FL1227"]);
    let note = "changed: ClusterConfiguration/apiServer/extraArgs/0/value, KubeletConfiguration/maxPods";
    assert!(render.stderr.contains(note), "{render:?}");
}

/// Without the tree, with an edited one, or with one that is not of the record, the part is named and no field.
#[test]
fn settings_that_are_not_known_are_told_as_such() {
    let desk = founded_with_settings();
    let set = ["--set", "kubernetes.kubelet.config.maxPods=80", "--set", "addons={}"];
    let plan = |desk: &Desk| desk.run(&[&["plan"], &set[..]].concat()).stdout;
    let known = |text: &str| {
        (
            text.contains("KubeletConfiguration/maxPods"),
            text.contains("metrics-server.yaml (removed)"),
        )
    };
    assert_eq!(known(&plan(&desk)), (true, true));
    let told = "kubeletConfiguration: was changed; the tree of the last render does not have what was applied\n";
    let others = "manifests: was changed; the tree of the last render does not have what was applied\n";
    let (record, tree) = (desk.read("firelay.state.yaml"), desk.read("out/founding.json"));
    let digest = record
        .lines()
        .find(|line| line.starts_with("  kubeletConfiguration: "))
        .unwrap();
    desk.write(
        "firelay.state.yaml",
        &record.replace(digest, "  kubeletConfiguration: HMAC-SHA256:AAAAAAAAAAAAAAAAAAAAAA=="),
    );
    let text = plan(&desk);
    assert!(known(&text) == (false, true) && text.contains(told), "{text}");
    desk.write("firelay.state.yaml", &record);
    desk.write("out/founding.json", &(tree + "\n"));
    let text = plan(&desk);
    assert!(
        known(&text) == (false, false) && text.contains(told) && text.contains(others),
        "{text}"
    );
    fs::remove_dir_all(desk.at("out")).unwrap();
    let text = plan(&desk);
    assert!(
        known(&text) == (false, false) && text.contains(told) && text.contains(others),
        "{text}"
    );
    // The spec of the record makes it again.
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(known(&plan(&desk)), (true, true));
}
