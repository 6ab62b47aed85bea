//! Settings of the machine.

use super::artifacts::sha256;
use super::support::machine::{Machine, failed, serve, succeeded};
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;

/// A machine whose only disk is a file; the file is never reported as mounted twice. `systemctl` knows the units of
/// /units.
fn with_disk(filesystem: &str) -> Machine {
    let machine = Machine::set_up("cp1");
    let root = machine.root().display().to_string();
    let disk = format!(
        "{root}/disk {filesystem} data {}\n",
        machine.at("/var/lib/etcd-disk").display()
    );
    machine.write("/etc/firelay/disks", 0o644, &disk);
    machine.write("/etc/fstab", 0o644, "LABEL=root / ext4 defaults 0 1");
    fs::File::create(machine.at("/disk")).unwrap().set_len(8 << 20).unwrap();
    let path = "/usr/local/lib/firelay/steps/15-disks";
    machine.write(path, 0o755, &machine.read(path).replace("[ -b ", "[ -f "));
    systemctl(&machine);
    machine.program(
        "mount",
        &format!("#!/bin/bash\necho \"$*\" >>{root}/mounts\n: >{root}/mounted\n"),
    );
    let mountpoint = format!(
        "#!/bin/bash\ncase $1 in\n--quiet) [ -e {root}/mounted ] ;;\n-d) cat {root}/there ;;\n-x) echo 8:16 ;;\nesac\n"
    );
    machine.program("mountpoint", &mountpoint);
    machine.write("/there", 0o644, "8:16\n");
    machine
}

fn systemctl(machine: &Machine) {
    let root = machine.root().display();
    let script = format!(
        "#!/bin/bash\necho \"$*\" >>{root}/systemctl\n\
         case $1 in cat) [ -e {root}/units/$2 ] ;; --quiet) [ -e {root}/active/$3 ] ;; esac\n"
    );
    machine.program("systemctl", &script);
}

fn signatures(machine: &Machine, columns: &str) -> String {
    let mut wipefs = Command::new("wipefs");
    wipefs
        .args(["--noheadings", "--output", columns])
        .arg(machine.at("/disk"));
    let output = super::support::output(&mut wipefs, "util-linux");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn an_empty_disk_is_formatted_once_and_mounted_at_every_boot() {
    let machine = with_disk("ext4");
    succeeded(&machine.step("15-disks"));
    assert_eq!(signatures(&machine, "TYPE,LABEL"), "ext4 data");
    let directory = machine.at("/var/lib/etcd-disk").display().to_string();
    assert_eq!(machine.read("/mounts"), format!("{directory}\n"));
    let fstab = machine.read("/etc/fstab");
    let lines: Vec<_> = fstab.lines().collect();
    assert_eq!(lines.len(), 2, "{fstab}");
    assert_eq!(lines[0], "LABEL=root / ext4 defaults 0 1");
    assert!(lines[1].starts_with(&format!(
        "LABEL=data {directory} ext4 x-systemd.wanted-by=local-fs.target,"
    )));
    assert!(!machine.exists("/var/lib/firelay/mkfs-data"));

    let first = signatures(&machine, "UUID");
    succeeded(&machine.step("15-disks"));
    assert_eq!(signatures(&machine, "UUID"), first, "what is there stays");
    assert_eq!(
        (machine.read("/etc/fstab"), machine.read("/mounts").lines().count()),
        (fstab, 1)
    );
}

/// The line, parsed by systemd.
#[test]
fn who_writes_on_a_disk_does_not_start_without_it() {
    let machine = with_disk("ext4");
    succeeded(&machine.step("15-disks"));
    let units = machine.fstab_units();
    let name = r"var-lib-etcd\x2ddisk.mount";
    let unit = fs::read_to_string(units.path().join(name)).unwrap();
    for line in ["What=/dev/disk/by-label/data", "Where=/var/lib/etcd-disk", "Type=ext4"] {
        assert!(unit.lines().any(|found| found == line), "{unit}");
    }
    assert!(unit.contains("systemd-fsck@dev-disk-by"), "{unit}");
    let before: Vec<_> = unit.lines().filter_map(|line| line.strip_prefix("Before=")).collect();
    assert!(
        units
            .path()
            .join("local-fs.target.wants")
            .join(name)
            .symlink_metadata()
            .is_ok()
    );
    let required = units.path().join("local-fs.target.requires").join(name);
    assert!(required.symlink_metadata().is_err(), "a lost disk is no emergency");
    for user in ["containerd.service", "etcd.service", "kubelet.service"] {
        assert!(
            units
                .path()
                .join(format!("{user}.requires"))
                .join(name)
                .symlink_metadata()
                .is_ok(),
            "{user}"
        );
        assert!(
            before.iter().any(|units| units.split(' ').any(|unit| unit == user)),
            "{unit}"
        );
    }
}

#[test]
fn nothing_is_formatted_over_what_is_there() {
    let make = |machine: &Machine, program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        succeeded(&super::support::output(
            command.args(arguments).arg(machine.at("/disk")),
            program,
        ));
    };
    for (kind, program, arguments) in [
        ("ext4 other", "mkfs.ext4", &["-q", "-L", "other"][..]),
        ("ext4", "mkfs.ext4", &["-q"]),
        ("ext2 data", "mkfs.ext2", &["-q", "-L", "data"]),
        ("swap data", "mkswap", &["--quiet", "--label", "data"]),
    ] {
        let machine = with_disk("ext4");
        make(&machine, program, arguments);
        let before = fs::read(machine.at("/disk")).unwrap();
        let said = failed(&machine.step("15-disks"));
        let disk = machine.at("/disk").display().to_string();
        let error = machine.status()["lastError"].as_str().unwrap().trim_end().to_owned();
        assert!(error.starts_with(&format!("{disk} is not empty ({kind}")), "{said}");
        assert!(error.ends_with(&format!("wipefs --all {disk}")), "{said}");
        assert!(before == fs::read(machine.at("/disk")).unwrap(), "{kind}");
        assert!(!machine.exists("/mounts"));
    }
}

