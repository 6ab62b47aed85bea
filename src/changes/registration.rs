//! Files of which single fields or lines decide what their change asks: kubeadm's JoinConfiguration, the list of binaries, the
//! variables of the boot chain, and certificates.

use std::collections::{BTreeMap, BTreeSet};

use firelay_verify::Machine;
use firelay_yaml::plain_text;
use serde_json::Value;
use x509_parser::pem::parse_x509_pem;

use super::{
    Handler,
    handlers::{artifact_handlers, handler, is_package_in_place},
};

pub use crate::node::{ARTIFACTS, JOIN_CONFIGURATION};
/// The environment of a member of external etcd.
pub const ETCD_ENVIRONMENT: &str = "/etc/etcd/etcd.env";
/// The address at which clients reach a member.
const CLIENT_URLS: &str = "ETCD_ADVERTISE_CLIENT_URLS=";
/// The members that etcd reads when it has no data.
const MEMBERS: &str = "ETCD_INITIAL_CLUSTER=";
/// The address at which other members reach it. A member with data ignores the variable: etcd's list of members keeps the old address.
const PEER_URLS: &str = "ETCD_INITIAL_ADVERTISE_PEER_URLS=";
/// The unit of a member of external etcd.
const ETCD: &str = "/etc/systemd/system/etcd.service";
/// etcd's release in the list of binaries.
const ETCD_RELEASE: &str = "etcd";
/// Formats of the list of binaries that name each file that they place (templates/boot/steps/20-artifacts.j2).
const MEMBER_FORMATS: [&str; 2] = ["binary", "tar-gz"];
/// Variables of the boot chain.
const ENVIRONMENT: &str = "/etc/firelay/node.env";
/// The kubelet's flag with the labels of a Node.
const LABELS: &str = "node-labels";
/// Flags that the kubelet reads when it registers its Node, or that kubeadm sets as well (`phases/kubelet/flags.go`): one that goes
/// would have to come back in kubeadm's own form.
const FIXED: [&str; 11] = [
    "bootstrap-kubeconfig",
    "cert-dir",
    "cloud-provider",
    "config",
    "container-runtime-endpoint",
    "hostname-override",
    "kubeconfig",
    "node-ip",
    "pod-infra-container-image",
    "provider-id",
    "register-with-taints",
];
/// Keys of `nodeRegistration` that `kubeadm join` alone reads.
const OF_JOIN: [&str; 3] = ["ignorePreflightErrors", "imagePullPolicy", "imagePullSerial"];
/// Variables that steps of the first boot apply to the Node or the machine, such as the endpoint's address in /etc/hosts.
const APPLIED: [&str; 3] = ["FL_ADMIN_LABELS=", "FL_LEAD=", "FL_SWAP="];

/// A step of the first boot, and its functions that apply files which have handlers of their own.
const PREPARE: &str = "/steps/10-prepare";
const OF_FILES: [&str; 3] = ["name_servers", "time_servers", "sysctls"];
/// The step of the first boot that installs packages, the head of its function, and the word before their names.
const PACKAGES: &str = "18-packages";
const INSTALL: (&str, &str) = ("packages() {", " install ");

/// Whether a machine runs etcd as a unit. A control plane may have etcd's release for its tools alone.
pub fn runs_etcd(machine: &Machine) -> bool {
    machine.root.entries.contains_key(ETCD)
}

/// Whether clients reach a member of external etcd at another address than before.
pub fn moves(old: &Machine, new: &Machine) -> bool {
    let urls = |machine: &Machine| Some(setting(machine.text(ETCD_ENVIRONMENT)?, CLIENT_URLS)?.to_owned());
    urls(old).zip(urls(new)).is_some_and(|(old, new)| old != new)
}

