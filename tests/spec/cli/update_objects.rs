//! `update` with an add-on that brings scripts to their machines: the objects beside them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::desk::{Desk, Ran};
use crate::support::{self, golden::Golden, openapi};

const ADDON: [&str; 2] = ["--set", "addons.systemUpgradeController={}"];
const FLAG: [&str; 2] = ["--set", "kubernetes.kubelet.extraArgs=[{ name: v, value: \"3\" }]"];
const MANIFEST: [&str; 2] = ["--set", "addons.metricsServer={}"];

/// A founded cluster with the add-on, and its update.
fn updated(example: &str, before: &[&str], after: &[&str]) -> (Desk, Ran) {
    let desk = Desk::of(example);
    let ran = desk.run(&[&["render", "--founded"], &ADDON[..], before].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = desk.run(&[&["update"], &ADDON[..], after].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    (desk, ran)
}

/// The Secret and the Plan of each file.
fn objects(desk: &Desk) -> BTreeMap<String, (Value, Value)> {
    let files = fs::read_dir(desk.at("out/update/1")).unwrap();
    let names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned));
    let read = |name: String| {
        let mut objects = support::pyyaml(&desk.read(&format!("out/update/1/{name}.yaml"))).into_iter();
        let pair = (objects.next().unwrap(), objects.next().unwrap());
        assert!(objects.next().is_none(), "{name}");
        (name, pair)
    };
    names.map(read).collect()
}

/// The steps of ORDER as sets of files: `NAME` of `NAME.sh`.
fn order(desk: &Desk) -> Vec<BTreeSet<String>> {
    let mut steps: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let order = desk.read("out/update/1/ORDER");
    for line in order.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<_> = line.split(' ').collect();
        let name = words.get(4).map_or(words[3], |script| script.trim_end_matches(".sh"));
        steps
            .entry(words[0].parse().unwrap())
            .or_default()
            .insert(name.to_owned());
    }
    steps.into_values().collect()
}

/// Runs the Plans as the controller does: any of them may run whose wait is over. Returns the files in the order in which they can be complete,
/// as sets of those that run together.
fn rolled(objects: &BTreeMap<String, (Value, Value)>) -> Vec<BTreeSet<String>> {
    let mut complete = BTreeSet::new();
    let mut rounds = Vec::new();
    while complete.len() < objects.len() {
        let ready = objects.iter().filter(|(_, (_, plan))| {
            let waits = waits(plan);
            !complete.contains(&run(plan)) && waits.iter().all(|wait| complete.contains(wait))
        });
        let ready: Vec<_> = ready.collect();
        assert!(!ready.is_empty(), "Plans wait for each other: {complete:?}");
        complete.extend(ready.iter().map(|(_, (_, plan))| run(plan)));
        rounds.push(ready.into_iter().map(|(name, _)| name.clone()).collect());
    }
    rounds
}

/// `NAME=VERSION`.
fn run(plan: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    format!("{}={}", text(&plan["metadata"]["name"]), text(&plan["spec"]["version"]))
}

/// The runs for which a Plan waits.
fn waits(plan: &Value) -> Vec<String> {
    let Some(text) = plan["spec"]["prepare"]["args"][0].as_str() else {
        return Vec::new();
    };
    let list = text.split_once("for plan in ").unwrap().1.split_once(';').unwrap().0;
    list.split(' ').map(str::to_owned).collect()
}

#[test]
fn every_script_has_a_secret_and_a_plan_that_the_api_server_takes() {
    let (desk, ran) = updated("ha-ubuntu", &["--set", "kubernetes.version=1.36.3"], &MANIFEST);
    assert!(
        ran.stderr.ends_with(
            "if this update is the one that brings system-upgrade-controller into the cluster, first run the scripts up to MANIFESTS.sh yourself\n\
             system-upgrade-controller takes steps 1 to 7 of ORDER: kubectl apply --server-side --filename out/update/1\n"
        ),
        "{ran:?}"
    );
    let own = objects(&desk);
    assert_eq!(
        own.keys().map(String::as_str).collect::<Vec<_>>(),
        ["MANIFESTS", "cp1", "cp2", "cp3", "worker-1", "worker-2", "worker-3"]
    );
    for (name, (secret, plan)) in &own {
        let script = STANDARD.decode(secret["data"]["script"].as_str().unwrap()).unwrap();
        assert_eq!(
            script,
            fs::read(desk.at(&format!("out/update/1/{name}.sh"))).unwrap(),
            "{name}"
        );
        // Only its own Secret is mounted, and only on the machine. It is another one for another script.
        let [own, version] = [&plan["metadata"]["name"], &plan["spec"]["version"]].map(|text| text.as_str().unwrap());
        assert_eq!(secret["metadata"]["name"], format!("{own}-{version}"));
        assert_eq!(secret["immutable"], true);
        assert_eq!(plan["spec"]["secrets"].as_array().unwrap().len(), 1);
        assert_eq!(plan["spec"]["secrets"][0]["name"], secret["metadata"]["name"]);
        let node = if name == "MANIFESTS" { "cp1" } else { name };
        assert_eq!(
            plan["spec"]["nodeSelector"]["matchLabels"]["kubernetes.io/hostname"],
            node
        );
        assert!(plan["spec"]["cordon"].is_null() && plan["spec"]["drain"].is_null());
        let mode = fs::metadata(desk.at(&format!("out/update/1/{name}.yaml")))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
    }
    let pairs: Vec<_> = own
        .values()
        .flat_map(|(secret, plan)| [("1.36", secret), ("1.36", plan)])
        .collect();
    assert!(openapi::faults(&pairs).iter().all(Option::is_none), "{pairs:?}");
    // The judge knows the schema.
    let mut wrong = own["cp1"].1.clone();
    wrong["spec"]["upgrade"]["env"] = Value::Array(Vec::new());
    assert!(openapi::faults(&[("1.36", &wrong)])[0].is_some());
    let text = desk.read("out/update/1/worker-1.yaml");
    let script = own["worker-1"].0["data"]["script"].as_str().unwrap();
    let text = text.replace(script, "SCRIPT");
    let text = own.values().fold(text, |text, (_, plan)| {
        text.replace(plan["spec"]["version"].as_str().unwrap(), "VERSION")
    });
    let mut golden = Golden::open("update-objects");
    golden.compare("worker-1.yaml", &text);
    golden.close();
    for verb in [&["audit", "-s", "firelay.secrets.yaml"][..], &["verify"]] {
        assert_eq!(desk.run(verb).code, 0, "{verb:?}");
    }
    let ran = desk.run(&["update", "--done"]);
    assert!(ran.code == 0 && !desk.at("out/update").exists(), "{ran:?}");
}