#[test]
fn a_file_system_that_a_power_cut_left_half_made_is_made_again() {
    for filesystem in ["ext4", "xfs"] {
        let machine = with_disk(filesystem);
        let real = "#!/bin/bash\nexec mkfs.ext4 \"$@\"\n";
        machine.program("mkfs.xfs", real);
        let cut = "#!/bin/bash\n/usr/sbin/mkfs.ext4 \"$@\"\nexit 1\n";
        machine.program(&format!("mkfs.{filesystem}"), cut);
        assert!(!machine.step("15-disks").status.success());
        assert!(machine.exists("/var/lib/firelay/mkfs-data"));
        let first = signatures(&machine, "UUID");
        fs::remove_file(machine.at(&format!("/usr/local/bin/mkfs.{filesystem}"))).unwrap();
        if filesystem == "ext4" {
            succeeded(&machine.step("15-disks"));
            assert_ne!(signatures(&machine, "UUID"), first);
            assert!(!machine.exists("/var/lib/firelay/mkfs-data"));
        } else {
            // A file system of another type than requested is not firelay's, with or without the mark.
            machine.program("mkfs.xfs", real);
            failed(&machine.step("15-disks"));
            assert_eq!(signatures(&machine, "UUID"), first);
        }
    }
}

#[test]
fn a_disk_is_waited_for_and_must_be_the_one_that_is_mounted() {
    let machine = with_disk("ext4");
    machine.write("/there", 0o644, "8:1\n");
    failed(&machine.step("15-disks"));
    let error = machine.status()["lastError"].as_str().unwrap().to_owned();
    assert!(error.starts_with("something other than"), "{error}");

    fs::remove_file(machine.at("/disk")).unwrap();
    machine.set("WAIT", "35");
    let said = failed(&machine.step("15-disks"));
    assert_eq!(
        said.matches("error=\"there is no such block device\"").count(),
        2,
        "{said}"
    );
}