/// Handlers of a file that changed, where its content decides. `None` for all other files.
pub(super) fn handlers(path: &str, old: &str, new: &str, runs_etcd: bool) -> Option<BTreeSet<Handler>> {
    match path {
        JOIN_CONFIGURATION => Some(of_join(old, new)),
        ARTIFACTS => Some(of_artifacts(old, new, runs_etcd)),
        ENVIRONMENT => Some(of_environment(old, new)),
        ETCD_ENVIRONMENT => of_members(old, new),
        _ if path.ends_with(PREPARE) => (prepared(old) == prepared(new)).then(|| BTreeSet::from([Handler::Boot])),
        _ if is_certificate(path) => Some(of_certificate(old, new)),
        _ => of_packages(path, Some(old), Some(new)),
    }
}

/// Handlers of the step that installs packages; `None` for all other files. Other packages than the table's may have services.
pub(super) fn of_packages(path: &str, old: Option<&str>, new: Option<&str>) -> Option<BTreeSet<Handler>> {
    path.ends_with(&format!("/steps/{PACKAGES}")).then_some(())?;
    let (had, has) = (old.map(packages), new.map(packages));
    let both = had.as_ref().zip(has.as_ref());
    let same = both.is_none_or(|(old, new)| old.0 == new.0);
    let names = |side: Option<(String, BTreeSet<String>)>| side.map(|side| side.1).unwrap_or_default();
    let (had, has) = (names(had), names(has));
    let moves = same && had.symmetric_difference(&has).all(|name| is_package_in_place(name));
    Some(BTreeSet::from([match (moves, has.is_subset(&had)) {
        (false, _) => Handler::Replace,
        (true, true) => Handler::Boot,
        (true, false) => Handler::Step(PACKAGES.to_owned()),
    }]))
}

/// The text of the step without names of packages, and these names.
fn packages(text: &str) -> (String, BTreeSet<String>) {
    let mut lines = text.lines().skip_while(|line| *line != INSTALL.0);
    let line = lines.nth(1).unwrap_or_default();
    let (_, names) = line.rsplit_once(INSTALL.1).unwrap_or_default();
    let rest = text.replacen(line, "", 1);
    let command = line.strip_suffix(names).unwrap_or(line);
    (rest + command, names.split(' ').map(str::to_owned).collect())
}

/// The lines of the step without these functions and their calls.
fn prepared(text: &str) -> Vec<&str> {
    let mut within = false;
    let mut is_kept = |line: &&str| {
        let call = line.trim_start();
        let call = call.rsplit_once(" || ").map_or(call, |(_, call)| call);
        let name = line.strip_suffix("() {").unwrap_or(call);
        let is_own = OF_FILES.contains(&name);
        let kept = !within && !is_own && !line.is_empty();
        within = (within || is_own && line.ends_with('{')) && *line != "}";
        kept
    };
    text.lines().filter(|line| is_kept(line)).collect()
}

/// Whether a file is a certificate in the document.
pub(super) fn is_certificate(path: &str) -> bool {
    let ends = [".crt", ".pem"].iter().any(|end| path.ends_with(end));
    ends && handler(path) == Handler::Certificates
}

/// A machine may have renewed its certificate since: only a younger one of a later render takes its place.
fn of_certificate(old: &str, new: &str) -> BTreeSet<Handler> {
    let begin = |text: &str| {
        let (_, block) = parse_x509_pem(text.as_bytes()).ok()?;
        Some(block.parse_x509().ok()?.validity().not_before.timestamp())
    };
    let younger = begin(old).zip(begin(new)).is_some_and(|(old, new)| old < new);
    BTreeSet::from([if younger {
        Handler::Certificates
    } else {
        Handler::Replace
    }])
}

fn of_environment(old: &str, new: &str) -> BTreeSet<Handler> {
    let applied = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| APPLIED.iter().any(|name| line.starts_with(name)));
        lines.map(str::to_owned).collect()
    };
    let same = applied(old) == applied(new);
    BTreeSet::from([if same { Handler::Boot } else { Handler::Replace }])
}

/// A member that has data asks etcd for the members, and keeps its own address.
fn of_members(old: &str, new: &str) -> Option<BTreeSet<Handler>> {
    if setting(old, PEER_URLS) != setting(new, PEER_URLS) {
        return Some(BTreeSet::from([Handler::Replace]));
    }
    let rest = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with(MEMBERS));
        lines.map(str::to_owned).collect()
    };
    (rest(old) == rest(new)).then(|| BTreeSet::from([Handler::Boot]))
}

