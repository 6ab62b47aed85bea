//! Updates in place: of a machine's old and new files the script that changes it.
//!
//! The script carries the files that differ, lists of binaries, and the steps of [`crate::node::update`]. It knows the machine by
//! the digests of its files (docs/adr/0020-updates-in-place.md).

mod manifests;
mod objects;

pub use manifests::manifests_script;
pub use objects::{Carried, Run, SECRET_SIZE, in_a_row, waited};

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use firelay_verify::{Entry, Machine, What};
use serde_json::json;

use crate::{
    changes::{
        self, Configuration, Handler, MachineChange, authorities, handler, handler_of_loss, is_called_where_active,
        is_removed_last,
        registration::{self, Binary, ETCD_ENVIRONMENT, Flags, changed_binaries, lost_binaries},
        renewal,
    },
    encoding::{base64, gzip, sha256_hex},
    node::{
        self, Text,
        kubeadm::{PATCHES_DIRECTORY, init_of_node},
        update::{UnitCall, UpdateSteps, envelope, scripts},
    },
    plan::{NodePlan, Plan},
    record::Founding,
    spec::JoinIdentity,
};

/// Characters of a line of base64 (RFC 2045).
const LINE: usize = 76;
/// Permission of everybody to read.
const OTHERS: u32 = 0o004;
/// Digits of a digest that name an update.
const ID: usize = 32;
/// Keys and certificates, as the document wrote them. A machine renews copies of theirs.
const IDENTITY: [&str; 4] = [
    "/etc/firelay/pki/",
    "/etc/firelay/kubelet/",
    "/etc/firelay/kubeconfig/",
    ETCD_CERTIFICATES,
];
/// The proxy's configuration, to which a timer adds servers.
const PROXY: &str = "/etc/firelay/endpoint/haproxy.cfg";
/// Patches of etcd's static pod, each with its number and kind behind the name of the target.
const ETCD_PATCHES: &str = "/etc/firelay/kubeadm/patches/etcd";
/// Certificates of a member of external etcd.
const ETCD_CERTIFICATES: &str = "/etc/firelay/etcd/";
/// Static pods that read certificates and keys, in the order of their restarts.
const PODS: [&str; 5] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-vip",
];
/// The unit of a member of external etcd.
const ETCD: &str = "etcd.service";
/// Time services, of which a machine has one (templates/boot/time-servers.j2).
const TIME_SERVICES: [&str; 3] = ["chrony.service", "chronyd.service", "systemd-timesyncd.service"];
/// The template that brings the time service's own file back, below templates/update/undo/.
const OWN_TIME: &str = "time-servers";
/// Marks of the boot chain (docs/boot.md).
const STATE: &str = "/var/lib/firelay";
/// Units of the machine.
const UNITS: &str = "/etc/systemd/system";

/// One machine of a cluster that is updated.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The cluster.
    pub plan: &'a Plan,
    /// The machine.
    pub node: &'a NodePlan,
    /// Its files.
    pub old: &'a Machine,
    /// The files that it gets.
    pub new: &'a Machine,
    /// The differences.
    pub change: &'a MachineChange,
    /// Generations of both documents.
    pub generations: (u32, u32),
    /// kubeadm's configuration of the cluster, if it has changed.
    pub configuration: Option<&'a Configuration>,
    /// Kubernetes gets another version, and a control plane upgrades the cluster in place.
    pub upgrades: bool,
    /// This machine upgrades the cluster and uploads its configuration.
    pub leads: bool,
}

/// The payload of a script: files by path below its directory.
type Payload = BTreeMap<String, (u32, Vec<u8>)>;

/// The script of a machine.
pub fn script(change: &Change<'_>) -> Result<Text, node::Error> {
    let (payload, secret) = payload(change)?;
    let listing: Vec<_> = payload
        .iter()
        .map(|(path, (_, bytes))| (path, sha256_hex(bytes)))
        .collect();
    let id = sha256_hex(format!("{listing:?}").as_bytes())[..ID].to_owned();
    let mut payload = payload;
    payload.insert("id".to_owned(), (0o600, format!("{id}\n").into_bytes()));
    let node = change.node;
    let values = json!({
        "name": node.name,
        "named": if node.pool { "" } else { &node.name },
        "machine": node.arch.machine(),
        "cluster": change.plan.name,
        "from": change.generations.0,
        "to": change.generations.1,
        "id": id,
        "secret": secret,
        "restores_time": undone(change).iter().any(|what| what == OWN_TIME),
        "payload": archive(&payload),
    });
    envelope(node, "the script of an update", "script.sh.j2", &values)
}

