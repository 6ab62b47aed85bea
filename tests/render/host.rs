//! Settings of the machines: the steps and lists of the boot chain that apply them, run for real.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support;

use std::{fs, os::unix::fs::MetadataExt, process::Command};

use support::{
    machine::{Machine, failed, mode, succeeded},
    output,
    plan::resolve,
};

/// A machine of `examples/bare-metal.yaml`.
fn machine() -> Machine {
    Machine::set_up("cp1")
}

#[test]
fn lines_of_the_spec_give_way_to_where_the_endpoint_leads() {
    let machine = machine();
    machine.write(
        "/etc/firelay/hosts",
        0o644,
        "10.5.0.9 registry.lan registry\n10.5.0.10 api.lan\n",
    );
    let lay = format!(
        "while read -r address names; do hosts \"$address\" \"$address\" \"$names\"; done <{}",
        machine.at("/etc/firelay/hosts").display()
    );
    for _ in 0..2 {
        succeeded(&machine.run(&format!("{lay}\nhosts endpoint 10.5.0.11 api.lan")));
    }
    let lines = machine.read("/etc/hosts");
    let expected = "10.5.0.11 api.lan # firelay-endpoint\n10.5.0.10 api.lan # firelay-10.5.0.10\n\
                    10.5.0.9 registry.lan registry # firelay-10.5.0.9\n127.0.0.1 localhost\n";
    assert_eq!(lines, expected);
    succeeded(&machine.run("hosts endpoint"));
    assert!(!machine.read("/etc/hosts").contains("10.5.0.11"));
}

#[test]
fn kernel_parameters_are_set_one_by_one() {
    let machine = machine();
    let file = |path: &str| machine.write(path, 0o644, "0\n");
    file("/proc/sys/net/core/somaxconn");
    file("/proc/sys/net/ipv4/conf/eth0.100/rp_filter");
    let settings = "net.core.somaxconn = 32768\nnet.ipv4.conf.eth0/100.rp_filter = 2\n";
    machine.write("/etc/sysctl.d/90-firelay.conf", 0o644, settings);
    succeeded(&machine.run_with("10-prepare", "sysctls"));
    assert_eq!(machine.read("/proc/sys/net/core/somaxconn"), "32768\n");
    assert_eq!(machine.read("/proc/sys/net/ipv4/conf/eth0.100/rp_filter"), "2\n");

    machine.write("/etc/sysctl.d/90-firelay.conf", 0o644, "net.core.nothing = 1 2 3\n");
    let said = failed(&machine.run_with("10-prepare", "sysctls"));
    assert!(
        said.contains("this kernel has no parameter net.core.nothing; perhaps"),
        "{said}"
    );
    // A parameter that refuses every value.
    fs::create_dir_all(machine.at("/proc/sys/net/core/nothing")).unwrap();
    let said = failed(&machine.run_with("10-prepare", "sysctls"));
    assert!(
        said.contains("kernel parameter net.core.nothing cannot be set to 1 2 3"),
        "{said}"
    );
}

/// The user who runs the tests, as the owner of a file.
fn user() -> String {
    let name = output(Command::new("id").args(["--user", "--name"]), "coreutils");
    String::from_utf8(name.stdout).unwrap().trim().to_owned()
}

fn list(machine: &Machine, lines: &[(&str, &str)]) {
    let lines: String = lines
        .iter()
        .map(|(what, path)| format!("{what} {}\n", machine.at(path).display()))
        .collect();
    machine.write("/etc/firelay/files/list", 0o644, &lines);
}

#[test]
fn a_file_has_its_bytes_owner_and_mode() {
    let machine = machine();
    let owner = user();
    machine.write("/etc/firelay/files/1", 0o600, "AP8Q4A==");
    machine.write("/etc/firelay/files/2", 0o600, "secret\n");
    let text = format!("2 text 0640 {owner}:");
    list(
        &machine,
        &[
            ("1 base64 0600 root:", "/srv/own/key.der"),
            (&text, "/srv/own/two words"),
        ],
    );
    succeeded(&machine.step("12-files"));
    assert_eq!(fs::read(machine.at("/srv/own/key.der")).unwrap(), [0, 0xff, 0x10, 0xe0]);
    assert_eq!(mode(&machine.at("/srv/own/key.der")), 0o600);
    assert_eq!(machine.read("/srv/own/two words"), "secret\n");
    assert_eq!(mode(&machine.at("/srv/own/two words")), 0o640);
    let own = fs::metadata(machine.root()).unwrap().uid();
    assert_eq!(fs::metadata(machine.at("/srv/own/two words")).unwrap().uid(), own);
}

