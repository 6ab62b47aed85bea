//! containerd's own configuration, `/etc/containerd/config.toml`. containerd's own defaults are omitted.

use serde::Serialize;

use super::{Error, NodeFile, registry, render};
use crate::{
    declaration::Handler,
    plan::{NodePlan, Plan},
    profile::ContainerdProfile,
    spec::OciRuntime,
};

/// The shim of runc and of programs with runc's command line; only this one supports the options below.
const RUNC_SHIM: &str = "io.containerd.runc.v2";

#[derive(Serialize)]
struct Context<'a> {
    sandbox_image: &'a str,
    snapshotter: &'a str,
    cni_bin: &'a str,
    /// Archives of images are imported.
    archives: bool,
    runtimes: Vec<Runtime<'a>>,
}

#[derive(Serialize)]
struct Runtime<'a> {
    name: &'a str,
    kind: &'a str,
    /// Path of the shim.
    path: Option<&'a str>,
    without_host_devices: bool,
    options: Options<'a>,
}

/// `None` omits an option: other shims refuse unknown ones.
#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Options<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    type_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    systemd_cgroup: Option<bool>,
}

impl<'a> Runtime<'a> {
    /// runc is found by the PATH of containerd's unit, so it needs no `BinaryName`.
    const RUNC: Runtime<'static> = Runtime {
        name: "runc",
        kind: RUNC_SHIM,
        path: None,
        without_host_devices: false,
        options: Options {
            type_url: None,
            config_path: None,
            binary_name: None,
            systemd_cgroup: Some(true),
        },
    };

    fn of(runtime: &'a OciRuntime) -> Self {
        let kind = runtime.kind.value.as_str();
        Self {
            name: &runtime.name.value,
            kind,
            options: Options {
                binary_name: runtime.binary.as_ref().map(|binary| binary.value.as_str()),
                systemd_cgroup: runtime.systemd_cgroup.or((kind == RUNC_SHIM).then_some(true)),
                ..Options::default()
            },
            ..Self::RUNC
        }
    }

    fn brought(handler: &'a Handler) -> Self {
        Self {
            name: &handler.name,
            kind: &handler.kind,
            path: handler.shim.as_deref(),
            without_host_devices: handler.without_host_devices,
            options: Options {
                type_url: handler.options.as_deref(),
                config_path: handler.config.as_deref(),
                binary_name: handler.program.as_deref(),
                systemd_cgroup: (handler.kind == RUNC_SHIM).then_some(true),
            },
        }
    }
}

/// `config.toml` in the version that this containerd reads, and a directory of `certs.d` for every registry.
///
/// The file is always written whole: packages ship one with the CRI plugin disabled.
pub fn files(plan: &Plan, node: &NodePlan, profile: &ContainerdProfile) -> Result<Vec<NodeFile>, Error> {
    let context = Context {
        sandbox_image: &plan.runtime.sandbox_image,
        snapshotter: &plan.runtime.snapshotter,
        cni_bin: &node.os.paths.cni_bin,
        archives: !node.image_archives.is_empty(),
        runtimes: std::iter::once(Runtime::RUNC)
            .chain(plan.runtime.runtimes.iter().map(Runtime::of))
            .chain(plan.requirements.runtimes.iter().map(Runtime::brought))
            .collect(),
    };
    let template = format!("runtime/config-v{}.toml.j2", profile.config_version);
    let mut files = vec![render::file(node, "/etc/containerd/config.toml", &template, &context)?];
    files.extend(registry::files(plan, node)?);
    Ok(files)
}
