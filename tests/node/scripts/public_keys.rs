//! Certificates of a founder's document on EC2, which lack their public keys.

use std::{collections::BTreeMap, fs, sync::LazyLock};

use super::support::{
    self, Files, documents,
    machine::{Machine, driver, succeeded},
    public_keys::STEP,
};

const NAME: &str = "11-public-keys";

/// The files as the document has them, and as they should be afterwards.
static FOUNDER: LazyLock<(Files, Files)> = LazyLock::new(|| {
    let out = support::rendered("ha-ubuntu");
    let (_, document) = documents(out).remove(0);
    let laid = support::read_cloud_init(&fs::read(&document).unwrap()).files;
    (laid, support::read_document(&document))
});

/// The certificates that the step changes, with their whole texts.
fn shortened() -> BTreeMap<&'static str, &'static str> {
    let (laid, whole) = &*FOUNDER;
    let changed = whole.iter().filter(|(path, (_, text))| laid[*path].1 != *text);
    changed
        .map(|(path, (_, text))| (path.as_str(), text.as_str()))
        .collect()
}

fn machine() -> Machine {
    Machine::with(&FOUNDER.0, "http://")
}

/// Every certificate is whole, and nothing else is in the directories.
fn assert_whole(machine: &Machine) {
    for (path, text) in shortened() {
        assert_eq!(machine.read(path), text, "{path}");
        assert!(!machine.at(&format!("{path}.firelay")).exists(), "{path}");
    }
}

#[test]
fn certificates_get_their_public_keys() {
    assert!(FOUNDER.0.contains_key(STEP));
    let paths: Vec<_> = shortened().into_keys().collect();
    assert!(paths.len() >= 12, "{paths:?}");
    let machine = machine();
    succeeded(&machine.step(NAME));
    assert_whole(&machine);
    // After a power cut the driver runs it again.
    succeeded(&machine.step(NAME));
    assert_whole(&machine);
}

/// The driver looks for empty files before the step runs again. A file that is not synced may be empty after a power cut.
#[test]
fn a_half_written_file_of_a_power_cut_is_replaced() {
    for content in ["", "-----BEGIN CERT"] {
        let machine = machine();
        let steps = machine.at(STEP).parent().unwrap().to_owned();
        let others = fs::read_dir(steps).unwrap().map(|entry| entry.unwrap().path());
        for step in others.filter(|step| !step.ends_with(NAME)) {
            fs::remove_file(step).unwrap();
        }
        let (path, _) = shortened().pop_first().unwrap();
        machine.write(&format!("{path}.firelay"), 0o644, content);
        succeeded(&driver(&machine));
        assert_whole(&machine);
    }
}

#[test]
fn a_key_that_cannot_be_read_is_reported() {
    let machine = machine();
    machine.write(
        "/etc/firelay/pki/apiserver.key",
        0o600,
        "-----BEGIN EC PRIVATE KEY-----\n",
    );
    let output = machine.step(NAME);
    assert!(!output.status.success());
    let error = machine.read("/var/lib/firelay/error");
    let (start, end) = error.split_once(" for ").unwrap();
    assert_eq!(start, "ssh-keygen computes no public key");
    assert!(end.ends_with("/etc/firelay/pki/apiserver.crt"), "{end}");
    assert_eq!(
        machine.read("/etc/firelay/pki/apiserver.crt"),
        FOUNDER.0["/etc/firelay/pki/apiserver.crt"].1
    );
}