/// The payload as lines of base64.
fn archive(payload: &Payload) -> String {
    let text = base64(gzip(&tar(payload)));
    let lines: Vec<_> = text.as_bytes().chunks(LINE).map(String::from_utf8_lossy).collect();
    lines.join("\n")
}

/// The files of the script, and whether one is for root alone.
fn payload(change: &Change<'_>) -> Result<(Payload, bool), node::Error> {
    let (files, mut payload) = laid_files(change);
    let secret = files.iter().any(|(_, entry)| entry.mode & OTHERS == 0);
    let lists = lists(change);
    let steps = steps(change, &files, &lists);
    for (path, mode, text) in scripts(change.plan, change.node, &steps)? {
        payload.insert(path, (mode, text.as_bytes().to_vec()));
    }
    payload.extend(configuration_files(change)?);
    payload.extend(
        lists
            .into_iter()
            .map(|(path, text)| (path.to_owned(), (0o600, text.into_bytes()))),
    );
    Ok((payload, secret))
}

/// Files that are written, with their list: those that differ, and all that nothing but the first boot reads. Of those a machine may
/// have older ones, since their change alone asks nothing of it.
fn laid_files<'a>(change: &Change<'a>) -> (Vec<(&'a str, &'a Entry)>, Payload) {
    let (old, new) = (&change.old.root.entries, &change.new.root.entries);
    let differs = |path: &str, entry: &Entry| {
        old.get(path)
            .is_none_or(|old| old.what != entry.what || old.mode != entry.mode || old.owner != entry.owner)
    };
    let is_of_boot = |path: &str| handler(path) == Handler::Boot || path == ETCD_ENVIRONMENT;
    let written =
        |(path, entry): &(&'a str, &'a Entry)| !is_spent(change, path) && (is_of_boot(path) || differs(path, entry));
    let files = new.iter().map(|(path, entry)| (path.as_str(), entry));
    let files: Vec<_> = files.filter(written).collect();
    let (mut payload, mut list) = (Payload::new(), String::new());
    let mut number = 0;
    for (path, entry) in &files {
        let What::File(bytes) = &entry.what else { continue };
        let phase = phase(change, path);
        let _ = writeln!(list, "{number} {:04o} {} {phase} {path}", entry.mode, entry.owner);
        payload.insert(format!("files/{number}"), (0o600, bytes.to_vec()));
        number += 1;
    }
    payload.insert("files/list".to_owned(), (0o600, list.into_bytes()));
    (files, payload)
}

