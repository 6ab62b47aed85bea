//! The network configuration of machines, checked with its readers: Netplan, cloud-init's renderers, NetworkManager,
//! and Netplan's own translation for systemd-networkd.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use support::{Files, documents, firelay, read_document, succeed};

/// One machine with all settings, once for each syntax.
const SPEC: &str = r#"
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: rack
kubernetes: { version: 1.36.4 }
network: { pods: [10.244.0.0/16, "fd00:10:244::/56"], services: [10.96.0.0/12, "fd00:10:96::/112"] }
endpoint: { host: api.rack.example.com }
os: ubuntu-24.04
platform: metal
interfaces:
  - { name: lan0, mac: "52-54-00-12-34-5A", dhcp4: true, dhcp6: true }
  - name: bond0
    bond: { devices: [eno1, eno2], mode: 802.3ad, lacpRate: fast, hashPolicy: layer3+4 }
    mtu: 9000
    subnets: [10.5.0.0/16, "fd00:5::/64"]
    gateways: [10.5.0.1, "fe80::1"]
    dns: { servers: [10.5.0.2, "fd00:5::2"], search: [rack.example.com, example.com] }
  - { name: bond1, bond: { devices: [eno3, eno4], mode: active-backup, primary: eno4, miiMonitorMs: 250 } }
  - name: storage
    vlan: { id: 20, link: bond0 }
    mtu: 8900
    addresses: [10.9.0.11/24]
    routes: [{ to: 10.10.0.0/16, via: 10.9.0.1, metric: 50 }, { to: "fd00:9::/48", via: "fe80::9" }]
  - { name: guests, vlan: { id: 30, link: bond1 }, dhcp4: true }
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.5.0.11, "fd00:5::11"], os: OS }
"#;

/// The machine's document and the files beside it.
fn rendered(os: &str, out: &Path) -> Files {
    let spec = out.join("cluster.yaml");
    fs::write(&spec, SPEC.replace("OS", os)).unwrap();
    let mut command = firelay(&["render", "--new-secrets"]);
    command.arg(&spec).arg("--out").arg(out.join("out"));
    succeed(&mut command, "firelay");
    let document = &documents(&out.join("out"))[0].1;
    if document.ends_with("config.ign") {
        let mut validate = Command::new("ignition-validate");
        assert_eq!(succeed(validate.arg(document), "ignition"), "");
    }
    read_document(document)
}

/// `network-config` of cloud-init's machine, as a Netplan file and as a cloud-init file.
fn network_config(out: &Path) -> String {
    rendered("ubuntu-24.04", out);
    fs::read_to_string(out.join("out/nodes/cp1/network-config")).unwrap()
}

/// Writes cloud-init's configuration to Netplan's directory, as cloud-init does, and runs Netplan.
fn netplan(config: &str, root: &Path) {
    let folder = root.join("etc/netplan");
    fs::create_dir_all(&folder).unwrap();
    let indented: String = config.lines().map(|line| format!("  {line}\n")).collect();
    fs::write(folder.join("50-cloud-init.yaml"), format!("network:\n{indented}")).unwrap();
    fs::set_permissions(folder.join("50-cloud-init.yaml"), PermissionsExt::from_mode(0o600)).unwrap();
    let mut generate = Command::new("netplan");
    let said = succeed(generate.args(["generate", "--root-dir"]).arg(root), "netplan.io");
    assert_eq!(said, "");
}

/// `KIND NAME [SECTION] KEY=VALUE` for every line of systemd-networkd's configuration, with sections of a kind
/// numbered.
fn settings(files: impl Iterator<Item = (String, String)>) -> BTreeSet<String> {
    let mut settings = BTreeSet::new();
    for (path, text) in files {
        let name = path.rsplit('/').next().unwrap();
        let name = name.trim_start_matches("10-netplan-").trim_start_matches("10-firelay-");
        let mut section = String::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            if line.starts_with('[') {
                let count = seen.entry(line.to_owned()).or_default();
                *count += 1;
                section = format!("{line}{count}");
            } else {
                settings.insert(format!("{name} {section} {line}"));
            }
        }
    }
    settings
}

/// Settings that only Netplan writes: its own defaults, repeated settings, and unmanaged interfaces.
fn is_of_netplan(setting: &str) -> bool {
    let ends = [
        "LinkLocalAddressing=ipv6",
        "ConfigureWithoutCarrier=yes",
        "WakeOnLan=off",
        "[DHCP]1 RouteMetric=100",
        "[DHCP]1 UseMTU=true",
        "[Match]1 Name=lan0",
    ];
    ends.iter().any(|end| setting.ends_with(end)) || setting.contains("[NetDev]1 MTUBytes=")
}

