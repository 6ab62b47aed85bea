//! Reports of a node.

use super::support::machine::{Machine, failed, mode, succeeded};
use std::process::Command;

#[test]
fn a_report_is_json_and_one_line_whatever_the_error_holds() {
    let nasty = "a \"quoted\" \\back\\slash\\ 'single' $HOME `id` %s %d\n\tline two\u{1}\u{1b}[31m\r ünï \\n";
    let machine = Machine::new("cp1");
    let mut bash = Command::new("bash");
    let lib = machine.at("/usr/local/lib/firelay/lib.sh");
    let script = format!(
        "export STEP=join ATTEMPT=3; . {}; report waiting \"$NASTY\" 61 \"$NASTY\"",
        lib.display()
    );
    let output = super::support::output(bash.args(["-c", &script]).env("NASTY", nasty), "bash");
    let line = succeeded(&output);
    let status = machine.status();
    let plain: String = nasty
        .chars()
        .map(|c| if c.is_ascii_control() { ' ' } else { c })
        .collect();
    assert_eq!(status["lastError"], plain.as_str());
    assert_eq!(status["waitingFor"], plain.as_str());
    let rest = ["node", "role", "step", "state"].map(|key| status[key].as_str().unwrap());
    assert_eq!(rest, ["cp1", "control-plane", "join", "waiting"]);
    assert_eq!(status["attempt"], 3);
    assert!(
        line.starts_with("firelay: node=cp1 step=join state=waiting on=\"a \\\"quoted"),
        "{line}"
    );
    assert!(line.contains("\" since=61s error=\"a \\\"quoted"), "{line}");
    assert_eq!(line.matches('\n').count(), 1, "{line}");
}

#[test]
fn a_failing_command_is_reported_with_its_line() {
    let machine = Machine::new("cp1");
    let line = failed(&machine.run("true\ngrep -q x /does/not/exist\necho not reached"));
    assert!(
        line.contains("state=failed error=\"script line 4: grep -q x /does/not/exist\""),
        "{line}"
    );
    assert!(!line.contains("not reached"));
    assert_eq!(machine.status()["state"], "failed");
}

#[test]
fn a_long_command_speaks_and_nobody_waits_for_its_clock() {
    let machine = Machine::new("cp1");
    machine.speak_often();
    // A clock process left over would keep the pipe of the command substitution open.
    let said = succeeded(&machine.run(
        r#"long() { /bin/sleep 1.5; echo done; }
           progress() { echo " (half of it)"; }
           said=$(aloud "the moon" long 2>&1)
           [ "$(/bin/ps -o pid= --ppid $$ | wc -l)" -le 2 ] && echo "$said""#,
    ));
    assert_eq!(
        said,
        "firelay: node=cp1 step=test state=waiting on=\"the moon (half of it)\"\ndone\n"
    );
}

/// The clock is killed as soon as the command ends, perhaps during a write to a pipe without a reader.
#[test]
fn a_clock_that_is_killed_is_no_failure_of_the_step() {
    let machine = Machine::new("cp1");
    let said = succeeded(&machine.run("up() { false; }; aloud 'the moon' /bin/sleep 0.3"));
    assert_eq!(said, "");
}

#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    let machine = Machine::new("cp1");
    machine.speak_often();
    let uptime = machine.at("/proc/uptime").display().to_string();
    let said = failed(&machine.run(&format!(
        r#"hang() {{ echo "161.00 0" >{uptime}; /bin/sleep 3333 & echo $! >&3; wait; echo not reached; }}
           wait_for 60 "the moon" hang"#
    )));
    let (pid, rest) = said.split_once('\n').unwrap();
    assert!(ends(pid), "{said}");
    assert!(
        rest.contains("gave up after 60s waiting for the moon: no answer"),
        "{said}"
    );
    assert!(!rest.contains("not reached"), "{said}");
}

/// Whether a killed process is gone within 10 s. A zombie has ended: its parent reaps it later.
fn ends(pid: &str) -> bool {
    let stat = std::path::Path::new("/proc").join(pid).join("stat");
    (0..100).any(|_| {
        let state = std::fs::read_to_string(&stat).unwrap_or_default();
        let ended = state.is_empty() || state.contains(") Z ");
        std::thread::sleep(std::time::Duration::from_millis(if ended { 0 } else { 100 }));
        ended
    })
}

