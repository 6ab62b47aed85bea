//! Arguments of the user's that start a component, but not a cluster.

use firelay_yaml::diagnostic::Diagnostic;

use crate::{
    plan::{
        VolumePlan,
        facts::{FACTS, KeptList},
        host,
        report::Report,
    },
    spec::Argument,
};

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
    let same = |list: &&KeptList| list.component == component && list.argument == argument.name.value;
    let KeptList {
        argument: name,
        keeps,
        why,
        ..
    } = FACTS.kept_lists.iter().find(same)?;
    let given: Vec<_> = argument.value.split(',').map(str::trim).collect();
    let missing = keeps.iter().map(String::as_str).filter(|entry| !given.contains(entry));
    let missing: Vec<_> = missing.collect();
    (!missing.is_empty()).then(|| {
        Diagnostic::error("FL0518", format!("`{name}` without {}", missing.join(" and ")))
            .at(argument.value.span)
            .label(why)
            .help(format!("add {}: the value replaces kubeadm's", missing.join(",")))
    })
}

fn check_file(argument: &Argument, volumes: &[VolumePlan]) -> Option<Diagnostic> {
    let names_file = argument.name.as_str() == "config" || FILES.iter().any(|end| argument.name.ends_with(end));
    let path = argument.value.as_str();
    let own = volumes.iter().map(|volume| &volume.mount_path);
    let mounted = FACTS
        .mounted
        .iter()
        .chain(own)
        .any(|directory| host::within(path, directory));
    (names_file && path.starts_with('/') && !mounted).then(|| {
        let help = "add its directory to extraVolumes, with hostPath and mountPath, and write the file by `files`";
        Diagnostic::error("FL0519", "a file that is not mounted into the pod")
            .at(argument.value.span)
            .label("the container does not see it")
            .help(help)
    })
}
