//! Random sequences of changes of a running cluster, through the whole program. Each plan writes nothing, is empty exactly when the bytes
//! stay equal, keeps quorum and API in a model of the cluster, and is empty once it is applied.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use proptest::prelude::*;
use serde_json::Value;

use super::desk::{Desk, Ran};
use crate::support::tree;

/// The patch releases of two minors, oldest first.
const VERSIONS: [&str; 3] = ["1.35.7", "1.35.8", "1.36.4"];

/// Lines of the spec that come and go.
const SETTINGS: [&str; 9] = [
    "timezone: Europe/Berlin",
    "ntp: { servers: [192.0.2.123] }",
    "sysctls: { vm.max_map_count: 262146 }",
    "update: { maxUnavailable: 2 }",
    "addons: { metricsServer: {}, certificateRenewal: {} }",
    "security: { metadataFirewall: true }",
    "etcd: { backup: { every: 24h, keep: 3, to: /var/backups/etcd } }",
    "dns: { servers: [192.0.2.53] }",
    "runtime: { nerdctl: true }",
];

/// What a spec says, as far as sequences change it: numbers of machines, which end their names and addresses.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    /// Members of external etcd. Without any, etcd is stacked.
    members: BTreeSet<u8>,
    control_planes: BTreeSet<u8>,
    workers: BTreeSet<u8>,
    version: usize,
    settings: BTreeSet<usize>,
    /// A flag of all kubelets, and an argument of the API servers: kubeadm's configuration.
    flags: (bool, bool),
}

impl Wanted {
    /// Etcd has an odd number of members: where it would not, one more goes.
    fn make_odd(&mut self) {
        let members = if self.members.is_empty() {
            &mut self.control_planes
        } else {
            &mut self.members
        };
        if members.len() % 2 == 0 {
            members.pop_last();
        }
    }

    fn machines(&self) -> impl Iterator<Item = String> {
        let of = |prefix: &'static str, numbers: &BTreeSet<u8>| -> Vec<String> {
            numbers.iter().map(|number| format!("{prefix}{number}")).collect()
        };
        let named = [
            ("etcd", &self.members),
            ("cp", &self.control_planes),
            ("w", &self.workers),
        ];
        named.into_iter().flat_map(move |(prefix, numbers)| of(prefix, numbers))
    }

    fn spec(&self) -> String {
        let role = |name: &str| match name.trim_end_matches(|digit: char| digit.is_ascii_digit()) {
            "etcd" => ("etcd", 30),
            "cp" => ("control-plane", 60),
            _ => ("worker", 90),
        };
        let node = |name: String| {
            let (role, base) = role(&name);
            let number: u8 = name
                .trim_start_matches(|letter: char| letter.is_ascii_alphabetic())
                .parse()
                .unwrap();
            format!(
                "  - {{ name: {name}, roles: [{role}], addresses: [10.0.0.{}] }}\n",
                base + number
            )
        };
        let kubelet = ["", ", kubelet: { extraArgs: [{ name: v, value: \"3\" }] }"][usize::from(self.flags.0)];
        let server = ["", ", apiServer: { extraArgs: [{ name: v, value: \"3\" }] }"][usize::from(self.flags.1)];
        let settings: String = self.settings.iter().map(|at| format!("{}\n", SETTINGS[*at])).collect();
        format!(
            "apiVersion: firelay.dev/v1alpha1\nkind: Cluster\nname: prod\nkubernetes: {{ version: {}{kubelet}{server} }}\n\
             endpoint: {{ host: api.example.com }}\nos: ubuntu-24.04\nplatform: openstack\n{settings}nodes:\n{}",
            VERSIONS[self.version],
            self.machines().map(node).collect::<String>(),
        )
    }
}

/// One change of a spec.
#[derive(Clone, Debug)]
enum Change {
    Member(u8),
    ControlPlane(u8),
    Worker(u8),
    Version(usize),
    Setting(usize),
    KubeletFlag,
    ServerArgument,
}

