//! `sysctls`, `kernelModules` and `swap`.

use std::collections::BTreeMap;

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};

use super::Site;
use crate::{
    plan::{names, report::Report},
    spec::{HostSettings, Role, Spec},
};

/// A kernel parameter as every machine with a kubelet gets it.
#[derive(Debug)]
pub struct Sysctl {
    /// `net.ipv4.ip_forward`.
    pub name: &'static str,
    /// The value, unless the spec sets another.
    pub value: &'static str,
    bound: Bound,
}

/// Values that a spec may set instead.
#[derive(Debug)]
enum Bound {
    /// No other value, with the reason.
    Fixed(&'static str),
    /// This value or a higher one.
    Least,
}

/// `setupKernelTunables` in `pkg/kubelet/cm/container_manager_linux.go`.
const KUBELET: Bound = Bound::Fixed("a kubelet sets this value itself, or does not start (protectKernelDefaults)");
const PODS: Bound = Bound::Fixed("without it pods and services are not reached from other machines");

const fn sysctl(name: &'static str, value: &'static str, bound: Bound) -> Sysctl {
    Sysctl { name, value, bound }
}

/// Forwarding, inotify limits, and the values that a kubelet's `protectKernelDefaults` requires.
pub const SYSCTLS: &[Sysctl] = &[
    sysctl("fs.inotify.max_user_instances", "8192", Bound::Least),
    sysctl("fs.inotify.max_user_watches", "524288", Bound::Least),
    sysctl("kernel.keys.root_maxbytes", "25000000", KUBELET),
    sysctl("kernel.keys.root_maxkeys", "1000000", KUBELET),
    sysctl("kernel.panic", "10", KUBELET),
    sysctl("kernel.panic_on_oops", "1", KUBELET),
    sysctl("net.bridge.bridge-nf-call-ip6tables", "1", PODS),
    sysctl("net.bridge.bridge-nf-call-iptables", "1", PODS),
    sysctl("net.ipv4.ip_forward", "1", PODS),
    sysctl("vm.overcommit_memory", "1", KUBELET),
    sysctl("vm.panic_on_oom", "0", KUBELET),
];

/// Additional ones, if pods have IPv6 addresses.
pub const SYSCTLS_IPV6: &[Sysctl] = &[
    sysctl("net.ipv6.conf.all.forwarding", "1", PODS),
    sysctl("net.ipv6.conf.default.forwarding", "1", PODS),
];

/// The parameters of a machine. On one with a kubelet, those of firelay's own must stay as they are, or within bounds.
pub(super) fn sysctls(
    settings: &BTreeMap<&Spanned<String>, &Spanned<String>>,
    site: &Site<'_>,
    report: &mut Report,
) -> BTreeMap<String, String> {
    for (name, value) in settings.iter().filter(|_| site.kubelet) {
        let own = SYSCTLS
            .iter()
            .chain(site.ipv6.then_some(SYSCTLS_IPV6).into_iter().flatten());
        report.take(
            own.filter(|own| own.name == name.as_str())
                .try_for_each(|own| check_own(own, value)),
        );
    }
    let text = |(name, value): (&&Spanned<String>, &&Spanned<String>)| (name.value.clone(), value.value.clone());
    settings.iter().map(text).collect()
}

fn check_own(own: &Sysctl, value: &Spanned<String>) -> Result<(), Diagnostic> {
    let finding = || Diagnostic::error("FL0610", format!("{} cannot be set to this", own.name)).at(value.span);
    let number = |text: &str| text.parse::<u64>().unwrap_or(0);
    match own.bound {
        Bound::Fixed(why) if value.as_str() != own.value => Err(finding()
            .label(why)
            .help(format!("remove it; firelay sets {}", own.value))),
        Bound::Least if number(value) < number(own.value) => Err(finding()
            .label("kubelets and pods need more")
            .help(format!("write {} or more", own.value))),
        _ => Ok(()),
    }
}

/// Refuses invalid parameters. One spelling each, that of `sysctl -a` (sysctl.d(5): a slash replaces a dot within a
/// name).
pub(super) fn check_sysctl(name: &Spanned<String>, value: &Spanned<String>, report: &mut Report) {
    let is_part = |part: &str| !part.is_empty() && names::is_plain(part, "_-/");
    let parts: Vec<_> = name.split('.').collect();
    if parts.len() < 2 || parts[0].contains('/') || !parts.iter().all(|part| is_part(part)) {
        let finding = Diagnostic::error("FL0610", "not the name of a kernel parameter").at(name.span);
        report.push(finding.help("write it with dots, as sysctl -a does: net.core.somaxconn"));
    }
    if value.trim().is_empty() || value.contains(char::is_control) {
        let finding = Diagnostic::error("FL0610", "not the value of a kernel parameter").at(value.span);
        report.push(finding.label("one line, not empty"));
    }
}

/// Refuses what is no module; its parameters belong into a file below /etc/modprobe.d.
pub(super) fn check_module(module: &Spanned<String>, report: &mut Report) {
    if module.is_empty() || module.starts_with('-') || !names::is_plain(module, "_-") {
        let finding = Diagnostic::error("FL0611", "not the name of a kernel module").at(module.span);
        let help = "parameters belong into a file: /etc/modprobe.d/NAME.conf, with a line `options MODULE …`";
        report.push(finding.label("letters, digits, _ and -").help(help));
    }
}

/// `swap` where no kubelet minds it.
pub(super) fn check_unused_swap(spec: &Spec, report: &mut Report) {
    let lone = |roles: &[Spanned<Role>]| roles.iter().all(|role| role.value == Role::Etcd);
    let nodes = spec
        .nodes
        .iter()
        .filter(|node| lone(&node.roles))
        .map(|node| node.host());
    let swap_of = |settings: HostSettings<'_>| settings.swap.span();
    for span in std::iter::once(spec.roles.etcd.host()).chain(nodes).filter_map(swap_of) {
        let finding = Diagnostic::warning("FL0511", "`swap` has no effect").at(span);
        report.push(finding.label("there is no kubelet, and swap stays as the image has it"));
    }
}