#[test]
fn a_file_of_nobody_is_laid_for_nobody() {
    let machine = machine();
    machine.write("/etc/firelay/files/1", 0o600, "secret\n");
    list(&machine, &[("1 text 0644 no-such-user:", "/srv/own/a")]);
    let said = failed(&machine.step("12-files"));
    assert!(
        said.contains("/srv/own/a cannot belong to no-such-user: no such user or group"),
        "{said}"
    );
    assert!(!machine.exists("/srv/own/a") && !machine.exists("/srv/own/a.firelay"));
}

#[test]
fn what_is_appended_is_appended_once() {
    let machine = machine();
    // A line in a comment does not count.
    machine.write("/srv/services", 0o640, "http 80/tcp\n#plant 4711/tcp\nplant 4711/udp");
    machine.write("/etc/firelay/files/1", 0o600, "plant 4711/tcp\nplant 4711/udp\n");
    list(
        &machine,
        &[
            ("1 append 0644 root:", "/srv/services"),
            ("1 append 0644 root:", "/srv/new/services"),
        ],
    );
    succeeded(&machine.step("12-files"));
    succeeded(&machine.step("12-files"));
    let own = "plant 4711/tcp\nplant 4711/udp\n";
    assert_eq!(
        machine.read("/srv/services"),
        format!("http 80/tcp\n#plant 4711/tcp\nplant 4711/udp\n{own}")
    );
    assert_eq!(mode(&machine.at("/srv/services")), 0o640, "it stays");
    assert_eq!(machine.read("/srv/new/services"), own);
}

#[test]
fn certificates_are_trusted_by_the_tool_of_the_system() {
    let machine = machine();
    machine.stand_in("update-ca-certificates", "");
    succeeded(&machine.step("06-trust"));
    assert_eq!(machine.calls(), ["update-ca-certificates "]);
    machine.stand_in("update-ca-certificates", "echo 'rehash: error'; exit 3");
    let said = failed(&machine.step("06-trust"));
    assert!(
        said.contains("update-ca-certificates ended with status 3: rehash: error"),
        "{said}"
    );
}

/// A mirror behind a CA of the company, and a system that registers before it has packages: step 10 downloads nothing.
#[test]
fn modules_are_installed_after_certificates_and_first_commands() {
    let machine = with_spec("rocky-10", "commands: { first: [subscription-manager register] }");
    let steps = fs::read_dir(machine.at("/usr/local/lib/firelay/steps")).unwrap();
    let mut steps: Vec<_> = steps
        .map(|step| step.unwrap().file_name().into_string().unwrap())
        .collect();
    steps.sort();
    let at = |name: &str| steps.iter().position(|step| step.ends_with(name)).unwrap();
    assert!(at("-first") < at("-kernel"), "{steps:?}");
    for step in &steps[..at("-kernel")] {
        let script = machine.read(&format!("/usr/local/lib/firelay/steps/{step}"));
        assert!(!script.contains("dnf"), "{step}");
    }
    machine.stand_in("modprobe", "[[ $* != *--dry-run* ]]");
    machine.stand_in("dnf", "");
    machine.stand_in("systemctl", "");
    machine.write("/proc/sys/kernel/osrelease", 0o644, "6.12.0-1.el10.x86_64\n");
    succeeded(&machine.step("18-kernel"));
    let calls = machine.calls();
    let install = "dnf --quiet --assumeyes install kernel-modules-extra-6.12.0-1.el10.x86_64";
    let place = calls.iter().position(|call| call == install);
    let loaded = calls.iter().position(|call| call == "modprobe br_netfilter");
    assert!(place.is_some() && place < loaded, "{calls:?}");
    assert_eq!(calls.last().unwrap(), "systemctl restart systemd-sysctl", "{calls:?}");
}