#[test]
fn networkd_is_told_what_netplan_would_tell_it() {
    let directory = tempfile::tempdir().unwrap();
    let (config, root) = (network_config(directory.path()), directory.path().join("root"));
    netplan(&config, &root);
    let theirs = support::tree(&root.join("run/systemd/network"));
    let theirs = theirs.into_iter().filter_map(|(path, entry)| {
        let text = String::from_utf8(entry.content?).unwrap();
        // Netplan repeats name servers and domains for each network of an interface.
        let once = |line: &str| match line.split_once('=') {
            Some((key @ "Domains", words)) => {
                let mut words: Vec<_> = words.split(' ').collect();
                words.dedup();
                words.truncate(words.len().min(2));
                format!("{key}={}\n", words.join(" "))
            }
            _ => format!("{line}\n"),
        };
        Some((path, text.lines().map(once).collect::<String>()))
    });
    let theirs: BTreeSet<_> = settings(theirs)
        .into_iter()
        .filter(|line| !is_of_netplan(line))
        .collect();
    let other = tempfile::tempdir().unwrap();
    let ours = rendered("flatcar", other.path());
    let ours = ours.into_iter().filter(|(path, _)| path.contains("/10-firelay-"));
    let ours = settings(ours.map(|(path, (_, text))| (path, text)));
    // Nothing waits for an interface without an address.
    let waits = |line: &&String| !line.ends_with("RequiredForOnline=no");
    let ours: BTreeSet<_> = ours.iter().filter(waits).cloned().collect();
    let missing: Vec<_> = theirs.difference(&ours).collect();
    let further: Vec<_> = ours.difference(&theirs).collect();
    assert!(ours.len() > 40, "{ours:#?}");
    assert!(
        missing.is_empty() && further == ["bond1.network [Network]1 LinkLocalAddressing=no"],
        "missing: {missing:#?}\nfurther: {further:#?}"
    );
}

#[test]
fn cloud_init_renders_it_for_every_network_daemon() {
    let directory = tempfile::tempdir().unwrap();
    network_config(directory.path());
    let path = directory.path().join("out/nodes/cp1/network-config");
    for (distribution, kind, place, wanted) in [
        ("ubuntu", "netplan", "etc/netplan/50-cloud-init.yaml", "set-name: lan0"),
        (
            "debian",
            "networkd",
            "etc/systemd/network/10-cloud-init-storage.network",
            "Address=10.9.0.11/24",
        ),
        (
            "rocky",
            "network-manager",
            "etc/NetworkManager/system-connections/cloud-init-bond0.nmconnection",
            "address1=10.5.0.11/16",
        ),
        (
            "opensuse",
            "sysconfig",
            "etc/sysconfig/network/ifcfg-bond0",
            "10.5.0.11",
        ),
    ] {
        let out = directory.path().join(kind);
        let mut convert = Command::new("cloud-init");
        convert.args([
            "devel",
            "net-convert",
            "--kind",
            "yaml",
            "--mac",
            "lan0,52:54:00:12:34:5a",
        ]);
        convert
            .args(["--distro", distribution, "--output-kind", kind, "--network-data"])
            .arg(&path);
        succeed(convert.arg("--directory").arg(&out), "cloud-init");
        let text = fs::read_to_string(out.join(place)).unwrap_or_else(|error| panic!("{kind} {place}: {error}"));
        assert!(text.contains(wanted), "{kind}: {text}");
    }
}

/// Lines of a keyfile as `[section] key=value`.
fn lines_of_keyfile(text: &str) -> BTreeSet<String> {
    let mut section = "";
    let mut lines = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('[') {
            section = line;
        } else {
            lines.insert(format!("{section} {line}"));
        }
    }
    lines
}

#[test]
fn network_manager_reads_every_line_of_its_connections() {
    let directory = tempfile::tempdir().unwrap();
    let files = rendered("fedora-coreos", directory.path());
    let mut read = 0;
    for (path, (mode, text)) in files.iter().filter(|(path, _)| path.ends_with(".nmconnection")) {
        assert_eq!(*mode, 0o600, "{path}");
        let file = directory.path().join("connection");
        fs::write(&file, text).unwrap();
        let mut nmcli = Command::new("nmcli");
        nmcli.args(["--offline", "connection", "modify", "connection.autoconnect", "yes"]);
        let said = succeed(
            nmcli.stdin(Stdio::from(fs::File::open(&file).unwrap())),
            "network-manager",
        );
        // It prints MAC addresses in capitals.
        let (ours, theirs) = (
            lines_of_keyfile(text),
            lines_of_keyfile(&said.replace("34:5A", "34:5a")),
        );
        let lost: Vec<_> = ours.difference(&theirs).collect();
        assert!(lost.is_empty(), "{path}: {lost:?}\n{said}");
        read += 1;
    }
    assert_eq!(read, 9);
    let link = &files["/etc/systemd/network/10-firelay-lan0.link"].1;
    assert!(
        link.contains("PermanentMACAddress=52:54:00:12:34:5a\n") && link.contains("Name=lan0\n"),
        "{link}"
    );
}
