//! A bundle sealed with age: `age` and firelay open it, refuse it with a reason, and it renders the same bytes.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    process::Command,
};

use super::desk::{Desk, Ran};
use super::support::{example, firelay, output, pipe, succeed, tree};

/// Runs a program at a desk and returns its stdout.
fn run(desk: &Desk, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = output(command.args(arguments).current_dir(desk.directory.path()), program);
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Creates the identity NAME and returns its recipient.
fn age_key(desk: &Desk, name: &str) -> String {
    run(desk, "age-keygen", &["-o", name]);
    run(desk, "age-keygen", &["-y", name]).trim().to_owned()
}

/// Creates an SSH key and returns its recipient.
fn ssh_key(desk: &Desk, name: &str, kind: &[&str]) -> String {
    run(desk, "ssh-keygen", &[&["-q", "-N", "", "-f", name], kind].concat());
    desk.read(&format!("{name}.pub")).trim().to_owned()
}

const ED25519: &[&str] = &["-t", "ed25519"];
const BUNDLE: &str = "firelay.secrets.yaml";

/// A sealed bundle, with the identity `key.txt`.
pub fn sealed() -> Desk {
    let desk = Desk::of("single-node");
    let recipient = age_key(&desk, "key.txt");
    let ran = desk.run(&["secrets", "seal", "--recipient", &recipient]);
    assert_eq!(ran.code, 0, "{ran:?}");
    desk
}

#[test]
fn age_opens_what_firelay_sealed() {
    let desk = Desk::of("single-node");
    let clear = desk.read(BUNDLE);
    let recipients = [
        age_key(&desk, "key.txt"),
        ssh_key(&desk, "ed", ED25519),
        ssh_key(&desk, "rsa2048", &["-t", "rsa", "-b", "2048"]),
        ssh_key(&desk, "rsa3072", &["-t", "rsa", "-b", "3072"]),
        ssh_key(&desk, "rsa4096", &["-t", "rsa", "-b", "4096"]),
    ];
    let mut arguments = vec!["secrets", "seal"];
    recipients.iter().for_each(|it| arguments.extend(["--recipient", it]));
    let ran = desk.run(&arguments);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    let entry = &desk.everything()[BUNDLE];
    assert_eq!(entry.mode, 0o600);
    assert!(desk.read(BUNDLE).starts_with("-----BEGIN AGE ENCRYPTED FILE-----\n"));
    for identity in ["key.txt", "ed", "rsa2048", "rsa3072", "rsa4096"] {
        let opened = run(&desk, "age", &["-d", "-i", identity, BUNDLE]);
        assert!(opened.starts_with(&clear), "{identity}");
        let listed: String = opened[clear.len()..].lines().map(|line| format!("{line}\n")).collect();
        assert!(
            listed.starts_with("recipients:\n") && listed.lines().count() == 6,
            "{listed}"
        );
        let shown = desk.run(&["secrets", "show", "--identity", identity]);
        assert_eq!(shown.code, 0, "{identity}: {shown:?}");
        assert_eq!(shown.stdout.matches("sealed to:   ").count(), 5, "{shown:?}");
    }
}

#[test]
fn firelay_opens_what_age_sealed() {
    let desk = Desk::of("single-node");
    let recipient = age_key(&desk, "key.txt");
    for (name, kind) in [("ed", ED25519), ("rsa", &["-t", "rsa", "-b", "2048"])] {
        ssh_key(&desk, name, kind);
    }
    let shown = desk.run(&["secrets", "show"]).stdout;
    for (identity, recipient) in [
        ("key.txt", ["-r", &recipient]),
        ("ed", ["-R", "ed.pub"]),
        ("rsa", ["-R", "rsa.pub"]),
    ] {
        for armor in [&["-a"][..], &[]] {
            run(
                &desk,
                "age",
                &[&recipient, armor, &["-o", "sealed.age", BUNDLE]].concat(),
            );
            let show = ["secrets", "show", "-s", "sealed.age", "-i", identity];
            let ran = desk.run(&show);
            assert_eq!((ran.code, &ran.stdout), (0, &shown), "{identity}: {ran:?}");
            fs::remove_file(desk.at("sealed.age")).unwrap();
        }
    }
}

#[test]
fn an_identity_comes_from_a_flag_or_the_environment() {
    let desk = sealed();
    let with =
        |name: &str, value: &str| Ran::of(&desk.command(&["secrets", "show"]).env(name, value).output().unwrap());
    assert_eq!(with("FIRELAY_IDENTITY_FILE", "key.txt").code, 0);
    assert_eq!(with("FIRELAY_IDENTITY", &desk.read("key.txt")).code, 0);
    age_key(&desk, "other.txt");
    let both = desk.run(&["secrets", "show", "-i", "other.txt", "-i", "key.txt"]);
    assert_eq!(both.code, 0, "{both:?}");
}

#[test]
fn a_sealed_bundle_renders_the_same_bytes() {
    let desk = Desk::of("single-node");
    assert_eq!(desk.run(&["render"]).code, 0);
    let before = tree(&desk.at("out"));
    let recipient = age_key(&desk, "key.txt");
    assert_eq!(desk.run(&["secrets", "seal", "-r", &recipient]).code, 0);
    let ran = desk.run(&["render", "--identity", "key.txt"]);
    assert!(
        ran.code == 0 && ran.stderr.contains("0 files new or changed"),
        "{ran:?}"
    );
    assert!(before == tree(&desk.at("out")));
    let piped = desk.pipe(
        &["render", "-s", "-"],
        run(&desk, "age", &["-d", "-i", "key.txt", BUNDLE]).as_bytes(),
    );
    assert!(
        piped.code == 0 && piped.stderr.contains("0 files new or changed"),
        "{piped:?}"
    );
    for verb in [&["size"][..], &["render", "--out", "-", "--node", "home1"]] {
        assert_eq!(desk.run(verb).code, 4, "{verb:?}");
        assert_eq!(
            desk.run(&[verb, &["--identity", "key.txt"]].concat()).code,
            0,
            "{verb:?}"
        );
    }
}

#[test]
fn a_new_bundle_can_be_sealed_from_its_first_byte() {
    let desk = Desk::with_spec("single-node");
    let recipient = age_key(&desk, "key.txt");
    let ran = desk.run(&["secrets", "new", "--recipient", &recipient, "--recipient", &recipient]);
    assert!(
        ran.code == 0 && ran.stderr.contains("its one recipient opens it"),
        "{ran:?}"
    );
    assert!(desk.read(BUNDLE).starts_with("-----BEGIN AGE"));
    assert_eq!(desk.run(&["render", "-i", "key.txt"]).code, 0);
}

#[test]
fn sealing_anew_leaves_the_others_outside() {
    let desk = sealed();
    let next = age_key(&desk, "next.txt");
    let closed = desk.run(&["secrets", "seal", "--recipient", &next]);
    assert_eq!(closed.code, 4, "{closed:?}");
    let ran = desk.run(&["secrets", "seal", "--recipient", &next, "--identity", "key.txt"]);
    assert!(ran.code == 0 && !ran.stderr.contains("in clear"), "{ran:?}");
    assert_eq!(desk.run(&["secrets", "show", "-i", "key.txt"]).code, 4);
    assert_eq!(desk.run(&["secrets", "show", "-i", "next.txt"]).code, 0);
    // Both ends are pipes.
    let clear = fs::read(example("single-node").bundle).unwrap();
    let piped = desk.pipe(&["secrets", "seal", "-s", "-", "--recipient", &next], &clear);
    assert_eq!(piped.code, 0, "{piped:?}");
    desk.write("piped.yaml", &piped.stdout);
    assert_eq!(
        desk.run(&["secrets", "show", "-s", "piped.yaml", "-i", "next.txt"])
            .code,
        0
    );
}

#[test]
fn every_line_of_a_recipient_is_one() {
    let keys = |desk: &Desk| ["a", "b"].map(|name| ssh_key(desk, name, ED25519)).join("\n# and\n\n");
    for (desk, verb) in [
        (Desk::of("single-node"), "seal"),
        (Desk::with_spec("single-node"), "new"),
    ] {
        let ran = desk.run(&["secrets", verb, "--recipient", &format!("{}\n", keys(&desk))]);
        assert!(ran.code == 0 && ran.stderr.contains("2 recipients"), "{ran:?}");
        for identity in ["a", "b"] {
            let shown = desk.run(&["secrets", "show", "-i", identity]);
            assert_eq!(
                (shown.code, shown.stdout.matches("sealed to:").count()),
                (0, 2),
                "{shown:?}"
            );
        }
    }
    let desk = Desk::of("single-node");
    let before = desk.everything();
    for (recipient, said) in [
        ("# none\n", "holds none"),
        (&keys(&desk).replace('\n', " "), "one recipient each"),
    ] {
        let ran = desk.run(&["secrets", "seal", "--recipient", recipient]);
        assert!(
            ran.code == 2 && ran.stderr.contains(&format!("--recipient 1: {said}")),
            "{ran:?}"
        );
    }
    assert!(before.iter().all(|(name, entry)| desk.everything()[name] == *entry));
}

/// Ends `firelay secrets new` during a write, with a fault that `strace` injects.
fn struck(desk: &Desk, inject: &[&str]) -> Option<i32> {
    let mut command = Command::new("strace");
    command.args(["-f", "-o", "/dev/null", "-e", "trace=fsync,linkat"]);
    for what in inject {
        command.args(["-e", &format!("inject={what}")]);
    }
    command.args([env!("CARGO_BIN_EXE_firelay"), "secrets", "new"]);
    let status = command.current_dir(desk.directory.path()).status().unwrap();
    // strace ends by the same signal as the traced program.
    status.signal()
}

fn listed(desk: &Desk) -> Vec<String> {
    let everything = desk.everything();
    everything.into_keys().filter(|name| !name.is_empty()).collect()
}

#[test]
fn nothing_is_left_of_a_bundle_that_was_interrupted() {
    const WITHOUT: &str = "linkat:error=EOPNOTSUPP:when=1";
    for (signal, number) in [("SIGKILL", 9), ("SIGINT", 2)] {
        let desk = Desk::with_spec("single-node");
        let ended = struck(&desk, &[&format!("fsync:signal={signal}:when=1")]);
        assert_eq!(ended, Some(number));
        assert_eq!(listed(&desk), ["cluster.yaml"]);
    }
    // On file systems without unnamed files, signals wait for the end of the write.
    for (signal, number) in [("SIGINT", 2), ("SIGTERM", 15)] {
        let desk = Desk::with_spec("single-node");
        let ended = struck(&desk, &[WITHOUT, &format!("fsync:signal={signal}:when=2")]);
        assert_eq!(ended, Some(number));
        assert_eq!(listed(&desk), ["cluster.yaml", BUNDLE]);
        assert_eq!(desk.run(&["secrets", "show"]).code, 0);
    }
}

#[test]
fn a_variable_that_is_set_to_nothing_is_not_set() {
    let desk = Desk::of("single-node");
    for variable in [
        "FIRELAY_IDENTITY",
        "FIRELAY_IDENTITY_FILE",
        "FIRELAY_SECRETS",
        "FIRELAY_PROFILES",
    ] {
        for verb in [&["secrets", "show"][..], &["size"], &["check"], &["profile", "list"]] {
            let ran = Ran::of(&desk.command(verb).env(variable, "").output().unwrap());
            assert_eq!(ran.code, 0, "{variable} {verb:?}: {ran:?}");
        }
    }
    // An empty argument is not the default.
    assert_eq!(desk.run(&["size", "--secrets", ""]).code, 2);
}

#[test]
fn who_cannot_open_a_bundle_is_told_how_for_the_verb_that_ran() {
    let desk = sealed();
    let sops = "kind: ENC[AES256_GCM,data:x]\nsops:\n  mac: ENC[x]\n";
    desk.write("sops.yaml", sops);
    let one_line = "{\"kind\":\"ENC[x]\",\"sops\":{\"mac\":\"ENC[x]\"}}";
    let recipient = run(&desk, "age-keygen", &["-y", "key.txt"]);
    let seal = ["secrets", "seal", "-r", recipient.trim(), "-s"];
    let pipe = "sops -d sops.yaml | firelay";
    for (ran, help) in [
        (
            desk.run(&[&seal[..], &["sops.yaml"]].concat()),
            format!("{pipe} secrets seal --secrets - --recipient RECIPIENT"),
        ),
        (
            desk.run(&["secrets", "show", "-s", "sops.yaml"]),
            format!("{pipe} secrets show --secrets -\n"),
        ),
        (
            desk.run(&["size", "-s", "sops.yaml"]),
            format!("{pipe} size --secrets -\n"),
        ),
        (
            desk.run(&["render", "-s", "sops.yaml"]),
            format!("{pipe} render --secrets -\n"),
        ),
        (
            desk.pipe(&["secrets", "show", "-s", "-"], one_line.as_bytes()),
            "sops -d FILE | firelay secrets show --secrets -".into(),
        ),
        (
            desk.pipe(&["render", "-s", "-"], b""),
            "bring it back from a copy".into(),
        ),
    ] {
        assert!(
            ran.code == 4 && ran.stderr.contains(&format!("= help: {help}")),
            "{help}: {ran:?}"
        );
    }
    ssh_key(&desk, "ed", ED25519);
    desk.write("ours", recipient.trim());
    for (file, help) in [
        ("ed.pub", "the identity is ed\n"),
        ("ours", "the identity is its private half\n"),
    ] {
        let ran = desk.run(&["secrets", "show", "-i", file]);
        assert!(
            ran.code == 4
                && ran
                    .stderr
                    .ends_with(&format!("is a recipient, which opens nothing\n  = help: {help}")),
            "{ran:?}"
        );
    }
}

#[test]
fn every_changed_or_missing_byte_is_refused() {
    let desk = sealed();
    run(&desk, "age", &["-d", "-i", "key.txt", "-o", "clear", BUNDLE]);
    let recipient = run(&desk, "age-keygen", &["-y", "key.txt"]);
    run(&desk, "age", &["-r", recipient.trim(), "-o", "binary", "clear"]);
    let whole = fs::read(desk.at("binary")).unwrap();
    let show = |bytes: &[u8]| {
        fs::write(desk.at("binary"), bytes).unwrap();
        desk.run(&["secrets", "show", "-s", "binary", "-i", "key.txt"])
    };
    assert_eq!(show(&whole).code, 0);
    for at in [30, 60, 120, 150, 200, whole.len() / 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        let ran = show(&changed);
        assert!(ran.code == 4 && ran.stdout.is_empty(), "changed at {at}: {ran:?}");
        let ran = show(&whole[..at]);
        assert!(ran.code == 4 && ran.stdout.is_empty(), "cut at {at}: {ran:?}");
    }
    let more = show(&[whole.as_slice(), b"x"].concat());
    assert_eq!(more.code, 4, "{more:?}");
}

/// Every user can read arguments, and core dumps may be read by others.
#[test]
fn nothing_secret_is_in_arguments_errors_or_dumps() {
    let desk = sealed();
    let clear = run(&desk, "age", &["-d", "-i", "key.txt", BUNDLE]);
    let secrets: Vec<_> = clear
        .lines()
        .map(str::trim)
        .filter(|line| line.len() > 30 && !line.contains("-----"))
        .collect();
    assert!(secrets.len() > 10);
    let mut command = Command::new("strace");
    command.args(["-f", "-s", "100000", "-e", "trace=%file,execve,write,prctl,prlimit64"]);
    command.args([env!("CARGO_BIN_EXE_firelay"), "secrets", "show", "-i", "key.txt"]);
    let traced = command.current_dir(desk.directory.path()).output().unwrap();
    let traced = String::from_utf8(traced.stderr).unwrap();
    assert!(
        traced.contains("execve(") && traced.contains("fingerprint: HMAC-SHA256:"),
        "{traced}"
    );
    let found = secrets.iter().find(|secret| traced.contains(**secret));
    assert_eq!(found.map(|secret| secret.len()), None);
    assert!(!traced.contains(desk.read("key.txt").lines().last().unwrap()));
    assert!(traced.contains("PR_SET_DUMPABLE, SUID_DUMP_DISABLE"), "{traced}");
    assert!(traced.contains("RLIMIT_CORE, {rlim_cur=0, rlim_max=0}"), "{traced}");
    // Sealing writes no plain text to any file.
    let mut command = Command::new("strace");
    command.args(["-f", "-s", "100000", "-e", "trace=write,pwrite64,writev,openat"]);
    command.args([env!("CARGO_BIN_EXE_firelay"), "secrets", "seal", "-i", "key.txt", "-r"]);
    command.arg(run(&desk, "age-keygen", &["-y", "key.txt"]).trim());
    let traced = command.current_dir(desk.directory.path()).output().unwrap();
    let traced = String::from_utf8(traced.stderr).unwrap();
    assert!(traced.contains("BEGIN AGE ENCRYPTED FILE"), "{traced}");
    assert!(secrets.iter().all(|secret| !traced.contains(*secret)));
}

#[test]
fn an_identity_that_others_may_read_is_refused() {
    let desk = sealed();
    fs::set_permissions(desk.at("key.txt"), PermissionsExt::from_mode(0o640)).unwrap();
    let ran = desk.run(&["secrets", "show", "-i", "key.txt"]);
    assert!(ran.code == 4 && ran.stderr.contains("chmod 600 key.txt"), "{ran:?}");
    // Other users cannot read a pipe.
    let script = "exec \"$0\" secrets show -i <(cat key.txt)";
    let mut command = Command::new("bash");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_firelay")])
        .current_dir(desk.directory.path());
    succeed(&mut command, "bash");
}

#[test]
fn stdin_is_one_thing() {
    let desk = Desk::of("single-node");
    let both = desk.pipe(&["size", "-", "-s", "-"], desk.read("cluster.yaml").as_bytes());
    assert_eq!(both.code, 2, "{both:?}");
    let mut new = firelay(&["render", "--new-secrets", "-s", "-"]);
    let new = Ran::of(&pipe(new.current_dir(desk.directory.path()), "firelay", b""));
    assert_eq!(new.code, 4, "{new:?}");
    assert!(!desk.at("-").exists());
    assert_eq!(desk.run(&["secrets", "new", "-s", "-"]).code, 2);
}