/// The line of a setting.
fn setting<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find(|line| line.starts_with(name))
}

/// A line of the list of binaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binary<'a> {
    /// Name in the catalog.
    pub name: &'a str,
    /// SHA-256.
    pub sum: &'a str,
    pub url: &'a str,
    pub line: &'a str,
    place: [&'a str; 2],
    /// Names of its files, one space between them; nothing for a whole archive.
    members: &'a str,
}

impl<'a> Binary<'a> {
    /// The lines of a list.
    pub fn all(list: &'a str) -> impl Iterator<Item = Self> {
        list.lines().filter_map(|line| {
            let mut words = line.splitn(6, ' ');
            let (name, sum, format, url, directory) = (
                words.next()?,
                words.next()?,
                words.next()?,
                words.next()?,
                words.next()?,
            );
            let members = words.next().unwrap_or_default();
            let place = [format, directory];
            Some(Self {
                name,
                sum,
                url,
                line,
                place,
                members,
            })
        })
    }

    /// Its files on a machine.
    pub fn files(&self) -> impl Iterator<Item = String> {
        let [_, directory] = self.place;
        let members = self.members.split(' ').filter(|member| !member.is_empty());
        members.map(move |member| format!("{directory}/{}", member.rsplit('/').next().unwrap_or(member)))
    }

    /// Whether only people and scripts call its files: they go in place. A tree of files has no list of them.
    fn goes_in_place(&self, runs_etcd: bool) -> bool {
        let is_called = artifact_handlers(self.name) == [Handler::None] || self.name == ETCD_RELEASE && !runs_etcd;
        let has_list = MEMBER_FORMATS.contains(&self.place[0]) && !self.members.is_empty();
        is_called && has_list
    }
}

/// The binaries of a list that another list no longer names, and that go in place.
pub fn lost_binaries<'a>(old: &'a str, new: &str, runs_etcd: bool) -> Vec<Binary<'a>> {
    let has: BTreeSet<_> = Binary::all(new).map(|own| own.name).collect();
    Binary::all(old)
        .filter(|own| !has.contains(own.name) && own.goes_in_place(runs_etcd))
        .collect()
}

/// The binaries of a list that another list has not.
pub fn changed_binaries<'a>(old: &'a str, new: &'a str) -> Vec<Binary<'a>> {
    let had: BTreeSet<_> = Binary::all(old).map(|own| (own.name, own.sum)).collect();
    Binary::all(new)
        .filter(|own| !had.contains(&(own.name, own.sum)))
        .collect()
}

fn of_artifacts(old: &str, new: &str, runs_etcd: bool) -> BTreeSet<Handler> {
    let places = |list| -> BTreeMap<_, _> { Binary::all(list).map(|own| (own.name, own.place)).collect() };
    let (had, has) = (places(old), places(new));
    let lost = lost_binaries(old, new, runs_etcd);
    let is_lost = |name: &str| lost.iter().any(|own| own.name == name);
    // Of a binary that goes elsewhere, or that something runs, the old one would stay.
    let moves = had
        .iter()
        .any(|(name, place)| !artifact_handlers(name).is_empty() && has.get(name) != Some(place) && !is_lost(name));
    if moves {
        return BTreeSet::from([Handler::Replace]);
    }
    let changed = changed_binaries(old, new);
    let handlers = changed.iter().flat_map(|own| match own.name {
        ETCD_RELEASE if !runs_etcd => &[Handler::None],
        name => artifact_handlers(name),
    });
    let mut handlers: BTreeSet<_> = handlers.cloned().collect();
    if !lost.is_empty() {
        handlers.insert(Handler::None);
    }
    match handlers.is_empty() {
        // Another URL of the same file.
        true => BTreeSet::from([Handler::Boot]),
        false => handlers,
    }
}