/// The step of an update that writes a file: what a unit and its binary read is written together with it.
fn phase(change: &Change<'_>, path: &str) -> &'static str {
    let own = handler(path);
    match &own {
        Handler::RestartLate(_) => "late",
        Handler::Restart(unit) if unit == ETCD && change.change.handlers().contains(&own) => "etcd",
        Handler::Certificates if path.starts_with(ETCD_CERTIFICATES) => "etcd",
        Handler::Certificates => "certificates",
        _ => "early",
    }
}

/// Files that a machine deletes after their use: what is spent stays spent (docs/adr/0006-spent-secrets.md).
fn is_spent(change: &Change<'_>, path: &str) -> bool {
    changes::is_spent(path) || path == registration::JOIN_CONFIGURATION && change.node.identity == JoinIdentity::Token
}

/// Texts that the steps read, by name.
fn lists(change: &Change<'_>) -> BTreeMap<&'static str, String> {
    let text = |machine: &Machine, path: &str| machine.text(path).unwrap_or_default().to_owned();
    let pair = |path: &str| (text(change.old, path), text(change.new, path));
    let (old, new) = pair(registration::ARTIFACTS);
    let binaries = changed_binaries(&old, &new);
    let of = |which: &dyn Fn(&Binary<'_>) -> bool| -> String {
        let own = binaries.iter().filter(|own| which(own));
        own.map(|own| format!("{}\n", own.line)).collect()
    };
    let is_member = |own: &Binary<'_>| own.name == "etcd" && registration::runs_etcd(change.new);
    let mut lists = BTreeMap::from([
        ("all.list", of(&|_| true)),
        ("kubeadm.list", of(&|own| own.name == "kubeadm")),
        ("etcd.list", of(&is_member)),
        ("late.list", of(&|own| own.name != "kubeadm" && !is_member(own))),
        ("laid", digests(change)),
        ("remove", removed(change, false) + &lost_files(change)),
        ("remove-last", removed(change, true)),
        ("shortened", shortened(change)),
        ("steps.list", boot_steps(change)),
        ("units", units(change)),
        ("pods", pods(change).iter().map(|pod| format!("{pod}\n")).collect()),
    ]);
    let (old, new) = pair(registration::JOIN_CONFIGURATION);
    if change.change.handlers().contains(&Handler::Flags)
        && let Some(flags) = Flags::of(&old, &new)
    {
        let names: Vec<_> = flags.names.into_iter().collect();
        lists.insert("flags", format!("{}\n{}\n", names.join(" "), flags.words.join(" ")));
        let labels = json!({ "metadata": { "labels": flags.labels } });
        lists.insert("labels", labels.to_string());
    }
    lists
}

/// The digests by which the script knows the machine: `OLD NEW PATH`, `-` where there is no file.
fn digests(change: &Change<'_>) -> String {
    let digest = |machine: &Machine, path: &str| match machine.root.entries.get(path).map(|entry| &entry.what) {
        Some(What::File(bytes)) => sha256_hex(bytes),
        _ => "-".to_owned(),
    };
    let line = |path: &str| format!("{} {} {path}\n", digest(change.old, path), digest(change.new, path));
    let (old, new) = (&change.old.root, &change.new.root);
    let paths: BTreeSet<_> = old.files().chain(new.files()).map(|(path, ..)| path).collect();
    let stays = |path: &&str| {
        !matches!(handler(path), Handler::Boot | Handler::Apply)
            && !is_spent(change, path)
            && ![ETCD_ENVIRONMENT, PROXY].contains(path)
            && (!IDENTITY.iter().any(|folder| path.starts_with(folder))
                || digest(change.old, path) != digest(change.new, path))
    };
    paths.into_iter().filter(stays).map(line).collect()
}

/// Files that the new document does not have: those that go first, or those that something reads until it is restarted.
fn removed(change: &Change<'_>, last: bool) -> String {
    let gone = change.old.root.files().map(|(path, ..)| path);
    let gone = gone.filter(|path| !change.new.root.entries.contains_key(*path) && is_removed_last(path) == last);
    gone.map(|path| format!("{path}\n")).collect()
}

/// Files of binaries that the new list does not have, and the marks with which the machine knows that they are in place.
fn lost_files(change: &Change<'_>) -> String {
    let list = |machine: &Machine| machine.text(registration::ARTIFACTS).unwrap_or_default().to_owned();
    let (old, new) = (list(change.old), list(change.new));
    let lost = lost_binaries(&old, &new, registration::runs_etcd(change.new));
    let of = |own: &Binary<'_>| -> String {
        let mark = format!("{STATE}/{}-{}", own.name, own.sum);
        own.files().chain([mark]).map(|path| format!("{path}\n")).collect()
    };
    lost.iter().map(of).collect()
}

/// Certificates that end earlier than before, each with the moment from which the one in use stays: `SECONDS PATH`.
fn shortened(change: &Change<'_>) -> String {
    let paths = change.change.files.iter().map(|file| file.path.as_str());
    let lines = paths.filter_map(|path| {
        let last = renewal::last_moment(path, change.old, change.new)?;
        Some(format!("{last} {path}\n"))
    });
    lines.collect()
}

/// Templates that end what files had begun that go.
fn undone(change: &Change<'_>) -> Vec<String> {
    let handlers = change.change.handlers().into_iter();
    let what = |handler: &Handler| match handler {
        Handler::Undo(what) => Some(what.clone()),
        _ => None,
    };
    handlers.filter_map(what).collect()
}

/// Those that end what files begin that come: the way back takes these files away.
fn undone_by_rollback(change: &Change<'_>) -> Vec<String> {
    let come = change.change.files.iter().filter(|file| file.kind == "added");
    let undone: BTreeSet<_> = come
        .filter_map(|file| match handler_of_loss(&file.path)? {
            Handler::Undo(what) => Some(what),
            _ => None,
        })
        .collect();
    undone.into_iter().collect()
}

/// Whether the time service gets another file, or its own.
fn changes_time(change: &Change<'_>) -> bool {
    change.change.handlers().contains(&Handler::TimeServers) || undone(change).iter().any(|what| what == OWN_TIME)
}

/// Names of the steps of the first boot in the new document.
fn boot_steps(change: &Change<'_>) -> String {
    let directory = format!("{}/steps", change.node.os.paths.lib);
    let steps = change.new.root.below(&directory);
    steps
        .map(|(path, _)| format!("{}\n", &path[directory.len() + 1..]))
        .collect()
}

/// Units that the change reloads and restarts, in this order. systemd refuses one whose own file a machine does not have.
fn unit_calls<'a>(change: &'a Change<'_>, machine: &'a Machine) -> impl Iterator<Item = UnitCall> + 'a {
    let handlers = change.change.handlers().into_iter();
    let call = |handler: &Handler| {
        let (verb, unit) = match handler {
            Handler::Reload(unit) => ("reload-or-restart", unit),
            Handler::Restart(unit) | Handler::RestartLate(unit) => ("restart", unit),
            _ => return None,
        };
        Some(UnitCall {
            verb,
            unit: unit.clone(),
            where_active: is_called_where_active(unit),
        })
    };
    let both = [change.old, change.new];
    let has = |machine: &Machine, unit: &str| machine.root.entries.contains_key(&format!("{UNITS}/{unit}"));
    let is_elsewhere = move |call: &UnitCall| both.iter().all(|machine| !has(machine, &call.unit));
    let calls = handlers.filter_map(call);
    calls.filter(move |call| has(machine, &call.unit) || is_elsewhere(call))
}