/// A certificate is trusted before the first download.
#[test]
fn certificates_are_trusted_before_packages_are_fetched() {
    let steps = include_str!("../../templates/boot/steps.yaml");
    let at = |step: &str| steps.find(&format!("file: {step}")).unwrap();
    assert!(
        at("06-trust") < at("10-prepare") && at("17-first") < at("18-kernel") && at("18-kernel") < at("18-packages")
    );
}

fn with_sources(os: &str, source: &str) -> Machine {
    with_spec(os, &format!("packageSources:\n  - {source}"))
}

fn with_spec(os: &str, settings: &str) -> Machine {
    let directory = tempfile::tempdir().unwrap();
    let spec = format!(
        "apiVersion: firelay.dev/v1alpha1\nkind: Cluster\nname: lab\nkubernetes: {{ version: 1.36.4 }}\n\
         endpoint: {{ host: api.lab.example.com }}\nos: {os}\nplatform: openstack\n{settings}\n\
         nodes:\n  - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.11] }}\n"
    );
    fs::write(directory.path().join("cluster.yaml"), spec).unwrap();
    let mut render = support::firelay(&["render", "--new-secrets"]);
    support::succeed(render.current_dir(directory.path()), "firelay");
    Machine::with(&support::read_tree(&directory.path().join("out"))["cp1"], "http://")
}

/// Runs a step with further paths of the machine moved into the directory.
fn sources_step(machine: &Machine, place: &str) -> std::process::Output {
    let script = machine.read("/usr/local/lib/firelay/steps/05-sources");
    let own = machine.at(place).display().to_string();
    machine.write(
        "/usr/local/lib/firelay/steps/05-sources",
        0o755,
        &script.replace(place, &own),
    );
    machine.step("05-sources")
}

const OPENPGP: &str = "\"-----BEGIN PGP PUBLIC KEY BLOCK-----\\nxjME\\n-----END PGP PUBLIC KEY BLOCK-----\"";

#[test]
fn sources_of_packages_take_the_place_of_those_of_the_image() {
    let machine = with_sources(
        "debian-12",
        &format!(
            "{{ name: base, url: 'http://mirror.lan/debian/', suites: [bookworm, bookworm-updates], key: {OPENPGP} }}"
        ),
    );
    assert_eq!(
        machine.read("/etc/apt/sources.list.d/firelay-base.sources"),
        "Types: deb\nURIs: http://mirror.lan/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\
         Signed-By: /etc/apt/keyrings/firelay-base.asc\n"
    );
    assert!(
        machine
            .read("/etc/apt/keyrings/firelay-base.asc")
            .ends_with("xjME\n-----END PGP PUBLIC KEY BLOCK-----\n")
    );
    for name in [
        "sources.list",
        "sources.list.d/debian.sources",
        "sources.list.d/two words.list",
    ] {
        machine.write(&format!("/etc/apt/{name}"), 0o644, name);
    }
    for _ in 0..2 {
        succeeded(&sources_step(&machine, "/etc/apt"));
    }
    let mut names: Vec<_> = fs::read_dir(machine.at("/etc/apt/sources.list.d"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "debian.sources.disabled",
            "firelay-base.sources",
            "two words.list.disabled"
        ]
    );
    assert!(machine.exists("/etc/apt/sources.list.disabled") && !machine.exists("/etc/apt/sources.list"));
}

#[test]
fn apt_reads_the_source_of_a_directory_without_releases() {
    for (suites, place) in [("[./]", "./"), ("[trixie/], components: []", "trixie/")] {
        let source = format!("{{ name: own, url: 'http://mirror.lan/debian', suites: {suites} }}");
        let machine = with_sources("debian-13", &source);
        let path = "/etc/apt/sources.list.d/firelay-own.sources";
        let text = machine.read(path);
        let head = format!("Types: deb\nURIs: http://mirror.lan/debian\nSuites: {place}\nSigned-By: ");
        assert!(text.starts_with(&head), "{text}");
        let mut apt = Command::new("apt-get");
        apt.args(["update", "--print-uris"]);
        apt.arg(format!("--option=Dir::Etc::SourceList={}", machine.at(path).display()));
        let uris = support::succeed(apt.arg("--option=Dir::Etc::SourceParts=/dev/null"), "apt");
        let release = format!("'http://mirror.lan/debian/{place}InRelease' ");
        assert!(uris.starts_with(&release), "{uris}");
    }
}

