//! The examples: no findings, and tables that were reviewed.

use std::collections::BTreeSet;

use firelay::{
    audit::Exposure,
    commands::{assembly::Assembly, known_secrets::LEAVES, project::Project},
    profile::Profiles,
    secrets::Bundle,
    spec::CaKeys,
};
use serde_json::Value;

use super::{
    rendered::Rendered,
    support::{example, examples, golden::Golden, root, said},
};

#[test]
fn examples_have_no_finding_and_the_tables_that_were_agreed() {
    let mut golden = Golden::open("audit");
    for example in examples() {
        let tree = Rendered::of(&example.name);
        let audited = tree.audit(true, &[]);
        assert!(audited.status.success(), "{}: {}", example.name, said(&audited));
        golden.compare(&format!("{}.txt", example.name), &said(&audited));
    }
    golden.compare("refused.txt", &super::policy::refused());
    golden.compare("tampered.txt", &super::tampered::everything());
    golden.close();
}

/// The audit finds the same with and without the bundle.
#[test]
fn without_a_bundle_the_same_is_found() {
    for example in examples() {
        let tree = Rendered::of(&example.name);
        let rows = |with_bundle| tree.report(with_bundle)["documents"].clone();
        assert_eq!(rows(true), rows(false), "{}", example.name);
    }
}

/// A key that the audit does not know would not be found in other machines' documents.
#[test]
fn every_key_that_is_issued_is_searched_for() {
    let roots = ["pki/ca", "pki/etcd/ca", "pki/front-proxy-ca", "pki/sa"];
    let known: BTreeSet<_> = LEAVES.iter().map(|(path, ..)| *path).chain(roots).collect();
    let mut seen = BTreeSet::new();
    for example in examples() {
        let Ok(mut project) = Project::load(&example.spec.as_path().into()) else {
            panic!("{} is refused", example.name)
        };
        let text = std::fs::read_to_string(&example.bundle).unwrap();
        let bundle = Bundle::parse("bundle", &text).unwrap();
        for keys in [CaKeys::ControlPlane, CaKeys::Signer, CaKeys::None] {
            project.plan.pki.ca_keys = keys;
            let Ok(assembly) = Assembly::new(&project, &bundle, false) else {
                panic!("{}", example.name)
            };
            for node in &project.plan.nodes {
                let Ok(pki) = assembly.pki(node) else {
                    panic!("{}", node.name)
                };
                let secret = pki
                    .files
                    .iter()
                    .filter(|file| file.content.expose().contains("PRIVATE KEY"));
                for path in secret.map(|file| file.path.rsplit_once('.').unwrap().0) {
                    assert!(known.contains(path), "{} {}: {path}", example.name, node.name);
                    seen.insert(path.to_owned());
                }
            }
        }
    }
    assert_eq!(seen, known.into_iter().map(str::to_owned).collect());
}

#[test]
fn a_report_tells_who_opens_what() {
    let report = Rendered::of("pointer-s3").report(true);
    let documents = report["documents"].as_array().unwrap();
    let of = |name: &str| documents.iter().find(|row| row["node"] == name).unwrap();
    let titles = |row: &Value, key: &str| -> Vec<String> {
        let secrets = row[key].as_array().unwrap().iter();
        secrets
            .map(|secret| secret["title"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(of("cp1")["exposure"], "identity", "{report:#}");
    assert_eq!(titles(of("cp1"), "opens"), ["what opens its payload"]);
    assert!(titles(of("cp1"), "fetched").contains(&"service-account key".to_owned()));
    assert_eq!(of("w1")["exposure"], "public");
    assert_eq!(titles(of("burst"), "fetched"), ["bootstrap token"]);
    assert_eq!(of("cp1")["payload"]["sealed"], true);
    let readers = report["readers"].as_array().unwrap();
    assert!(
        readers
            .iter()
            .all(|reader| reader["readableBy"].as_str().unwrap().contains("ec2:"))
    );
}

#[test]
fn a_tree_of_other_secrets_is_not_audited_with_these() {
    let tree = Rendered::of("mixed");
    example("ha-ubuntu").lay_bundle(&tree.at("bundle.secrets.yaml"));
    let audited = tree.audit(true, &[]);
    assert_eq!(audited.status.code(), Some(4));
    assert!(
        said(&audited).contains("the tree was rendered with the secrets HMAC-SHA256:"),
        "{}",
        said(&audited)
    );
}

#[test]
fn there_has_to_be_a_tree() {
    let tree = Rendered::of("mixed");
    std::fs::remove_file(tree.at("out/manifest.json")).unwrap();
    assert_eq!(tree.audit(false, &[]).status.code(), Some(1));
}

/// The handbook and the profiles name the same readers of documents.
#[test]
fn the_handbook_tells_who_reads() {
    let page = std::fs::read_to_string(root().join("docs/audit.md")).unwrap();
    let profiles = Profiles::embedded().unwrap();
    for (name, profile) in &profiles.platform {
        let row = page
            .lines()
            .find(|line| line.contains(&format!("(platforms/{name}.md)")));
        let row = row.unwrap_or_else(|| panic!("{name} has no row"));
        assert!(row.contains(&format!("| {} |", profile.readable_by)), "{name}: {row}");
        for narrow in &profile.narrowed_by {
            assert!(row.contains(narrow.as_str()), "{name}: {row}");
        }
    }
    for exposure in Exposure::ALL {
        assert!(page.contains(&format!("| `{exposure}` |")), "{exposure}");
    }
}

/// The page shows the audit of the spec that it names.
#[test]
fn the_page_shows_what_is_said() {
    let page = std::fs::read_to_string(root().join("docs/audit.md")).unwrap();
    let (_, shown) = page
        .split_once("$ firelay audit out --secrets firelay.secrets.yaml\n")
        .unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let said = std::fs::read_to_string(root().join("tests/golden/audit/ha-ubuntu.txt")).unwrap();
    let mut rest = said.lines();
    for line in shown.lines().filter(|line| line.trim() != "…") {
        assert!(rest.any(|said| said == line), "{line}\n{said}");
    }
}
