//! `examples/terraform/replace` with programs that write down how they are called. Terraform plans the machines that it has.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use super::desk::Desk;
use super::support::{root, said};

const PROGRAMS: [(&str, &str); 3] = [
    ("kubectl", "[ \"$1\" != get ] || echo node/worker-1\n"),
    ("firelay", ""),
    (
        "terraform",
        "[ \"$1\" != plan ] || echo '  # aws_instance.worker[\"worker-1\"] will be replaced, as requested'\n",
    ),
];

fn replace(desk: &Desk, arguments: &[&str]) -> (Output, String) {
    fs::create_dir_all(desk.at("bin")).unwrap();
    for (name, script) in PROGRAMS {
        let path = format!("bin/{name}");
        desk.write(&path, &format!("#!/bin/bash\necho {name} \"$@\" >>calls\n{script}"));
        fs::set_permissions(desk.at(&path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new(root().join("examples/terraform/replace"));
    let path = format!("{}:/usr/bin:/bin", desk.at("bin").display());
    let command = command.args(arguments).current_dir(desk.at(".")).env("PATH", path);
    let output = command.output().unwrap();
    (output, fs::read_to_string(desk.at("calls")).unwrap_or_default())
}

#[test]
fn a_machine_is_drained_rendered_and_created_anew() {
    let (output, calls) = replace(&Desk::empty(), &["aws_instance.worker", "worker-1"]);
    assert!(output.status.success(), "{}", said(&output));
    let flags = "-replace=aws_instance.worker[\"worker-1\"] -target=aws_instance.worker[\"worker-1\"]";
    let expected = [
        &format!("terraform plan -input=false -no-color {flags}"),
        "kubectl get node worker-1 --ignore-not-found --output name",
        "kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=15m",
        "firelay render --replace worker-1",
        "kubectl delete node worker-1 --ignore-not-found",
        &format!("terraform apply -auto-approve {flags}"),
        "kubectl wait --for=create node/worker-1 --timeout=15m",
        "kubectl wait --for=condition=Ready node/worker-1 --timeout=15m",
    ];
    assert_eq!(calls.lines().collect::<Vec<_>>(), expected);
}

/// Terraform plans nothing for an address that it does not have, and succeeds.
#[test]
fn nothing_is_drained_for_an_address_that_terraform_does_not_have() {
    for resources in [
        "module.cluster.aws_instance.worker",
        "aws_instance.member,aws_instance.worker",
    ] {
        let (output, calls) = replace(&Desk::empty(), &[resources, "worker-1"]);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains("nothing was changed"), "{}", said(&output));
        assert!(calls.lines().all(|call| call.starts_with("terraform plan")), "{calls}");
    }
}
