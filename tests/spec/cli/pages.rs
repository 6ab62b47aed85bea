//! Output for shells and man(1).

use std::process::Command;

use super::desk::Desk;
use super::support::{self, said, tree};

#[test]
fn shells_take_their_completions() {
    let desk = Desk::empty();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = desk.run(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        for verb in ["render", "secrets", "new-secrets"] {
            assert!(ran.stdout.contains(verb), "{shell}: {verb}");
        }
    }
    let script = desk.run(&["completions", "bash"]).stdout;
    let output = support::pipe(Command::new("bash").arg("-n"), "bash", script.as_bytes());
    assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
}

#[test]
fn every_verb_has_a_page_of_the_manual() {
    let desk = Desk::empty();
    let ran = desk.run(&["man", "--out", "man1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    let pages = tree(&desk.at("man1"));
    for verb in [
        "",
        "-check",
        "-render",
        "-report",
        "-seed",
        "-serve",
        "-secrets-new",
        "-profile-show",
        "-why",
        "-man",
    ] {
        assert!(
            pages.contains_key(&format!("firelay{verb}.1")),
            "{verb}: {:?}",
            pages.keys()
        );
    }
    let all = desk.run(&["man"]);
    assert_eq!(all.code, 0);
    let written = pages.keys().filter(|name| name.ends_with(".1")).count();
    assert_eq!(all.stdout.matches("\n.TH firelay").count(), written);
    let page = desk.read("man1/firelay-render.1");
    for text in [
        ".SH NAME\nfirelay\\-render",
        "\\-\\-new\\-secrets",
        "merged over it in order",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
    assert!(all.stdout.contains(&page));
}
