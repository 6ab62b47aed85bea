//! `verify` parses a tree into the same machines as cloud-init's own code and the `ignition-config` crate.

use std::collections::BTreeMap;

use firelay_verify::{Format, Tree, What};

use super::support::{self, Files, examples};

#[test]
fn every_machine_of_the_examples_is_read_as_its_system_reads_it() {
    let (mut forms, mut formats) = (BTreeMap::new(), [0, 0]);
    for example in examples() {
        let out = support::rendered(&example.name);
        let tree = Tree::open(out).unwrap();
        assert!(tree.faults.is_empty(), "{:?}", tree.faults);
        let plain = support::read_tree(out);
        assert_eq!(tree.machines.len(), plain.len(), "{}", example.name);
        for machine in &tree.machines {
            let place = format!("{} {}", example.name, machine.name);
            assert!(machine.faults.is_empty(), "{place}: {:?}", machine.faults);
            let handed = machine
                .files
                .iter()
                .find(|file| file.described.path == machine.document);
            let form = handed.unwrap().described.form.clone().unwrap();
            let pointed = form == "pointer";
            *forms.entry(form).or_insert(0) += 1;
            formats[usize::from(machine.format == Format::Ignition)] += 1;
            let mut files: Files = machine
                .root
                .files()
                .map(|(path, entry, bytes)| {
                    let text = String::from_utf8(bytes.to_vec()).unwrap();
                    (path.to_owned(), (entry.mode, text))
                })
                .collect();
            if pointed && machine.format == Format::CloudInit {
                // Files that only the stub has.
                files.retain(|path, _| !path.contains("pointer") && !path.contains("fetch"));
            }
            assert_eq!(files, plain[&machine.name], "{place}");
            assert!(machine.enabled.contains("firelay.service"), "{place}");
            let firelay = machine.root.entries.get("/etc/firelay");
            assert!(
                firelay.is_some_and(|entry| matches!(entry.what, What::Directory) && entry.mode == 0o700),
                "{place}"
            );
        }
    }
    assert_eq!(
        forms.into_keys().collect::<Vec<_>>(),
        ["compressed", "inner", "plain", "pointer"],
        "the examples have every form"
    );
    assert!(formats.iter().all(|count| *count > 10), "{formats:?}");
}
