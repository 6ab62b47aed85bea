//! The bundle: never lost, overwritten or mixed up.

use std::fs;

use super::desk::{Desk, Ran, damaged_bundle};
use super::support::{self, example, tree};

#[test]
fn a_broken_bundle_is_refused_without_its_content() {
    let secrets = fs::read_to_string(example("single-node").bundle).unwrap();
    let lines: Vec<_> = secrets
        .lines()
        .map(str::trim)
        .filter(|line| line.len() > 30 && !line.starts_with("-----"))
        .collect();
    let damages: [fn(&Desk); 5] = [
        |desk| damaged_bundle(desk, "-----BEGIN EC PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY----"),
        |desk| damaged_bundle(desk, "seed: ", "seed: x"),
        |desk| damaged_bundle(desk, "bootstrapToken: ", "bootstrapToken: x"),
        |desk| damaged_bundle(desk, "encryptionKey: ", "encryptionKey: [ "),
        |desk| damaged_bundle(desk, "    key: |\n      ", "    key: |\n"),
    ];
    for damage in damages {
        let desk = Desk::of("single-node");
        damage(&desk);
        let ran = desk.run(&["render"]);
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(ran.stderr.starts_with("error: firelay.secrets.yaml"), "{ran:?}");
        let leaked = lines
            .iter()
            .find(|line| ran.stderr.contains(line.split(": ").last().unwrap()));
        assert_eq!(leaked, None, "{ran:?}");
        assert!(!desk.at("out").exists());
    }
}