#[test]
fn dnf_and_zypper_are_told_of_a_repository_and_its_key() {
    let machine = with_sources("rocky-9", "{ name: base, url: 'http://mirror.lan/rocky' }");
    let head = "[firelay-base]\nname=firelay-base\nbaseurl=http://mirror.lan/rocky\nenabled=1\ngpgcheck=1\n";
    assert_eq!(
        machine.read("/etc/yum.repos.d/firelay-base.repo"),
        format!("{head}gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-Rocky-9\n")
    );
    let source = format!("{{ name: base, url: 'http://mirror.lan/rocky', key: {OPENPGP} }}");
    for (os, directory) in [
        ("rocky-9", "/etc/yum.repos.d"),
        ("opensuse-leap-15.6", "/etc/zypp/repos.d"),
    ] {
        let machine = with_sources(os, &source);
        let text = machine.read(&format!("{directory}/firelay-base.repo"));
        assert_eq!(text, format!("{head}gpgkey=file:///etc/pki/rpm-gpg/firelay-base.asc\n"));
        machine.stand_in("rpm", "");
        succeeded(&sources_step(&machine, directory));
        assert_eq!(machine.calls(), ["rpm --import /etc/pki/rpm-gpg/firelay-base.asc"]);
        assert!(machine.exists(&format!("{directory}/firelay-base.repo")));
    }
}

#[test]
fn packages_are_tried_until_the_mirror_answers() {
    let machine = machine();
    let root = machine.root().display().to_string();
    let busy = format!(
        "echo \"$http_proxy $DEBIAN_FRONTEND\" >>{root}/environment\n[ -e {root}/busy ] || {{ : >{root}/busy; echo 'E: Could not get lock'; exit 100; }}"
    );
    machine.stand_in("apt-get", &busy);
    // After a power cut dpkg may lack a package that only apt-get can fetch.
    machine.stand_in("dpkg", "echo 'dependency problems' >&2; exit 1");
    let said = succeeded(&machine.step("18-packages"));
    assert!(
        said.contains("on=\"packages\" error=\"E: Could not get lock\""),
        "{said}"
    );
    let expected = [
        "dpkg --configure -a",
        "apt-get -qq update",
        "dpkg --configure -a",
        "apt-get -qq update",
        "apt-get -qq -o DPkg::Lock::Timeout=300 -f install",
        "apt-get -qq -o DPkg::Lock::Timeout=300 install nfs-common",
    ];
    assert_eq!(machine.calls(), expected);
    let environment = machine.read("/environment");
    assert!(
        environment.ends_with("http://proxy.plant.example.com:3128 noninteractive\n"),
        "{environment}"
    );
}

/// A machine whose mount(8) records its arguments and fails as long as /down exists.
fn with_mounts(lines: &str) -> Machine {
    let machine = machine();
    let root = machine.root().display().to_string();
    machine.write("/etc/firelay/mounts", 0o644, &lines.replace("ROOT", &root));
    machine.stand_in("systemctl", "[ \"$2\" != is-active ]");
    machine.stand_in("mount", &format!("[ ! -e {root}/down ] || {{ rm {root}/down; echo 'mount.nfs: timed out'; exit 32; }}\n: >\"{root}/mounted-${{1//\\//-}}\""));
    machine.program(
        "mountpoint",
        &format!("#!/bin/bash\n[ -e \"{root}/mounted-${{2//\\//-}}\" ]\n"),
    );
    machine
}