impl Change {
    /// Machines and settings come if they are not there, and go if they are.
    fn apply(&self, wanted: &mut Wanted) {
        fn toggle<T: Ord>(set: &mut BTreeSet<T>, one: T) {
            if !set.remove(&one) {
                set.insert(one);
            }
        }
        match self {
            Self::Member(_) if wanted.members.is_empty() => {}
            Self::Member(number) => toggle(&mut wanted.members, *number),
            Self::ControlPlane(number) => toggle(&mut wanted.control_planes, *number),
            Self::Worker(number) => toggle(&mut wanted.workers, *number),
            Self::Version(at) => wanted.version = *at,
            Self::Setting(at) => toggle(&mut wanted.settings, *at),
            Self::KubeletFlag => wanted.flags.0 ^= true,
            Self::ServerArgument => wanted.flags.1 ^= true,
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let number = 1u8..=5;
    prop_oneof![
        1 => number.clone().prop_map(Change::Member),
        2 => number.clone().prop_map(Change::ControlPlane),
        2 => number.prop_map(Change::Worker),
        1 => (0..VERSIONS.len()).prop_map(Change::Version),
        4 => (0..SETTINGS.len()).prop_map(Change::Setting),
        1 => Just(Change::KubeletFlag),
        1 => Just(Change::ServerArgument),
    ]
}

fn numbers(range: RangeInclusive<u8>) -> BTreeSet<u8> {
    range.collect()
}

fn first() -> impl Strategy<Value = Wanted> {
    let members = prop_oneof![2 => Just(BTreeSet::new()), 1 => Just(numbers(1..=3))];
    let control_planes = prop::sample::select(vec![1u8, 3, 3, 5]);
    (members, control_planes, 1u8..=3).prop_map(|(members, control_planes, workers)| Wanted {
        members,
        control_planes: numbers(1..=control_planes),
        workers: numbers(1..=workers),
        version: 0,
        settings: BTreeSet::new(),
        flags: (false, false),
    })
}

/// The machines that are there, as an outsider sees them.
struct Model {
    etcd: BTreeSet<String>,
    servers: BTreeSet<String>,
    /// Control planes are the members.
    is_stacked: bool,
}

impl Model {
    fn of(wanted: &Wanted) -> Self {
        let of = |prefix: &str| wanted.machines().filter(|name| name.starts_with(prefix)).collect();
        let etcd = if wanted.members.is_empty() { "cp" } else { "etcd" };
        Self {
            etcd: of(etcd),
            servers: of("cp"),
            is_stacked: wanted.members.is_empty(),
        }
    }

    /// Machines that the spec no longer has have left: `--accept FL1218` says so. Two members that wait for a third one do not restart.
    fn leave(&mut self, plan: &Value) {
        let with = |action: &str| {
            let machines = plan["machines"].as_array().unwrap().iter();
            machines
                .filter(move |machine| machine["action"] == action)
                .collect::<Vec<_>>()
        };
        let name = |machine: &Value| machine["name"].as_str().unwrap().to_owned();
        for gone in with("remove") {
            self.etcd.remove(&name(gone));
            self.servers.remove(&name(gone));
        }
        let role = if self.is_stacked { "control-plane" } else { "etcd" };
        let is_member = |machine: &Value| machine["roles"].as_array().unwrap().iter().any(|own| own == role);
        let waits = self.etcd.len() == 2 && with("add").into_iter().any(is_member);
        for machine in with("inPlace")
            .into_iter()
            .filter(|machine| waits && is_member(machine))
        {
            let actions = machine["actions"].as_array().unwrap();
            let restarts = actions
                .iter()
                .any(|action| RESTARTS.contains(&action.as_str().unwrap()));
            assert!(!restarts, "{machine}: etcd is {:?}", self.etcd);
        }
    }

    /// The machines of a step go away without warning, and come back.
    fn take(&mut self, step: &Value) {
        let away: BTreeSet<String> = step["machines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        let comes = step["action"] == "add";
        let alone = |of: &BTreeSet<String>| of.len() < 3 || comes;
        let healthy = self.etcd.difference(&away).count();
        assert!(
            alone(&self.etcd) || healthy > self.etcd.len() / 2,
            "{step}: etcd is {:?}",
            self.etcd
        );
        let left = self.servers.difference(&away).count();
        assert!(
            self.servers.len() == 1 || comes || left > 0,
            "{step}: API servers are {:?}",
            self.servers
        );
        for name in away {
            let is_server = step["of"] == "controlPlane";
            if step["of"] == "etcd" || is_server && self.is_stacked {
                self.etcd.insert(name.clone());
            }
            if is_server {
                self.servers.insert(name);
            }
        }
    }
}

/// Actions of a machine that restart its member of etcd.
const RESTARTS: [&str; 3] = [
    "restart etcd.service",
    "kubeadm upgrade",
    "change keys and certificates",
];

/// kubeadm's configuration that no machine takes in place: the plan says so, and the update after it brings it.
const LEFT: &str = "FL1221";

/// A cluster whose machines have all done what `update` wrote.
struct Cluster {
    desk: Desk,
    wanted: Wanted,
}

/// Modes and contents of the tree, by path.
type Documents = BTreeMap<String, (u32, Option<Vec<u8>>)>;

/// What the operator confirms: machines that the spec no longer has.
const REMOVED: [&str; 2] = ["--accept", "FL1218"];

impl Cluster {
    fn found(wanted: Wanted) -> Self {
        let cluster = Self {
            desk: Desk::empty(),
            wanted,
        };
        cluster.desk.write("cluster.yaml", &cluster.wanted.spec());
        assert_eq!(cluster.desk.run(&["secrets", "new"]).code, 0);
        let rendered = cluster.desk.run(&["render", "--founded"]);
        assert_eq!(rendered.code, 0, "{rendered:?}");
        cluster
    }

    fn plan(&self) -> Ran {
        let everything = self.desk.everything();
        let ran = self
            .desk
            .run(&[&["plan", "--detailed-exitcode", "--output", "json"], &REMOVED[..]].concat());
        assert!([0, 3, 6].contains(&ran.code), "{ran:?}");
        assert!(self.desk.everything() == everything, "plan wrote something: {ran:?}");
        ran
    }

    fn documents(&self) -> Documents {
        let entries = tree(&self.desk.at("out/nodes")).into_iter();
        entries
            .map(|(path, entry)| (path, (entry.mode, entry.content)))
            .collect()
    }

    fn has_scripts(&self) -> bool {
        self.desk.at("out/update").exists()
    }

    fn is_unchanged(&self, why: &str) {
        let ran = self.plan();
        assert_eq!(ran.code, 0, "{why}: {ran:?}");
    }

    fn done(&self) {
        let done = self.desk.run(&["update", "--done"]);
        assert_eq!(done.code, 0, "{done:?}");
    }

    /// Plans a change and takes it. One that is refused is taken back.
    fn change(&mut self, wanted: Wanted) {
        self.desk.write("cluster.yaml", &wanted.spec());
        let (before, planned, everything) = (self.documents(), self.plan(), self.desk.everything());
        let updated = self.desk.run(&[&["update"], &REMOVED[..]].concat());
        if planned.code == 3 {
            assert_eq!(updated.code, 3, "{planned:?} {updated:?}");
            assert!(
                self.desk.everything() == everything,
                "update wrote something: {updated:?}"
            );
            self.desk.write("cluster.yaml", &self.wanted.spec());
            return;
        }
        assert_eq!(updated.code, 0, "{planned:?} {updated:?}");
        let after = self.documents();
        let differs = before != after || self.has_scripts();
        assert_eq!(planned.code == 6, differs, "{planned:?} {updated:?}");
        let plan = planned.json();
        equal_where_none(&plan, &before, &after);
        let mut model = Model::of(&self.wanted);
        model.leave(&plan);
        for step in plan["steps"].as_array().unwrap() {
            model.take(step);
        }
        let reached = Model::of(&wanted);
        assert_eq!((model.etcd, model.servers), (reached.etcd, reached.servers), "{plan}");
        self.wanted = wanted;
        let left = plan["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|finding| finding["code"] == LEFT);
        if left && self.plan().code == 6 {
            self.done();
            let rest = self.desk.run(&["update"]);
            assert_eq!(rest.code, 0, "{rest:?}");
        }
        self.is_unchanged("after the update");
        self.done();
        self.is_unchanged("after update --done");
    }
}

/// A machine has the action `none` exactly when its files are equal.
fn equal_where_none(plan: &Value, before: &Documents, after: &Documents) {
    for machine in plan["machines"].as_array().unwrap() {
        let prefix = format!("{}/", machine["name"].as_str().unwrap());
        let own = |files: &Documents| {
            let files = files.iter().filter(|(path, _)| path.starts_with(&prefix));
            format!("{:?}", files.collect::<Vec<_>>())
        };
        let equal = own(before) == own(after) && machine["actions"] == serde_json::json!([]);
        assert_eq!(machine["action"] == "none", equal, "{machine}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// `PROPTEST_CASES=200` looks longer.
    #[test]
    fn every_sequence_of_changes_is_planned_as_it_is_applied(
        wanted in first(),
        sequence in prop::collection::vec(prop::collection::vec(change(), 1..=3), 2..=4),
    ) {
        let mut cluster = Cluster::found(wanted);
        for changes in sequence {
            let mut wanted = cluster.wanted.clone();
            changes.iter().for_each(|change| change.apply(&mut wanted));
            wanted.make_odd();
            cluster.change(wanted);
        }
    }
}
