//! containerd's own configuration, `/etc/containerd/config.toml`. containerd's own defaults are omitted.

use serde_json::{Value, json};

use super::{Error, NodeFile, registry, render};
use crate::{
    plan::{NodePlan, Plan},
    profile::ContainerdProfile,
    spec::OciRuntime,
};

/// The shim of runc and of programs with runc's command line; only this one supports the options below.
const RUNC_SHIM: &str = "io.containerd.runc.v2";

/// A runtime in the template's terms. Without a value of `systemd_cgroup` the option is omitted: other shims refuse unknown options.
fn runtime(runtime: &OciRuntime) -> Value {
    let kind = runtime.kind.value.as_str();
    json!({
        "name": runtime.name.value,
        "kind": kind,
        "binary": runtime.binary.as_ref().map(|binary| &binary.value),
        "systemd_cgroup": runtime.systemd_cgroup.or((kind == RUNC_SHIM).then_some(true)),
    })
}

/// `config.toml` in the version that this containerd reads, and a directory of `certs.d` for every registry.
///
/// The file is always written whole: packages ship one with the CRI plugin disabled.
pub fn files(plan: &Plan, node: &NodePlan, profile: &ContainerdProfile) -> Result<Vec<NodeFile>, Error> {
    // runc is found by the PATH of containerd's unit, so it needs no `BinaryName`.
    let runc = json!({ "name": "runc", "kind": RUNC_SHIM, "binary": null, "systemd_cgroup": true });
    let further = plan.runtime.runtimes.iter().map(runtime);
    let context = json!({
        "sandbox_image": plan.runtime.sandbox_image,
        "snapshotter": plan.runtime.snapshotter,
        "cni_bin": node.os.paths.cni_bin,
        "archives": !node.image_archives.is_empty(),
        "runtimes": std::iter::once(runc).chain(further).collect::<Vec<_>>(),
    });
    let template = format!("runtime/config-v{}.toml.j2", profile.config_version);
    let mut files = vec![render::file(node, "/etc/containerd/config.toml", &template, &context)?];
    files.extend(registry::files(plan, node)?);
    Ok(files)
}