#[test]
fn a_disk_says_what_it_hides() {
    let machine = with_disk("ext4");
    machine.write("/var/lib/etcd-disk/image", 0o644, "");
    let said = succeeded(&machine.step("15-disks"));
    assert!(said.contains("state=running on=\"the disk hides what is in "), "{said}");
}

#[test]
fn each_command_of_the_user_runs_once_and_fails_in_its_own_words() {
    let machine = Machine::set_up("cp1");
    let root = machine.root().display().to_string();
    let command = |number: u8, text: &str| machine.write(&format!("/etc/firelay/commands/first-{number}"), 0o600, text);
    command(1, &format!("echo one >>{root}/ran\necho \"$http_proxy $HOME $PWD\"\n"));
    command(
        2,
        &format!(
            "[ -e {root}/well ] || {{ echo out; echo 'no token=hunter2x' >&2; exit 7; }}\necho two >>{root}/ran\n"
        ),
    );
    command(3, &format!("cat\nfalse\necho three >>{root}/ran\n"));
    let said = failed(&machine.step("17-first"));
    assert!(said.contains("http://proxy.plant.example.com:3128 /root /\n"), "{said}");
    assert!(
        said.contains("\nout\nno token=hunter2x\n"),
        "what commands say is in the journal: {said}"
    );
    let error = "command 2 of commands.first ended with status 7; what it said is in the journal";
    assert_eq!(machine.status()["lastError"], error);
    for entry in fs::read_dir(machine.at("/var/lib/firelay")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("hunter2x"), "{} is for everybody", path.display());
    }

    machine.write("/well", 0o644, "");
    failed(&machine.step("17-first"));
    let error = "command 3 of commands.first ended with status 1; what it said is in the journal";
    assert_eq!(machine.status()["lastError"], error);
    command(3, &format!("echo three >>{root}/ran\n"));
    succeeded(&machine.step("17-first"));
    succeeded(&machine.step("17-first"));
    assert_eq!(machine.read("/ran"), "one\ntwo\nthree\n");
}

#[test]
fn a_kernel_parameter_is_written_as_it_stands() {
    let machine = Machine::set_up("cp1");
    // The example sets no kernel parameter, so its step lacks this function.
    let template = include_str!("../../../templates/boot/sysctls.sh.j2");
    let start = template.find("sysctls() {").unwrap();
    let end = start + template[start..].find("\n}\n").unwrap() + 3;
    let function = template[start..end].replace("/etc/", &format!("{}/etc/", machine.root().display()));
    let function = function.replace("/proc/", &format!("{}/proc/", machine.root().display()));
    let parameters = "kernel.core_pattern = |/bin/dump --key=%p=\nvm.swappiness = 10\nnet.a.b = 1 2= 3\n";
    machine.write("/etc/sysctl.d/90-firelay.conf", 0o644, parameters);
    for path in ["kernel/core_pattern", "vm/swappiness", "net/a/b"] {
        machine.write(&format!("/proc/sys/{path}"), 0o644, "");
    }
    succeeded(&machine.bash(&format!(
        "set -eu\nfail() {{ echo \"$1\"; exit 1; }}\n{function}sysctls\n"
    )));
    assert_eq!(machine.read("/proc/sys/kernel/core_pattern"), "|/bin/dump --key=%p=\n");
    assert_eq!(machine.read("/proc/sys/vm/swappiness"), "10\n");
    assert_eq!(machine.read("/proc/sys/net/a/b"), "1 2= 3\n");
}

#[test]
fn the_commands_after_joining_are_others() {
    let machine = Machine::set_up("cp1");
    let root = machine.root().display();
    for name in ["after-1", "first-1"] {
        machine.write(
            &format!("/etc/firelay/commands/{name}"),
            0o600,
            &format!("echo {name} >>{root}/ran\n"),
        );
    }
    succeeded(&machine.step("80-after"));
    assert_eq!(machine.read("/ran"), "after-1\n");
}