#[test]
fn a_mount_is_a_line_of_fstab_and_waits_for_its_server() {
    let machine = with_mounts("nas:/data ROOT/srv/data nfs ro,nfsvers=4.2\nROOT/data/pods ROOT/srv/pods none bind\n");
    machine.write("/down", 0o644, "");
    let said = succeeded(&machine.step("19-mounts"));
    assert!(said.contains("error=\"mount.nfs: timed out\""), "{said}");
    assert!(machine.exists("/data/pods"), "what is bound is made");
    let fstab = machine.read("/etc/fstab");
    let lines: Vec<_> = fstab.lines().filter(|line| !line.is_empty()).collect();
    let data = machine.at("/srv/data").display().to_string();
    assert!(
        lines[0].starts_with(&format!("nas:/data {data} nfs ro,nfsvers=4.2,x-systemd.wanted-by=")),
        "{fstab}"
    );
    assert!(lines[0].ends_with("x-systemd.before=kubelet.service 0 0"), "{fstab}");
    assert!(lines[1].contains(" none bind,x-systemd.wanted-by="), "{fstab}");
    let mounts = || machine.calls().iter().filter(|call| call.starts_with("mount ")).count();
    assert_eq!(mounts(), 3);
    succeeded(&machine.step("19-mounts"));
    assert_eq!(
        (mounts(), machine.read("/etc/fstab")),
        (3, fstab),
        "nothing is done twice"
    );
}

/// The lines, parsed by systemd.
#[test]
fn who_uses_a_mount_does_not_start_without_it() {
    let machine = with_mounts("nas:/data ROOT/srv/data nfs ro\nROOT/data/pods ROOT/srv/pods none bind\n");
    succeeded(&machine.step("19-mounts"));
    let units = machine.fstab_units();
    for name in ["srv-data.mount", "srv-pods.mount"] {
        let unit = fs::read_to_string(units.path().join(name)).unwrap();
        assert!(unit.contains("kubelet.service"), "{unit}");
        let kubelet = units.path().join("kubelet.service.requires").join(name);
        assert!(kubelet.symlink_metadata().is_ok(), "{name}");
        for target in ["local-fs.target", "remote-fs.target"] {
            let required = units.path().join(format!("{target}.requires")).join(name);
            assert!(required.symlink_metadata().is_err(), "a lost server is no emergency");
        }
    }
}

const HEAD: &str = "apiVersion: firelay.dev/v1alpha1\nkind: Cluster\nname: c\nkubernetes: { version: 1.36.4 }\n\
    endpoint: { host: api.example.com }\nplatform: metal\n";

/// `swap` configures both the boot chain and the kubelet.
#[test]
fn swap_is_told_to_the_kubelet_unless_the_spec_says_how() {
    let text = "os: flatcar\nswap: true\nnodes:\n  - { name: cp1, roles: [control-plane], addresses: [10.0.0.1] }\n\
        \x20 - { name: w1, roles: [worker], addresses: [10.0.0.2], swap: false }\n  \
        - { name: w2, roles: [worker], addresses: [10.0.0.3], kubelet: { config: { memorySwap: { swapBehavior: NoSwap } } } }\n";
    let plan = resolve(&format!("{HEAD}{text}"));
    let fields = |name| serde_json::to_string(&support::plan::node(&plan, name).kubelet_config).unwrap();
    assert_eq!(
        fields("cp1"),
        r#"{"failSwapOn":false,"memorySwap":{"swapBehavior":"LimitedSwap"}}"#
    );
    assert_eq!(fields("w1"), "{}");
    assert_eq!(
        fields("w2"),
        r#"{"failSwapOn":false,"memorySwap":{"swapBehavior":"NoSwap"}}"#
    );
    assert!(support::plan::node(&plan, "cp1").host.swap && !support::plan::node(&plan, "w1").host.swap);
}

#[test]
fn certificates_in_one_entry_are_laid_one_by_one() {
    let certificate = include_str!("../../examples/bare-metal.yaml");
    let start = certificate.find("-----BEGIN").unwrap();
    let end = certificate.find("-----END CERTIFICATE-----").unwrap() + 25;
    let block: String = certificate[start..end]
        .lines()
        .map(|line| format!("    {}\n", line.trim()))
        .collect();
    let text = format!(
        "os: debian-12\ntrustedCas:\n  - |\n    # the root\n{block}    # and once more\n{block}nodes:\n  - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.1] }}\n"
    );
    let plan = resolve(&format!("{HEAD}{text}"));
    let trusted = &support::plan::node(&plan, "cp1").host.trusted_cas;
    assert_eq!(trusted.len(), 1, "each once, without the comments");
    assert!(trusted[0].starts_with("-----BEGIN") && trusted[0].ends_with("CERTIFICATE-----\n"));
}
