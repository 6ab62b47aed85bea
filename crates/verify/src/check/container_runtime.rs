//! The container runtime's configuration, compared with the settings of the kubelet, kubeadm and crictl.

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::{Known, artifacts, kubeadm};
use crate::{
    Finding, Level, Machine,
    cluster::{CRIO, Runtime, runtime},
};

/// The configuration of crictl.
const CRICTL: &str = "/etc/crictl.yaml";

/// Where hosts of registries are configured.
const REGISTRIES: &str = "/etc/containerd/certs.d";

/// kubeadm's default for the kubelet (componentconfigs/kubelet.go).
const DRIVER: &str = "systemd";

/// Since this version of its configuration containerd reports its cgroup driver to the kubelet (RuntimeConfig of the
/// CRI).
const TELLING: u64 = 3;

/// All settings that concern the container runtime.
pub(super) fn check(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let own = runtime(machine);
    let config = machine.text(own.config).and_then(table);
    let mut findings = socket(machine, own, config.as_ref());
    let Some(config) = &config else { return findings };
    if *own == CRIO {
        findings.extend(cgroup_manager(machine, config, known));
    } else {
        findings.extend(driver(machine, own, config, known));
        findings.extend(registries(machine, own, config));
    }
    findings.extend(plugins(machine, own, config));
    findings
}

fn finding(machine: &Machine, path: &str, level: Level, message: String) -> Finding {
    machine.error("FL1044", path, message).level(level)
}

/// TOML as JSON. Another check reports invalid TOML.
fn table(text: &str) -> Option<Value> {
    let table = DeTable::parse(text).ok()?;
    Some(object(table.get_ref()))
}

fn object(table: &DeTable<'_>) -> Value {
    let entries = table
        .iter()
        .map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Integer(number) => number.to_string().parse::<i64>().map_or(Value::Null, Value::from),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => object(table),
        _ => Value::Null,
    }
}

/// Values at a pointer within each of containerd's plugins.
fn settings<'a>(config: &'a Value, pointer: &'a str) -> impl Iterator<Item = &'a Value> {
    let plugins = config.get("plugins").and_then(Value::as_object);
    plugins
        .into_iter()
        .flat_map(Map::values)
        .filter_map(move |plugin| plugin.pointer(pointer))
}

/// The kubelet, kubeadm and crictl use the container runtime's socket.
fn socket(machine: &Machine, own: &Runtime, config: Option<&Value>) -> Vec<Finding> {
    let listens = config
        .and_then(|config| config.pointer(own.listens)?.as_str())
        .unwrap_or(own.socket);
    let registrations = kubeadm::configs(machine);
    let registrations = registrations.flat_map(|config| {
        let told = ["/nodeRegistration/criSocket", "/containerRuntimeEndpoint"].into_iter();
        told.filter_map(|pointer| {
            Some((
                config.path.as_str(),
                config.value.pointer(pointer)?.as_str()?,
                Level::Error,
            ))
        })
    });
    let lines = machine.text(CRICTL).unwrap_or_default().lines();
    let crictl = lines.filter_map(|line| line.strip_prefix("runtime-endpoint:"));
    let crictl = crictl.map(|told| (CRICTL, told.trim().trim_matches('"'), Level::Warning));
    let other = registrations
        .chain(crictl)
        .filter(|(_, told, _)| told.trim_start_matches("unix://") != listens);
    other
        .map(|(path, told, level)| {
            let message = format!(
                "it asks the container runtime at {told}, {} listens at {listens}",
                own.name
            );
            finding(machine, path, level, message)
        })
        .collect()
}

/// With two drivers systemd and the kubelet each write the cgroups of pods, or no pod starts.
fn driver(machine: &Machine, own: &Runtime, config: &Value, known: &Known<'_>) -> Vec<Finding> {
    let told = kubeadm::kubelet_field(machine, known.tree, "cgroupDriver").and_then(Value::as_str);
    let by_systemd = told.unwrap_or(DRIVER) == DRIVER;
    let is_telling = config
        .get("version")
        .and_then(Value::as_u64)
        .is_some_and(|version| version >= TELLING);
    let level = Level::error_if(!is_telling);
    let handlers = settings(config, "/containerd/runtimes")
        .filter_map(Value::as_object)
        .flatten();
    let runc = handlers.filter(|(_, handler)| {
        let kind = handler.get("runtime_type").and_then(Value::as_str);
        kind.is_some_and(|kind| kind.contains(".runc."))
    });
    let other = runc.filter(|(_, handler)| {
        let own = handler.pointer("/options/SystemdCgroup").and_then(Value::as_bool);
        own.unwrap_or_default() != by_systemd
    });
    other
        .map(|(name, _)| {
            let message = format!(
                "SystemdCgroup of {name} and the kubelet's cgroupDriver {} are not the same driver",
                told.unwrap_or(DRIVER)
            );
            finding(machine, own.config, level, message)
        })
        .collect()
}

/// CRI-O of every minor that is written tells the kubelet its driver, which follows it.
fn cgroup_manager(machine: &Machine, config: &Value, known: &Known<'_>) -> Option<Finding> {
    let told = kubeadm::kubelet_field(machine, known.tree, "cgroupDriver").and_then(Value::as_str);
    let told = told.unwrap_or(DRIVER);
    let own = config.pointer("/crio/runtime/cgroup_manager").and_then(Value::as_str);
    let own = own.unwrap_or(DRIVER);
    (own != told).then(|| {
        let message = format!("cgroup_manager {own} and the kubelet's cgroupDriver {told} are not the same driver");
        finding(machine, CRIO.config, Level::Warning, message)
    })
}

/// Mirrors in the document must be in containerd's directory.
fn registries(machine: &Machine, own: &Runtime, config: &Value) -> Option<Finding> {
    machine.root.below(REGISTRIES).next()?;
    let mut read = settings(config, "/registry/config_path").filter_map(Value::as_str);
    let is_read = read.any(|directories| directories.split(':').any(|directory| directory == REGISTRIES));
    (!is_read).then(|| {
        let message = format!("config_path does not name {REGISTRIES}, where the document lays registries");
        finding(machine, own.config, Level::Error, message)
    })
}

/// CNI plugins have to be where the container runtime looks.
fn plugins(machine: &Machine, own: &Runtime, config: &Value) -> Option<Finding> {
    let fetched = artifacts::directory(machine, "cni-plugins")?;
    let one = settings(config, "/cni/bin_dir").filter_map(Value::as_str);
    let more = settings(config, "/cni/bin_dirs").filter_map(Value::as_array).flatten();
    let crio = config.pointer("/crio/network/plugin_dirs").and_then(Value::as_array);
    let more = more.chain(crio.into_iter().flatten());
    let mut read = one.chain(more.filter_map(Value::as_str));
    (!read.any(|directory| directory.trim_end_matches('/') == fetched)).then(|| {
        let message = format!("CNI plugins are fetched to {fetched}, where {} does not look", own.name);
        finding(machine, own.config, Level::Error, message)
    })
}