#[test]
fn what_is_fetched_goes_through_the_proxy_and_the_cluster_is_reached_directly() {
    let machine = Machine::set_up("cp1");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let proxy = serve(Box::new(move |_, path, _| {
        log.lock().unwrap().push(path.to_owned());
        (200, b"x".to_vec())
    }));
    let direct = serve(Box::new(|_, _, _| (200, b"x".to_vec())));
    let environment = machine.read("/etc/firelay/proxy.env");
    assert!(environment.contains("no_proxy=localhost,127.0.0.1,"), "{environment}");
    let environment = environment.replace("proxy.plant.example.com:3128", &proxy);
    machine.write("/etc/firelay/proxy.env", 0o600, &environment);
    let sum = sha256(b"x");
    let bin = machine.at("/usr/local/bin").display().to_string();
    let list = format!("one {sum} binary http://files.example.com/one {bin} one\n");
    machine.write("/etc/firelay/artifacts", 0o644, &list);
    succeeded(&machine.step("20-artifacts"));
    assert_eq!(*asked.lock().unwrap(), ["http://files.example.com/one"]);

    let other = machine.run(&format!(
        "set -a; . {}; set +a; unset no_proxy; api http://{direct}/readyz",
        machine.at("/etc/firelay/proxy.env").display()
    ));
    assert_eq!(succeeded(&other), "x");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[test]
fn the_time_service_of_the_image_gets_the_servers_of_the_spec() {
    for (unit, chrony, config) in [
        ("chrony", true, "/etc/chrony/chrony.conf"),
        ("chronyd", false, "/etc/chrony.conf"),
        ("systemd-timesyncd", false, "none"),
    ] {
        let machine = Machine::set_up("cp1");
        systemctl(&machine);
        machine.write(&format!("/units/{unit}"), 0o644, "");
        if chrony {
            fs::create_dir_all(machine.at("/etc/chrony")).unwrap();
        }
        if config != "none" {
            machine.write(config, 0o644, "pool of the image\n");
        }
        // The step runs anew at each boot until the machine is ready.
        succeeded(&machine.run_with("10-prepare", "time_servers"));
        succeeded(&machine.run_with("10-prepare", "time_servers"));
        let calls = machine.read("/systemctl");
        assert!(calls.ends_with(&format!("enable {unit}\nrestart {unit}\n")), "{calls}");
        for path in ["/etc/chrony/chrony.conf", "/etc/chrony.conf"] {
            assert_eq!(machine.exists(path), path == config, "{unit} {path}");
        }
        if config != "none" {
            assert_eq!(machine.read(config), machine.read("/etc/firelay/chrony.conf"));
            assert_eq!(machine.read(&format!("{config}.image")), "pool of the image\n");
        }
    }
    let machine = Machine::set_up("cp1");
    systemctl(&machine);
    let said = failed(&machine.run_with("10-prepare", "time_servers"));
    assert!(
        said.contains("neither chronyd nor systemd-timesyncd is on this machine"),
        "{said}"
    );
}

#[test]
fn the_resolver_that_runs_gets_the_name_servers_of_the_spec() {
    for (active, manager, call) in [
        (
            &["systemd-resolved", "NetworkManager"][..],
            true,
            "restart systemd-resolved",
        ),
        (&["NetworkManager"], true, "reload NetworkManager"),
    ] {
        let machine = Machine::set_up("cp1");
        systemctl(&machine);
        for unit in active {
            machine.write(&format!("/active/{unit}"), 0o644, "");
        }
        if manager {
            machine.write("/etc/NetworkManager/conf.d/90-firelay-dns.conf", 0o644, "");
        }
        succeeded(&machine.run_with("10-prepare", "name_servers"));
        assert!(machine.read("/systemctl").ends_with(&format!("{call}\n")));
    }
    let machine = Machine::set_up("cp1");
    systemctl(&machine);
    machine.write("/active/NetworkManager", 0o644, "");
    let said = failed(&machine.run_with("10-prepare", "name_servers"));
    assert!(said.contains("its name servers cannot be set"), "{said}");
}