#[test]
fn plans_run_in_the_steps_of_the_order() {
    for (example, limit, after) in [
        ("ha-ubuntu", "1", &FLAG[..]),
        ("ha-ubuntu", "2", &FLAG),
        ("ha-ubuntu", "100%", &[FLAG, MANIFEST].concat()),
        ("single-node", "1", &FLAG),
        ("air-gapped", "50%", &[FLAG, MANIFEST].concat()),
    ] {
        let limit = format!("update.maxUnavailable={limit}");
        let (desk, ran) = updated(example, &[], &[after, &["--set", &limit]].concat());
        assert_eq!(rolled(&objects(&desk)), order(&desk), "{example} {limit}: {ran:?}");
    }
}

/// Members of external etcd come first and have no Node; a pool comes last and has Nodes of unknown names.
#[test]
fn steps_that_the_cluster_cannot_take_are_named() {
    let etcd = ["--set", "etcd.version=3.6.13"];
    let (desk, ran) = updated("external-etcd", &etcd, &FLAG);
    assert!(
        ran.stderr.ends_with(
            "first do steps 1 to 3 of ORDER yourself: etcd1 (no Node), etcd2 (no Node), etcd3 (no Node)\n\
             system-upgrade-controller takes steps 4 to 7 of ORDER: kubectl apply --server-side --filename out/update/1\n"
        ),
        "{ran:?}"
    );
    assert_eq!(rolled(&objects(&desk)), order(&desk)[3..]);
    let (desk, ran) = updated("local-endpoint", &[], &FLAG);
    assert!(
        ran.stderr
            .ends_with("\nthen do step 6 of ORDER yourself: burst (a pool)\n"),
        "{ran:?}"
    );
    assert_eq!(rolled(&objects(&desk)), order(&desk)[..5]);
    // No Plan can wait for a machine that is created anew.
    let taint = ["--set", "nodes[cp2].taints=[{ key: own, effect: NoSchedule }]"];
    let (desk, ran) = updated("ha-ubuntu", &[], &[FLAG, taint].concat());
    assert!(
        ran.stderr
            .contains("\nthen do steps 3 to 6 of ORDER yourself: cp2, worker-1, "),
        "{ran:?}"
    );
    assert_eq!(objects(&desk).into_keys().collect::<Vec<_>>(), ["cp1", "cp3"]);
}

#[test]
fn a_script_that_no_secret_holds_is_yours() {
    let desk = Desk::of("bare-metal");
    assert_eq!(desk.run(&[&["render", "--founded"], &ADDON[..]].concat()).code, 0);
    let mut spec = desk.read("cluster.yaml") + "\nmanifests:\n";
    let mut seed = 1_u64;
    for name in ["a", "b"] {
        // gzip finds nothing in xorshift's numbers.
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed.to_le_bytes()
        };
        let data = STANDARD.encode((0..80_000).flat_map(|_| next()).collect::<Vec<_>>());
        desk.write(
            &format!("{name}.yaml"),
            &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name} }}\ndata: {{ noise: \"{data}\" }}\n"),
        );
        spec += &format!("  - {{ name: {name}, source: {name}.yaml }}\n");
    }
    desk.write("cluster.yaml", &spec);
    let ran = desk.run(&[&["update"], &ADDON[..]].concat());
    assert!(
        ran.code == 0
            && ran
                .stderr
                .contains("\nwarning: MANIFESTS.sh has more than 1 MiB, and no Secret holds it: run it yourself\n"),
        "{ran:?}"
    );
    assert!(!desk.at("out/update/1/MANIFESTS.yaml").exists());
}

#[test]
fn without_the_add_on_there_are_scripts_alone() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    let ran = desk.run(&[&["update"], &FLAG[..]].concat());
    assert!(ran.code == 0 && !ran.stderr.contains("kubectl apply"), "{ran:?}");
    assert!(objects(&desk).is_empty());
}
