//! Dependencies between fields of KubeletConfiguration, as a kubelet sees them: the nearer merged over the cluster's
//! (`pkg/kubelet/apis/config/validation/validation.go`, `pkg/kubelet/eviction`, `pkg/kubelet/cm/cpumanager`).

use std::collections::BTreeMap;

use firelay_yaml::{RawValue, Spanned, diagnostic::Diagnostic};
use serde_json::json;
use time::Duration;

use super::merged::Settings;
use crate::plan::{facts::FACTS, report::Report};

/// Checks the settings of a machine merged over the cluster's; without its own (`near` empty), the cluster's alone.
///
/// Mistakes of the cluster's settings are reported once, not for each machine.
pub(in crate::plan) fn check(
    cluster: &BTreeMap<Spanned<String>, RawValue>,
    near: &BTreeMap<&Spanned<String>, &RawValue>,
    report: &mut Report,
) {
    let settings = Settings { cluster, near };
    settings.check_images(report);
    settings.check_shutdown(report);
    settings.check_reserved(report);
    settings.check_managers(report);
    settings.check_eviction(report);
    settings.check_serving(report);
}

impl Settings<'_> {
    fn check_images(&self, report: &mut Report) {
        let (low, high) = ("imageGCLowThresholdPercent", "imageGCHighThresholdPercent");
        let (least, most) = (self.number(low, 80), self.number(high, 85));
        if least >= most {
            let message = format!("`{low}` ({least}) is not less than `{high}` ({most})");
            self.refuse(&[low, high], &message, "the defaults are 80 and 85", report);
        }
        let (oldest, youngest) = ("imageMaximumGCAge", "imageMinimumGCAge");
        let limit = self.duration(oldest, Duration::ZERO);
        if !limit.is_zero() && limit <= self.duration(youngest, Duration::minutes(2)) {
            let message = format!("`{oldest}` is not longer than `{youngest}`");
            self.refuse(&[oldest, youngest], &message, "the latter is 2m if absent", report);
        }
        let (parallel, serial) = ("maxParallelImagePulls", "serializeImagePulls");
        if self.number(parallel, 1) > 1 && self.is(serial, true) {
            let message = format!("`{parallel}` without `{serial}: false`");
            self.refuse(&[parallel, serial], &message, "remove one of them", report);
        }
    }

    /// firelay's own periods apply unless the cluster sets any of them.
    fn check_shutdown(&self, report: &mut Report) {
        let (total, critical, by_priority) = (
            "shutdownGracePeriod",
            "shutdownGracePeriodCriticalPods",
            "shutdownGracePeriodByPodPriority",
        );
        let own = !self.cluster.keys().any(|field| field.starts_with(total));
        let default = |seconds| {
            if own {
                Duration::seconds(seconds)
            } else {
                Duration::ZERO
            }
        };
        let (whole, part) = (self.duration(total, default(60)), self.duration(critical, default(20)));
        if part > whole {
            let message = format!("`{critical}` is longer than `{total}`, of which it is the end");
            let help = format!(
                "the whole is {}s here, the part {}s",
                whole.whole_seconds(),
                part.whole_seconds()
            );
            self.refuse(&[critical, total], &message, &help, report);
        }
        for (name, period) in [(total, whole), (critical, part)] {
            if period.is_positive() && period < Duration::SECOND {
                let message = format!("`{name}` is less than a second");
                self.refuse(&[name], &message, "write 0s, or at least 1s", report);
            }
        }
        let listed = self.get(by_priority).is_some_and(|value| value != json!([]));
        if listed && !(whole.is_zero() && part.is_zero()) {
            let message = format!("`{by_priority}` beside `{total}`");
            let help = format!("set {total} and {critical} to 0s where it is used");
            self.refuse(&[by_priority, total, critical], &message, &help, report);
        }
    }

    fn check_reserved(&self, report: &mut Report) {
        let enforce = "enforceNodeAllocatable";
        let list = self
            .get(enforce)
            .and_then(|value| value.as_array().cloned())
            .unwrap_or_default();
        let has = |name: &str| list.iter().any(|entry| entry == name);
        for (of, cgroup) in [
            ("system-reserved", "systemReservedCgroup"),
            ("kube-reserved", "kubeReservedCgroup"),
        ] {
            let compressible = format!("{of}-compressible");
            if has(of) && has(&compressible) {
                let message = format!("`{enforce}` with both {of} and {compressible}");
                self.refuse(&[enforce], &message, "choose one of them", report);
            } else if (has(of) || has(&compressible)) && self.text(cgroup).is_none() {
                let message = format!("`{enforce}` with {of}, but no `{cgroup}`");
                self.refuse(
                    &[enforce, cgroup],
                    &message,
                    "name the cgroup, which must exist on the machine",
                    report,
                );
            }
        }
        if has("none") && list.len() > 1 {
            let message = format!("`{enforce}` with none and something else");
            self.refuse(&[enforce], &message, "none stands alone", report);
        }
        if self.is("cgroupsPerQOS", false) && !has("none") {
            let message = format!("`cgroupsPerQOS: false` without `{enforce}: [none]`");
            self.refuse(&["cgroupsPerQOS", enforce], &message, "set both, or neither", report);
        }
        for cgroup in ["systemReservedCgroup", "kubeReservedCgroup"] {
            if self.text("reservedSystemCPUs").is_some() && self.text(cgroup).is_some() {
                let message = format!("`reservedSystemCPUs` beside `{cgroup}`");
                self.refuse(&["reservedSystemCPUs", cgroup], &message, "remove one of them", report);
            }
        }
        if self.text("systemCgroups").is_some() && self.text("cgroupRoot").is_none() {
            self.refuse(
                &["systemCgroups"],
                "`systemCgroups` without `cgroupRoot`",
                "set both",
                report,
            );
        }
    }

    fn check_managers(&self, report: &mut Report) {
        let reserves = |field: &str| self.keys(field).iter().any(|key| key == "cpu");
        let reserved =
            self.text("reservedSystemCPUs").is_some() || reserves("kubeReserved") || reserves("systemReserved");
        if self.text("cpuManagerPolicy").is_some_and(|policy| policy == "static") && !reserved {
            self.refuse(
                &["cpuManagerPolicy", "kubeReserved", "systemReserved"],
                "`cpuManagerPolicy: static` without a reserved CPU",
                "add kubeReserved: { cpu: 500m }, or reservedSystemCPUs",
                report,
            );
        }
        let pinned = self
            .text("memoryManagerPolicy")
            .is_some_and(|policy| policy == "Static");
        if pinned && self.get("reservedMemory").is_none() {
            self.refuse(
                &["memoryManagerPolicy", "reservedMemory"],
                "`memoryManagerPolicy: Static` without `reservedMemory`",
                "reserve as much as kubeReserved, systemReserved and evictionHard have together",
                report,
            );
        }
    }

    fn check_eviction(&self, report: &mut Report) {
        let periods = self.keys("evictionSoftGracePeriod");
        if let Some(bare) = self.keys("evictionSoft").iter().find(|key| !periods.contains(key)) {
            let message = format!("`evictionSoft` of {bare} has no `evictionSoftGracePeriod`");
            let help = format!("add evictionSoftGracePeriod: {{ {bare}: 1m30s }}");
            self.refuse(&["evictionSoft", "evictionSoftGracePeriod"], &message, &help, report);
        }
        let hard = self.keys("evictionHard");
        let gone = FACTS.eviction_signals.iter().map(String::as_str);
        let gone: Vec<_> = gone.filter(|signal| !hard.iter().any(|key| key == signal)).collect();
        if !hard.is_empty() && !gone.is_empty() && !self.is("mergeDefaultEvictionSettings", true) {
            let finding = Diagnostic::warning("FL0516", "`evictionHard` replaces the kubelet's own thresholds");
            let finding = finding.label(format!("no longer watched: {}", gone.join(", ")));
            let help = "add mergeDefaultEvictionSettings: true, or name them all";
            let place = self.place(&["evictionHard", "mergeDefaultEvictionSettings"]);
            report.extend(place.map(|span| finding.at(span).help(help)));
        }
    }

    fn check_serving(&self, report: &mut Report) {
        let (certificate, key) = ("tlsCertFile", "tlsPrivateKeyFile");
        if self.text(certificate).is_some() != self.text(key).is_some() {
            let message = format!("`{certificate}` and `{key}` go together");
            self.refuse(&[certificate, key], &message, "set both, or neither", report);
        }
    }
}