fn of_join(old: &str, new: &str) -> BTreeSet<Handler> {
    let replace = BTreeSet::from([Handler::Replace]);
    let (Some(old), Some(new)) = (parse(old), parse(new)) else {
        return replace;
    };
    let mut handlers = BTreeSet::from([Handler::Boot]);
    if old["patches"] != new["patches"] {
        handlers.insert(Handler::Kubeadm);
    }
    if old["nodeRegistration"] == new["nodeRegistration"] {
        return handlers;
    }
    // A machine that joined with a token has deleted the file.
    if old["discovery"].get("bootstrapToken").is_some() {
        return replace;
    }
    let keys = |value: &Value| -> BTreeSet<String> {
        let entries = value["nodeRegistration"].as_object().into_iter().flatten();
        entries.map(|(key, _)| key.clone()).collect()
    };
    for key in &keys(&old) | &keys(&new) {
        let (before, after) = (&old["nodeRegistration"][&key], &new["nodeRegistration"][&key]);
        if before == after || OF_JOIN.contains(&key.as_str()) {
            continue;
        }
        if key != "kubeletExtraArgs" {
            return replace;
        }
        let Some(flags) = Flags::between(before, after) else {
            return replace;
        };
        let kubelet = Handler::RestartLate("kubelet.service".to_owned());
        handlers.extend([Handler::Flags, kubelet]);
        if flags.names.contains(LABELS) {
            handlers.insert(Handler::Label);
        }
    }
    handlers
}

fn parse(text: &str) -> Option<Value> {
    firelay_yaml::parse(JOIN_CONFIGURATION, text).ok()
}

/// The kubelet's flags of two documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    /// Names that either document sets: words of these names go.
    pub names: BTreeSet<String>,
    /// Words that come.
    pub words: Vec<String>,
    /// Labels of the Node; `None` for one that goes.
    pub labels: BTreeMap<String, Option<String>>,
}

impl Flags {
    /// Of two JoinConfigurations.
    pub fn of(old: &str, new: &str) -> Option<Self> {
        let (old, new) = (parse(old)?, parse(new)?);
        let key = "kubeletExtraArgs";
        Self::between(&old["nodeRegistration"][key], &new["nodeRegistration"][key])
    }

