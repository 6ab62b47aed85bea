//! The driver.

use super::support::machine::{Machine, driver, failed, succeeded};
use std::fs;

/// Three steps; the second fails until the file `well` exists.
fn steps(machine: &Machine, failure: &str) {
    let steps = machine.at("/usr/local/lib/firelay/steps");
    fs::remove_dir_all(&steps).unwrap();
    let root = machine.root().display();
    let lib = machine.at("/usr/local/lib/firelay/lib.sh");
    let head = format!("#!/bin/bash\n. {}\necho \"${{0##*/}}\" >>{root}/ran\n", lib.display());
    for (name, rest) in [
        ("10-a", String::new()),
        ("20-b", format!("[ -e {root}/well ] || {failure}")),
        ("30-c", String::new()),
    ] {
        machine.write(
            &format!("/usr/local/lib/firelay/steps/{name}"),
            0o755,
            &format!("{head}{rest}\n"),
        );
    }
}

#[test]
fn the_driver_goes_on_at_the_step_that_failed() {
    let machine = Machine::new("cp1");
    steps(&machine, "fail 'no \"luck\"'");
    let said = failed(&driver(&machine));
    assert!(said.contains("firelay: node=cp1 step=a state=running\n"), "{said}");
    assert!(
        said.contains("firelay: node=cp1 step=b state=failed error=\"no \\\"luck\\\"\"\n"),
        "{said}"
    );
    assert_eq!(said.matches("state=failed").count(), 1, "{said}");
    assert_eq!(machine.status()["attempt"], 1);
    failed(&driver(&machine));
    failed(&driver(&machine));
    assert_eq!(machine.status()["attempt"], 3);
    assert_eq!(machine.status()["lastError"], "no \"luck\"");
    machine.write("/well", 0o644, "");
    let said = succeeded(&driver(&machine));
    assert!(
        said.contains("step=c state=running\n"),
        "a step that is over leaves no error: {said}"
    );
    assert_eq!(machine.read("/ran"), "10-a\n20-b\n20-b\n20-b\n20-b\n30-c\n");
    assert_eq!(machine.read("/slept"), "10\n20\n");
    assert!(machine.exists("/var/lib/firelay/complete"));
}

#[test]
fn the_delay_grows_to_five_minutes_and_a_boot_forgets_it() {
    let machine = Machine::new("cp1");
    steps(&machine, "exit 3");
    for _ in 0..9 {
        failed(&driver(&machine));
    }
    assert_eq!(machine.read("/slept"), "10\n20\n40\n80\n160\n300\n300\n");
    assert_eq!(machine.status()["lastError"], "20-b ended with status 3");
    machine.boot("second");
    failed(&driver(&machine));
    assert_eq!(machine.read("/slept").lines().count(), 7);
    assert_eq!(machine.status()["attempt"], 10);
}

#[test]
fn the_driver_survives_what_a_power_cut_leaves_of_its_counter() {
    for rest in ["", "3", "\0\0\0\0"] {
        let machine = Machine::new("cp1");
        steps(&machine, "true");
        machine.write("/var/lib/firelay/attempt", 0o644, rest);
        succeeded(&driver(&machine));
        assert!(machine.exists("/var/lib/firelay/complete"), "{rest:?}");
    }
}