#[test]
fn a_bundle_of_zeros_is_refused_with_its_code_and_help() {
    let seed = format!("seed: {}=", "A".repeat(43));
    let desk = Desk::of("single-node");
    let text = desk.read("firelay.secrets.yaml");
    let zeros: String = text
        .lines()
        .map(|line| {
            if line.starts_with("seed: ") {
                seed.as_str()
            } else {
                line
            }
            .to_owned()
                + "\n"
        })
        .collect();
    desk.write("firelay.secrets.yaml", &zeros);
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(
        ran.stderr.contains("seed: is all zero") && ran.stderr.contains("(FL1101)"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("\n  = help: "), "{ran:?}");
    assert_eq!(desk.run(&["explain", "FL1101"]).code, 0);
}

/// Every field counts: a tree is not replaced by one with another token, key, epoch or date.
#[test]
fn a_bundle_that_was_changed_is_refused_for_a_tree_that_was_rendered_before() {
    for (from, to) in [
        ("epoch: 0", "epoch: 1"),
        ("bootstrapToken: ", "bootstrapToken: aaaaaa.aaaaaaaaaaaaaaaa # "),
    ] {
        let desk = Desk::of("single-node");
        assert_eq!(desk.run(&["render"]).code, 0);
        damaged_bundle(&desk, from, to);
        let ran = desk.run(&["render"]);
        assert_eq!(ran.code, 4, "{to}: {ran:?}");
        assert!(
            ran.stderr.contains("a token, a key, epoch or issuedAt was changed"),
            "{ran:?}"
        );
    }
}

#[test]
fn a_tree_of_an_earlier_version_still_belongs_to_its_bundle() {
    let desk = Desk::of("single-node");
    assert_eq!(desk.run(&["render"]).code, 0);
    let manifest = desk.read("out/manifest.json");
    let start = manifest.find("HMAC-SHA256:").unwrap();
    let earlier = manifest.replace(&manifest[start..start + 34], "SHA256:7K30ECQ22W+XFcFXsyJxlg");
    desk.write("out/manifest.json", &earlier);
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(desk.read("out/manifest.json").contains("HMAC-SHA256:"));
}

#[test]
fn the_environment_names_the_bundle_and_the_flag_wins() {
    let desk = Desk::with_spec("single-node");
    example("single-node").lay_bundle(&desk.at("roots.yaml"));
    let with = |arguments: &[&str], bundle: &str| {
        Ran::of(&desk.command(arguments).env("FIRELAY_SECRETS", bundle).output().unwrap())
    };
    assert_eq!(with(&["size"], "roots.yaml").code, 0);
    assert_eq!(with(&["secrets", "show"], "roots.yaml").code, 0);
    assert_eq!(with(&["size", "--secrets", "roots.yaml"], "elsewhere.yaml").code, 0);
    let ran = with(&["size"], "elsewhere.yaml");
    assert_eq!(ran.code, 4);
    assert!(
        ran.stderr.contains("at elsewhere.yaml") && ran.stderr.contains("new cluster.yaml --secrets elsewhere.yaml\n"),
        "{ran:?}"
    );
}

#[test]
fn a_bundle_is_never_overwritten() {
    let desk = Desk::with_spec("single-node");
    assert_eq!(desk.run(&["secrets", "new"]).code, 0);
    let before = desk.everything();
    assert_eq!(before["firelay.secrets.yaml"].mode, 0o600);
    let ran = desk.run(&["secrets", "new"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    assert_eq!(desk.everything(), before);
    // A dangling symlink is not followed either.
    std::os::unix::fs::symlink("nowhere", desk.at("link.yaml")).unwrap();
    assert_eq!(desk.run(&["render", "--new-secrets", "-s", "link.yaml"]).code, 4);
    assert!(!desk.at("nowhere").exists() && !desk.at("out").exists());
}

#[test]
fn a_tree_of_another_cluster_or_of_other_secrets_stays() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render"]).code, 0);
    let before = tree(&desk.at("out"));
    let other = desk.run(&["render", "--secrets", "other.yaml", "--new-secrets"]);
    assert_eq!(other.code, 4, "{other:?}");
    assert!(other.stderr.contains("a new bundle is a new cluster"), "{other:?}");
    assert!(!desk.at("other.yaml").exists(), "a refused render leaves no bundle");
    let spec = desk.read("cluster.yaml").replace("name: prod", "name: lab");
    desk.write("lab.yaml", &spec);
    let lab = desk.run(&["render", "lab.yaml", "--secrets", "lab.secrets.yaml", "--new-secrets"]);
    assert_eq!(lab.code, 4, "{lab:?}");
    assert!(lab.stderr.contains("holds the documents of cluster prod"), "{lab:?}");
    assert!(before == tree(&desk.at("out")));
}

#[test]
fn a_lost_bundle_is_restored_and_not_made_anew() {
    let desk = Desk::of("single-node");
    assert_eq!(desk.run(&["render"]).code, 0);
    let fingerprint = desk.run(&["secrets", "show", "--fingerprint"]).stdout;
    fs::rename(desk.at("firelay.secrets.yaml"), desk.at("backup.yaml")).unwrap();
    let before = desk.everything();
    for arguments in [
        &["render"][..],
        &["render", "--new-secrets"],
        &["render", "--secrets", "mistyped.yaml"],
        &["verify", "--against", "cluster.yaml"],
    ] {
        let ran = desk.run(arguments);
        assert_eq!(ran.code, 4, "{ran:?}");
        for text in [
            "(FL1102)",
            "out was rendered with the bundle ",
            fingerprint.trim(),
            "restore that bundle from a backup",
            "a new bundle is a new cluster",
        ] {
            assert!(ran.stderr.contains(text), "{text}: {ran:?}");
        }
        assert!(!ran.stderr.contains("--new-secrets"), "{ran:?}");
        assert!(before == desk.everything());
    }
    assert_eq!(desk.run(&["render", "--secrets", "backup.yaml"]).code, 0);
    // The record belongs to the lost cluster.
    let elsewhere = desk.run(&[
        "render",
        "--new-secrets",
        "--out",
        "other",
        "--state",
        "other.state.yaml",
    ]);
    assert_eq!(elsewhere.code, 0, "{elsewhere:?}");
}

/// The record of a founded cluster is enough: its tree may be in another clone.
#[test]
fn a_lost_bundle_is_not_made_anew_beside_the_record() {
    let desk = Desk::of("single-node");
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    let fingerprint = desk.run(&["secrets", "show", "--fingerprint"]).stdout;
    fs::rename(desk.at("firelay.secrets.yaml"), desk.at("backup.yaml")).unwrap();
    for has_tree in [true, false] {
        if !has_tree {
            fs::remove_dir_all(desk.at("out")).unwrap();
        }
        let before = desk.everything();
        for arguments in [
            &["plan"][..],
            &["certs"],
            &["render"],
            &["render", "--new-secrets"],
            &["update"],
            &["secrets", "new"],
            &["secrets", "rotate", "leaves"],
        ] {
            let ran = desk.run(arguments);
            assert_eq!(ran.code, 4, "{ran:?}");
            for text in ["(FL1102)", fingerprint.trim(), "restore that bundle from a backup"] {
                assert!(ran.stderr.contains(text), "{text}: {ran:?}");
            }
            assert!(!ran.stderr.contains("make one with"), "{ran:?}");
            assert!(before == desk.everything());
        }
    }
    assert_eq!(desk.run(&["secrets", "new", "--secrets", "lab.secrets.yaml"]).code, 0);
}

#[test]
fn certificates_that_have_ended_are_not_rendered() {
    let desk = Desk::of("ha-ubuntu");
    let mut command = support::firelay_at("2028-01-01 00:00:00", &["render"]);
    let late = Ran::of(&command.current_dir(desk.directory.path()).output().unwrap());
    assert_eq!(late.code, 4, "{late:?}");
    assert!(late.stderr.contains("ended on 2027-11-20"), "{late:?}");
    assert!(!desk.at("out").exists());
}

#[test]
fn a_bundle_of_another_algorithm_is_not_ignored() {
    let desk = Desk::of("ha-ubuntu");
    desk.write(
        "cluster.yaml",
        &(desk.read("cluster.yaml") + "pki: { algorithm: rsa-2048 }\n"),
    );
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(
        ran.stderr.contains("are ecdsa-p256, the spec asks for rsa-2048"),
        "{ran:?}"
    );
}

#[test]
fn a_bundle_that_cannot_be_reached_is_not_missing() {
    let desk = Desk::of("single-node");
    let beyond = "cluster.yaml/firelay.secrets.yaml";
    for verb in [&["secrets", "show"][..], &["size"], &["render", "--new-secrets"]] {
        let ran = desk.run(&[verb, &["-s", beyond]].concat());
        assert_eq!(ran.code, 4, "{ran:?}");
        assert!(
            ran.stderr.contains("cannot read the secrets") && !ran.stderr.contains("make one"),
            "{ran:?}"
        );
    }
}