/// Units that the way back enables, reloads and restarts: `VERB UNIT`.
fn units(change: &Change<'_>) -> String {
    let gone = started_units(change.old, change.new);
    let line = |call: UnitCall| match call.where_active {
        true => format!("try-{} {}\n", call.verb, call.unit),
        false => format!("{} {}\n", call.verb, call.unit),
    };
    let mut lines: BTreeSet<_> = unit_calls(change, change.old).map(line).collect();
    if changes_time(change) {
        lines.extend(TIME_SERVICES.map(|unit| format!("try-restart {unit}\n")));
    }
    let back = |unit: &String| ["enable", "restart"].map(|verb| format!("{verb} {unit}\n"));
    lines.extend(gone.iter().flat_map(back));
    if change
        .change
        .handlers()
        .iter()
        .any(|own| matches!(own, Handler::Kubeadm | Handler::Configure))
    {
        lines.insert("restart kubelet.service\n".to_owned());
    }
    for (folder, unit) in [
        (ETCD_CERTIFICATES, ETCD),
        ("/etc/firelay/kubelet/", "kubelet.service"),
        ("/etc/firelay/pki/ca.crt", "kubelet.service"),
    ] {
        if changes_below(change, folder) {
            lines.insert(format!("restart {unit}\n"));
        }
    }
    lines.into_iter().collect()
}

/// Static pods that the way back restarts.
fn pods(change: &Change<'_>) -> Vec<&'static str> {
    let handlers = change.change.handlers();
    let named = |name: &str| handlers.contains(&Handler::Pod(name.to_owned()));
    let certificates = change.node.roles.control_plane && handlers.contains(&Handler::Certificates);
    PODS.into_iter().filter(|pod| certificates || named(pod)).collect()
}

/// kubeadm's configuration, if the machine applies it.
fn configuration<'a>(change: &Change<'a>) -> Option<&'a Configuration> {
    change
        .configuration
        .filter(|_| change.change.handlers().contains(&Handler::Configure))
}

fn changes_part(change: &Change<'_>, part: Founding) -> bool {
    configuration(change).is_some_and(|own| own.parts.contains(&part))
}

/// Whether etcd's static pod changes, by its settings or by a patch. kubeadm upgrade writes it for another version alone.
fn changes_etcd(change: &Change<'_>) -> bool {
    let stacked = change.node.roles.control_plane && !change.plan.etcd.external;
    stacked && (changes_part(change, Founding::Etcd) || changes_below(change, ETCD_PATCHES))
}

/// The configuration for phases of `kubeadm init`, and the digest by which a machine knows it. Where the cluster's own stays, only the
/// part of the node.
fn configuration_files(change: &Change<'_>) -> Result<Payload, node::Error> {
    let mut payload = Payload::new();
    let Some(own) = configuration(change) else {
        if changes_etcd(change) {
            let text = init_of_node(change.plan, change.node)?;
            payload.insert("node.yaml".to_owned(), (0o600, text.into_bytes()));
        }
        return Ok(payload);
    };
    let mut put = |name: &str, text: String| payload.insert(name.to_owned(), (0o600, text.into_bytes()));
    put("configuration", format!("{}\n", own.digest()));
    if change.node.roles.control_plane {
        let node = init_of_node(change.plan, change.node)?;
        put("configuration.yaml", format!("{node}---\n{}", own.text));
    }
    Ok(payload)
}

