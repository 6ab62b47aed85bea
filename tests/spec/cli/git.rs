//! The bundle and git.

use std::process::Command;

use super::desk::Desk;
use super::support;

/// A desk in a git work tree.
fn work_tree(desk: Desk) -> Desk {
    git(&desk, &["init", "--quiet"]);
    desk
}

fn git(desk: &Desk, arguments: &[&str]) {
    let mut git = Command::new("git");
    support::succeed(git.args(arguments).current_dir(desk.directory.path()), "git");
}

#[test]
fn a_bundle_that_git_would_add_is_told() {
    let desk = work_tree(Desk::with_spec("single-node"));
    let warning = "warning: firelay.secrets.yaml is not ignored by git, which would add it\n  = help: echo /firelay.secrets.yaml >> .gitignore\n";
    let ran = desk.run(&["secrets", "new"]);
    assert!(ran.code == 0 && ran.stderr.ends_with(warning), "{ran:?}");
    let ran = desk.run(&["check"]);
    assert!(ran.code == 0 && ran.stderr.ends_with(warning), "{ran:?}");
    let ran = desk.run(&["render", "--new-secrets", "--secrets", "other.yaml"]);
    assert!(
        ran.code == 0 && ran.stderr.contains("warning: other.yaml is not ignored"),
        "{ran:?}"
    );
    git(&desk, &["add", "firelay.secrets.yaml"]);
    let ran = desk.run(&["check"]);
    assert!(ran.stderr.contains("firelay.secrets.yaml is in git's index"), "{ran:?}");
    assert!(
        ran.stderr.contains("yaml, echo /firelay.secrets.yaml >> .gitignore; "),
        "{ran:?}"
    );
    git(&desk, &["rm", "--quiet", "--cached", "firelay.secrets.yaml"]);
    desk.write(".gitignore", "/firelay.secrets.yaml\n");
    let ran = desk.run(&["check"]);
    assert!(ran.code == 0 && !ran.stderr.contains("git"), "{ran:?}");
}

#[test]
fn a_sealed_bundle_may_be_committed() {
    let desk = work_tree(Desk::with_spec("single-node"));
    let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    let ran = desk.run(&["secrets", "new", "--recipient", recipient]);
    assert!(ran.code == 0 && !ran.stderr.contains("git"), "{ran:?}");
}

#[test]
fn without_a_work_tree_nothing_is_told() {
    let desk = Desk::with_spec("single-node");
    let ran = desk.run(&["secrets", "new"]);
    assert!(ran.code == 0 && !ran.stderr.contains("git"), "{ran:?}");
}

#[test]
fn init_keeps_the_secrets_out_of_git() {
    let desk = work_tree(Desk::empty());
    desk.write(".gitignore", "*.log");
    let ran = desk.run(&["init", "--gitignore", "--name", "lab", "cluster.yaml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(desk.read(".gitignore"), "*.log\n/firelay.secrets.yaml\n/out/\n");
    let ran = desk.run(&["secrets", "new"]);
    assert!(ran.code == 0 && !ran.stderr.contains("git"), "{ran:?}");
}

#[test]
fn no_rule_of_gitignore_hides_what_git_has_already() {
    let desk = work_tree(Desk::of("single-node"));
    assert_eq!(desk.run(&["render"]).code, 0);
    git(
        &desk,
        &["add", "--force", "firelay.secrets.yaml", "out/admin.kubeconfig"],
    );
    let warnings = [
        "warning: firelay.secrets.yaml is in git's index, so .gitignore has no effect",
        "git rm --cached firelay.secrets.yaml; earlier commits still have it",
        "warning: out is in git's index",
        "git rm -r --cached out; ",
    ];
    // The second time the rules already exist.
    for spec in ["a.yaml", "b.yaml"] {
        let ran = desk.run(&["init", "--gitignore", "--name", "lab", spec]);
        assert_eq!(ran.code, 0, "{ran:?}");
        for text in warnings {
            assert!(ran.stderr.contains(text), "{text}: {ran:?}");
        }
        assert!(!ran.stderr.contains("keeps the secrets"), "{ran:?}");
    }
    let ran = desk.run(&["check"]);
    assert!(
        ran.stderr.contains(warnings[0]) && ran.stderr.contains(warnings[1]),
        "{ran:?}"
    );
}