/// Errors of the last attempt do not describe the current one; the status file keeps them until the step ends.
#[test]
fn the_last_error_is_not_said_again_while_the_next_try_runs() {
    let machine = Machine::new("cp1");
    machine.write("/var/lib/firelay/error", 0o644, "no luck");
    let said = succeeded(&machine.run("report running; report waiting 'the moon'; report retrying 'another try'"));
    let lines: Vec<_> = said.lines().map(|line| line.contains("no luck")).collect();
    assert_eq!(lines, [false, false, true], "{said}");
    assert_eq!(machine.status()["lastError"], "no luck");
}

#[test]
fn a_full_disk_does_not_stop_a_report() {
    let machine = Machine::new("cp1");
    for name in ["status.json.new", "error", "failed"] {
        let path = machine.at("/var/lib/firelay").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/dev/full", path).unwrap();
    }
    let said = failed(&machine.run("report running 'the moon'\nfail 'no space left'"));
    let expected = "firelay: node=cp1 step=test state=running on=\"the moon\"\n\
                    firelay: node=cp1 step=test state=failed error=\"no space left\"\n";
    assert_eq!(said, expected);
}

#[test]
fn a_wait_says_what_it_waits_for_and_gives_up_loudly() {
    let machine = Machine::new("cp1");
    let line = failed(&machine.run(
        r#"down() { false; echo first; echo 'the "last" line'; false; }
           wait_for 65 "the moon" down
           echo not reached"#,
    ));
    let lines: Vec<_> = line.lines().collect();
    assert_eq!(lines.len(), 4, "{line}");
    for (line, since) in lines.iter().zip(["", " since=30s", " since=60s"]) {
        let expected =
            format!(r#"firelay: node=cp1 step=test state=waiting on="the moon"{since} error="the \"last\" line""#);
        assert_eq!(*line, expected);
    }
    let last = r#"gave up after 65s waiting for the moon: the "last" line"#;
    assert_eq!(machine.status()["lastError"], last);
    assert_eq!(machine.status()["state"], "failed");
    assert!(machine.exists("/var/lib/firelay/failed"));
}

/// curl prints the reason first, and at the end a link about certificates.
#[test]
fn a_wait_keeps_the_reason_of_curl() {
    let machine = Machine::new("cp1");
    let ask = r"ask() { printf 'curl: (60) SSL certificate problem: unable\nMore details here\n\nvisit the webpage mentioned above.\n'; return 1; }";
    let said = failed(&machine.run(&format!("{ask}\nwait_for 10 'the API' ask")));
    let reason = "gave up after 10s waiting for the API: curl: (60) SSL certificate problem: unable\"";
    assert!(said.contains(reason), "{said}");
}

#[test]
fn a_wait_that_ends_well_leaves_no_failure() {
    let machine = Machine::new("cp1");
    let said = succeeded(&machine.run(
        r#"up_later() { (($(up) > 140)) || { echo "not yet" && return 1; }; }
           wait_for 65 "the sun" up_later
           echo reached"#,
    ));
    assert!(said.ends_with("reached\n"), "{said}");
    assert!(!machine.exists("/var/lib/firelay/failed"));
}

#[test]
fn hosts_replaces_only_its_own_line() {
    let machine = Machine::new("cp1");
    let others =
        "127.0.0.1 localhost\n# a comment # firelay-x\n10.0.0.9 other # firelay-endpoint-not\nno newline at the end";
    machine.write("/etc/hosts", 0o640, others);
    succeeded(&machine.run("hosts endpoint 10.0.0.1 api.example.com; hosts self 10.0.0.2 cp1"));
    succeeded(&machine.run("hosts endpoint 10.0.0.3 api.example.com"));
    let expected = format!("{others}\n10.0.0.2 cp1 # firelay-self\n10.0.0.3 api.example.com # firelay-endpoint\n");
    assert_eq!(machine.read("/etc/hosts"), expected);
    succeeded(&machine.run("hosts endpoint; hosts self"));
    assert_eq!(machine.read("/etc/hosts"), format!("{others}\n"));
    assert_eq!(mode(&machine.at("/etc/hosts")), 0o644);
}