fn changes_below(change: &Change<'_>, folder: &str) -> bool {
    change.change.files.iter().any(|file| file.path.starts_with(folder))
}

/// Units of one document that the other does not have, and that systemd starts at each boot.
fn started_units(one: &Machine, other: &Machine) -> Vec<String> {
    let units = one.root.below(UNITS);
    let starts = |path: &str| {
        let text = one.text(path).unwrap_or_default();
        text.lines().any(|line| line == "[Install]") && !other.root.entries.contains_key(path)
    };
    let names = units.filter_map(|(path, _)| {
        let name = path.strip_prefix(UNITS)?.strip_prefix('/')?;
        (!name.contains('/') && starts(path)).then(|| name.to_owned())
    });
    names.collect()
}

fn steps(change: &Change<'_>, files: &[(&str, &Entry)], lists: &BTreeMap<&'static str, String>) -> UpdateSteps {
    let handlers = change.change.handlers();
    let late = |unit: &str| handlers.contains(&Handler::RestartLate(unit.to_owned()));
    let named = |pick: fn(&Handler) -> Option<&String>| -> Vec<String> {
        handlers.iter().filter_map(|handler| pick(handler).cloned()).collect()
    };
    let is_late = |unit: &str| late(unit) || unit == ETCD;
    let restarts_etcd = handlers.contains(&Handler::Restart(ETCD.to_owned()));
    let is_listed = |name: &str| lists.get(name).is_some_and(|list| !list.is_empty());
    let new_kubelet = lists["late.list"].lines().any(|line| line.starts_with("kubelet "));
    let version = change.plan.kubernetes.version.to_string();
    let has = |name: &str| files.iter().any(|(path, _)| phase(change, path) == name);
    UpdateSteps {
        fetches: is_listed("all.list"),
        enable: started_units(change.new, change.old),
        units: unit_calls(change, change.new)
            .filter(|call| !is_late(&call.unit))
            .collect(),
        time_servers: handlers.contains(&Handler::TimeServers),
        changes_time: changes_time(change),
        undo: undone(change),
        undo_back: undone_by_rollback(change),
        restart_etcd: restarts_etcd || has("etcd"),
        certificates: has("certificates"),
        etcd_certificates: changes_below(change, ETCD_CERTIFICATES),
        signs_anew: authorities::signs_anew(change.old, change.new),
        boot_steps: named(|handler| match handler {
            Handler::Step(step) => Some(step),
            _ => None,
        }),
        kubeadm: [Handler::Kubeadm, Handler::Configure]
            .iter()
            .any(|own| handlers.contains(own)),
        leads: change.leads,
        upgrades: change.upgrades,
        configuration: configuration(change).is_some(),
        etcd_configuration: changes_etcd(change),
        proxy_configuration: changes_part(change, Founding::KubeProxy) && change.plan.kubernetes.kube_proxy.is_some(),
        patches: match change.new.root.below(PATCHES_DIRECTORY).next() {
            Some(_) => PATCHES_DIRECTORY,
            None => "",
        },
        drain: handlers.contains(&Handler::Drain),
        undrained: change
            .plan
            .updates()
            .map_or_else(String::new, |(_, updates)| updates.undrained.clone()),
        restart_runtime: late(&change.plan.runtime.unit()),
        kubelet: late("kubelet.service"),
        flags: lists.contains_key("flags"),
        labels: handlers.contains(&Handler::Label),
        pods: named(|handler| match handler {
            Handler::Pod(pod) => Some(pod),
            _ => None,
        }),
        late: is_listed("late.list") || has("late"),
        removes: is_listed("remove-last"),
        new_kubelet: if new_kubelet { version.clone() } else { String::new() },
        version,
    }
}

/// A tar archive (POSIX ustar) without owners and times: same files, same bytes.
fn tar(files: &Payload) -> Vec<u8> {
    const BLOCK: usize = 512;
    let mut archive = Vec::new();
    for (path, (mode, bytes)) in files {
        let mut header = [0_u8; BLOCK];
        let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
        put(0, path.as_bytes());
        put(100, format!("{mode:07o}").as_bytes());
        put(108, b"0000000");
        put(116, b"0000000");
        put(124, format!("{:011o}", bytes.len()).as_bytes());
        put(136, b"00000000000");
        put(148, b"        ");
        put(156, b"0");
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend_from_slice(&header);
        archive.extend_from_slice(bytes);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    archive
}
