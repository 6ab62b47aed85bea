//! The sources of a spec, its patches and its profiles.

use std::fs;

use super::desk::{Desk, REFUSED, Ran, own_profiles};
use super::support::{self, tree};

#[test]
fn stdin_is_a_spec() {
    let desk = Desk::of("single-node");
    let spec = desk.read("cluster.yaml");
    let ran = desk.pipe(&["check", "-"], spec.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with("<stdin> is valid: cluster home, "), "{ran:?}");
    let ran = desk.pipe(&["check", "-"], REFUSED.as_bytes());
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("--> <stdin>:6:1") && ran.stderr.ends_with("error: <stdin> is refused: 3 errors\n"),
        "{ran:?}"
    );
    // The bundle is then searched in the working directory.
    fs::remove_file(desk.at("cluster.yaml")).unwrap();
    assert_eq!(desk.pipe(&["render", "-"], spec.as_bytes()).code, 0);
    assert!(desk.at("out/nodes/home1/user-data").exists());
    fs::remove_file(desk.at("firelay.secrets.yaml")).unwrap();
    let ran = desk.pipe(&["render", "-", "--out", "other"], spec.as_bytes());
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.contains("make one with: firelay secrets new -\n"), "{ran:?}");
    assert_eq!(desk.pipe(&["secrets", "new", "-"], spec.as_bytes()).code, 0);
}

#[test]
fn paths_have_defaults() {
    let desk = Desk::with_spec("single-node");
    assert_eq!(desk.run(&["secrets", "new"]).code, 0);
    assert_eq!(desk.run(&["render"]).code, 0);
    assert!(desk.at("firelay.secrets.yaml").exists() && desk.at("out/manifest.json").exists());

    // The bundle is beside the spec, the tree in the working directory.
    fs::create_dir(desk.at("home")).unwrap();
    fs::rename(desk.at("cluster.yaml"), desk.at("home/spec.yaml")).unwrap();
    fs::rename(desk.at("firelay.secrets.yaml"), desk.at("home/firelay.secrets.yaml")).unwrap();
    fs::remove_dir_all(desk.at("out")).unwrap();
    assert_eq!(desk.run(&["render", "home/spec.yaml"]).code, 0);
    assert!(desk.at("out/manifest.json").exists() && !desk.at("home/out").exists());
    assert_eq!(desk.run(&["render", "home/spec.yaml", "-o", "home/deep/tree"]).code, 0);
    assert_eq!(
        tree(&desk.at("out")).keys().collect::<Vec<_>>(),
        tree(&desk.at("home/deep/tree")).keys().collect::<Vec<_>>()
    );
}

#[test]
fn texts_come_from_files_stdin_arguments_and_the_environment() {
    let desk = Desk::of("single-node");
    desk.write("base.yaml", &desk.read("cluster.yaml"));
    desk.write(
        "cluster.yaml",
        "include: [base.yaml]\nnodes:\n  - { name: home1, labels: { zone: \"${ZONE:-a}\" } }\n",
    );
    let mut command = desk.command(&[
        "render",
        "cluster.yaml",
        "-",
        "--env",
        "--set",
        "nodes[home1].labels.rack=r1",
    ]);
    command.env("ZONE", "b7");
    let over = "nodes:\n  - { name: home1, labels: { row: \"4\" } }\n";
    let ran = Ran::of(&support::pipe(&mut command, "firelay", over.as_bytes()));
    assert_eq!(ran.code, 0, "{ran:?}");
    let document = desk.read("out/nodes/home1/user-data");
    for label in ["zone=b7", "rack=r1", "row=4"] {
        assert!(document.contains(label), "{label}");
    }
    let ran = desk.run(&["check", "cluster.yaml", "--set", "nodes[home2].os=x"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("--> --set:1:7") && ran.stderr.contains("--> cluster.yaml:3:36"),
        "{ran:?}"
    );
}

#[test]
fn no_file_of_patches_is_passed_over_in_silence() {
    let desk = Desk::of("single-node");
    let patch = "{\n\t\"target\": \"spec\",\n\t\"merge\": { \"nodes\": [{ \"name\": \"home1\", \"labels\": { \"a\": \"b\" } }] }\n}\n";
    for folder in ["patches/all", "prod/patches/all"] {
        fs::create_dir_all(desk.at(folder)).unwrap();
        desk.write(&format!("{folder}/10.json"), patch);
        desk.write(&format!("{folder}/README"), "notes");
        desk.write(&format!("{folder}/10.json~"), "notes");
    }
    desk.write("prod/over.yaml", "join: { waitTimeout: 48m }\n");
    let beside = desk.run(&["check", "cluster.yaml"]);
    assert_eq!((beside.code, beside.stderr.as_str()), (0, ""));
    let further = desk.run(&["check", "cluster.yaml", "prod/over.yaml"]);
    assert!(
        further.code == 0 && further.stderr.contains("the patches in prod/patches are not applied"),
        "{further:?}"
    );
    let spec = desk.read("cluster.yaml");
    let stdin = desk.pipe(&["check", "-"], spec.as_bytes());
    assert!(
        stdin.code == 0 && stdin.stderr.contains("the patches in patches are not applied"),
        "{stdin:?}"
    );
    let both = desk.pipe(&["check", "cluster.yaml", "-"], b"join: { waitTimeout: 48m }\n");
    assert_eq!((both.code, both.stderr.as_str()), (0, ""));
    desk.write("patches/all/20.yaml.off", patch);
    let stray = desk.run(&["check"]);
    assert!(
        stray.code == 3 && stray.stderr.contains("error[FL0714]") && stray.stderr.contains("patches/all/20.yaml.off"),
        "{stray:?}"
    );
    assert_eq!(desk.run(&["render"]).code, 3);
    fs::remove_file(desk.at("patches/all/20.yaml.off")).unwrap();
    assert_eq!(desk.run(&["render"]).code, 0);
    assert!(desk.read("out/nodes/home1/user-data").contains("a=b"));
}

#[test]
fn own_profiles_reach_the_documents() {
    let desk = own_profiles();
    let mut command = desk.command(&["render", "--set", "os=acme", "--set", "nodes[home1].os=null"]);
    let ran = Ran::of(&command.env("FIRELAY_PROFILES", "own").output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(desk.read("out/nodes/home1/user-data").contains("/opt/acme/bin"));
    desk.write("own/os/acme.yaml", "extends: ubuntu\n");
    let ran = desk.run(&["check", "--profiles", "own"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("--> own/os/acme.yaml:1:10"), "{ran:?}");
}
