//! Arguments of the user's that start a component, but not a cluster.

use firelay_yaml::diagnostic::Diagnostic;

use crate::{
    plan::{VolumePlan, report::Report},
    spec::Argument,
};

/// Lists that the user's value replaces, what must stay in them, and why.
const LISTS: &[(&str, &str, &[&str], &str)] = &[
    (
        "kube-apiserver",
        "authorization-mode",
        &["Node", "RBAC"],
        "kubelets and administrators would be refused",
    ),
    (
        "kube-controller-manager",
        "controllers",
        &["bootstrapsigner", "tokencleaner"],
        "nodes that join by token wait for the first, and old tokens for the second",
    ),
];
/// Paths that kubeadm itself mounts (`cmd/kubeadm/app/phases/controlplane/volumes.go`).
const MOUNTED: &[&str] = &[
    "/etc/ca-certificates",
    "/etc/kubernetes/controller-manager.conf",
    "/etc/kubernetes/pki",
    "/etc/kubernetes/scheduler.conf",
    "/etc/pki",
    "/etc/ssl/certs",
    "/usr/local/share/ca-certificates",
    "/usr/share/ca-certificates",
];
/// How the names of arguments end that name a file to read.
const FILES: &[&str] = &["-file", "-config", "-kubeconfig", "-cafile", "-certfile", "-keyfile"];

/// Checks the arguments of a static pod with its volumes.
pub(in crate::plan) fn check(component: &str, arguments: &[Argument], volumes: &[VolumePlan], report: &mut Report) {
    for argument in arguments {
        report.extend(check_list(component, argument));
        report.extend(check_file(argument, volumes));
    }
}

fn check_list(component: &str, argument: &Argument) -> Option<Diagnostic> {
    let group = |group: &&(&str, &str, &[&str], &str)| group.0 == component && group.1 == argument.name.as_str();
    let (_, name, needed, why) = LISTS.iter().find(group)?;
    let given: Vec<_> = argument.value.split(',').map(str::trim).collect();
    let missing: Vec<_> = needed.iter().filter(|entry| !given.contains(*entry)).copied().collect();
    (!missing.is_empty()).then(|| {
        Diagnostic::error("FL0518", format!("`{name}` without {}", missing.join(" and ")))
            .at(argument.value.span)
            .label(*why)
            .help(format!("add {}: the value replaces kubeadm's", missing.join(",")))
    })
}

fn check_file(argument: &Argument, volumes: &[VolumePlan]) -> Option<Diagnostic> {
    let names_file = argument.name.as_str() == "config" || FILES.iter().any(|end| argument.name.ends_with(end));
    let path = argument.value.as_str();
    let below = |directory: &str| {
        path.strip_prefix(directory)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mounted = MOUNTED.iter().any(|directory| below(directory))
        || volumes.iter().any(|it| below(it.mount_path.trim_end_matches('/')));
    (names_file && path.starts_with('/') && !mounted).then(|| {
        let help = "add its directory to extraVolumes, with hostPath and mountPath, and lay the file by `files`";
        Diagnostic::error("FL0519", "a file that is not mounted into the pod")
            .at(argument.value.span)
            .label("the container does not see it")
            .help(help)
    })
}