    /// `None` if a running machine cannot take them.
    fn between(old: &Value, new: &Value) -> Option<Self> {
        let pairs = |list: &Value| -> Vec<(String, String)> {
            let items = list.as_array().into_iter().flatten();
            items
                .map(|item| (plain_text(&item["name"]), plain_text(&item["value"])))
                .collect()
        };
        let (old, new) = (pairs(old), pairs(new));
        let of = |name: &str, pairs: &[(String, String)]| -> Vec<String> {
            let own = pairs.iter().filter(|(own, _)| own == name);
            own.map(|(_, value)| value.clone()).collect()
        };
        let fixed = FIXED.iter().any(|name| of(name, &old) != of(name, &new));
        // kubeadm writes the flags as words in double quotes.
        let plain = |value: &str| !value.contains([' ', '\t', '\n', '"', '\'', '\\', '$', '*', '?', '[']);
        if fixed || !new.iter().all(|(_, value)| plain(value)) {
            return None;
        }
        let labels = |pairs: &[(String, String)]| -> BTreeMap<String, String> {
            let lists = of(LABELS, pairs).join(",");
            let pairs = lists.split(',').filter_map(|pair| pair.split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let (had, has) = (labels(&old), labels(&new));
        let gone = had.keys().filter(|name| !has.contains_key(*name));
        let mut changed: BTreeMap<_, _> = gone.map(|name| (name.clone(), None)).collect();
        let come = has.iter().filter(|(name, value)| had.get(*name) != Some(*value));
        changed.extend(come.map(|(name, value)| (name.clone(), Some(value.clone()))));
        let differs = |name: &&String| of(name, &old) != of(name, &new);
        let names = old
            .iter()
            .chain(&new)
            .map(|(name, _)| name)
            .filter(differs)
            .cloned()
            .collect::<BTreeSet<_>>();
        let words = new.iter().filter(|(name, _)| names.contains(name));
        Some(Self {
            words: words.map(|(name, value)| format!("--{name}={value}")).collect(),
            names,
            labels: changed,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn join(extra: &str) -> String {
        format!(
            "kind: JoinConfiguration\nnodeRegistration:\n  name: w1\n  kubeletExtraArgs:\n  - {{ name: node-ip, value: \"10.0.0.1\" }}\n{extra}\
             discovery: {{ file: {{ kubeConfigPath: /k }} }}\n"
        )
    }

    const KUBELET: &str = "kubelet.service";

    #[test]
    fn flags_and_labels_are_told_apart_from_what_only_a_new_machine_takes() {
        let with = |extra: &str| handlers(JOIN_CONFIGURATION, &join(""), &join(extra), false).unwrap();
        let late = || Handler::RestartLate(KUBELET.to_owned());
        let flags = BTreeSet::from([Handler::Boot, Handler::Flags, late()]);
        assert_eq!(with("  - { name: v, value: \"3\" }\n"), flags);
        let labels = BTreeSet::from([Handler::Boot, Handler::Flags, late(), Handler::Label]);
        assert_eq!(with("  - { name: node-labels, value: a=b }\n"), labels);
        assert_eq!(with("timeouts: { discovery: 1m }\n"), BTreeSet::from([Handler::Boot]));
        for extra in [
            "  - { name: provider-id, value: x }\n",
            "  - { name: v, value: \"3 4\" }\n",
            "  taints: [{ key: a, effect: NoSchedule }]\n",
        ] {
            assert_eq!(with(extra), BTreeSet::from([Handler::Replace]), "{extra}");
        }
    }

    #[test]
    fn servers_of_names_and_time_are_no_other_preparation() {
        let step =
            |functions: &str, calls: &str, rest: &str| format!("#!/bin/bash\n{functions}\nkernel\n{calls}{rest}\n");
        let both = "name_servers() {\n  if a; then\n  b\n  fi\n}\n\ntime_servers() {\n  c\n}\n";
        let path = "/opt/firelay/steps/10-prepare";
        let with = |new: &str| handlers(path, &step("", "", "clock"), new, false);
        let servers = step(both, "name_servers\ntime_servers\n", "clock");
        assert_eq!(with(&servers), Some(BTreeSet::from([Handler::Boot])));
        let parameters = step(
            "sysctls() {\n  c\n}\n",
            "  sysctls\n[ -n \"$A\" ] || sysctls\n",
            "clock",
        );
        assert_eq!(with(&parameters), Some(BTreeSet::from([Handler::Boot])));
        assert_eq!(with(&step(both, "name_servers\n", "swap")), None);
        assert_eq!(with(&step("swap() {\n  c\n}\n", "", "clock")), None);
    }

    #[test]
    fn a_package_without_a_service_comes_in_place_and_may_stay() {
        let step = |proxy: &str, names: &str| {
            format!("{proxy}packages() {{\n  apt-get install -f && apt-get install {names}\n}}\n\nwait packages\n")
        };
        let with = |old: Option<String>, new: Option<String>| {
            let all = of_packages("/opt/firelay/steps/18-packages", old.as_deref(), new.as_deref()).unwrap();
            all.into_iter().next().unwrap()
        };
        let (one, both) = (Some(step("", "jq")), Some(step("", "jq openssl")));
        let again = Handler::Step(PACKAGES.to_owned());
        assert_eq!(with(one.clone(), both.clone()), again);
        assert_eq!(with(both.clone(), one.clone()), Handler::Boot);
        assert_eq!(with(None, Some(step("", "openssl"))), again);
        assert_eq!(with(Some(step("", "openssl")), None), Handler::Boot);
        assert_eq!(with(None, one.clone()), Handler::Replace);
        assert_eq!(with(one.clone(), None), Handler::Replace);
        assert_eq!(with(one, Some(step(". proxy.env\n", "jq openssl"))), Handler::Replace);
        assert_eq!(of_packages("/opt/firelay/steps/10-prepare", None, None), None);
    }

    #[test]
    fn labels_that_go_are_told() {
        let old = join("  - { name: node-labels, value: \"a=b,c=d\" }\n");
        let new = join("  - { name: node-labels, value: \"a=x\" }\n");
        let flags = Flags::of(&old, &new).unwrap();
        let labels = [("a".to_owned(), Some("x".to_owned())), ("c".to_owned(), None)];
        assert_eq!(flags.labels, BTreeMap::from(labels));
        assert_eq!(flags.words, ["--node-labels=a=x"]);
    }

    #[test]
    fn a_binary_decides_what_its_change_asks() {
        let list = |kubelet: &str, at: &str| {
            format!("helm 11 binary https://h /bin helm\nkubelet {kubelet} binary https://k {at} kubelet\n")
        };
        let with = |new: &str| handlers(ARTIFACTS, &list("22", "/bin"), new, false).unwrap();
        let late = Handler::RestartLate(KUBELET.to_owned());
        let kubelet = BTreeSet::from([Handler::Kubeadm, Handler::Drain, late]);
        assert_eq!(with(&list("33", "/bin")), kubelet);
        assert_eq!(with(&list("33", "/opt")), BTreeSet::from([Handler::Replace]));
        assert_eq!(
            with("helm 11 binary https://h /bin helm\n"),
            BTreeSet::from([Handler::Replace])
        );
        let without_helm = with("kubelet 22 binary https://k /bin kubelet\n");
        assert_eq!(without_helm, BTreeSet::from([Handler::None]));
        let mirrored = list("22", "/bin").replace("https://k", "https://mirror");
        assert_eq!(with(&mirrored), BTreeSet::from([Handler::Boot]));
    }

    #[test]
    fn the_list_of_members_is_read_at_the_first_boot_alone() {
        let with = |new| handlers(ETCD_ENVIRONMENT, "ETCD_NAME=e2\nETCD_INITIAL_CLUSTER=e1=a\n", new, true);
        let boot = BTreeSet::from([Handler::Boot]);
        assert_eq!(with("ETCD_NAME=e2\nETCD_INITIAL_CLUSTER=e4=b\n"), Some(boot));
        assert_eq!(with("ETCD_NAME=e3\nETCD_INITIAL_CLUSTER=e4=b\n"), None);
    }

    #[test]
    fn a_member_keeps_its_address() {
        let text = |address: &str| format!("ETCD_NAME=e1\nETCD_INITIAL_ADVERTISE_PEER_URLS=https://{address}:2380\n");
        let with = |address| handlers(ETCD_ENVIRONMENT, &text("10.0.0.1"), &text(address), true);
        assert_eq!(with("10.0.0.2"), Some(BTreeSet::from([Handler::Replace])));
    }

    #[test]
    fn tools_of_etcd_go_in_place_where_no_unit_runs_it() {
        let list = "kubectl 1 binary https://k /bin kubectl\netcd 2 tar-gz https://e /bin etcdctl x/etcdutl\n";
        let (kubectl, _) = list.split_once("etcd").unwrap();
        let with = |runs| handlers(ARTIFACTS, list, kubectl, runs).unwrap();
        assert_eq!(with(false), BTreeSet::from([Handler::None]));
        assert_eq!(with(true), BTreeSet::from([Handler::Replace]));
        let lost = lost_binaries(list, kubectl, false);
        let files: Vec<_> = lost.iter().flat_map(Binary::files).collect();
        assert_eq!(files, ["/bin/etcdctl", "/bin/etcdutl"]);
    }

    #[test]
    fn etcd_restarts_where_it_runs_as_a_unit() {
        let list = |sum: u8| format!("etcd {sum} tar-gz https://e /bin etcd etcdctl\n");
        let with = |runs| handlers(ARTIFACTS, &list(1), &list(2), runs).unwrap();
        assert_eq!(with(false), BTreeSet::from([Handler::None]));
        assert_eq!(
            with(true),
            BTreeSet::from([Handler::Restart("etcd.service".to_owned())])
        );
    }
}
