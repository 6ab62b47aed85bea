//! What each field of KubeletConfiguration v1beta1 takes (`k8s.io/kubelet/config/v1beta1/types.go`, and
//! `pkg/kubelet/apis/config/validation/validation.go`). Which minor has which field, its profile says.

use serde_json::Value;

use crate::{diagnostic::Diagnostic, plan::duration, yaml::Spanned};

/// Kinds of values.
enum Kind {
    Switch,
    /// Whole numbers from … to ….
    Number(i64, i64),
    Text,
    Choice(&'static [&'static str]),
    /// A Go duration of at least so many seconds.
    Duration(i64),
    /// Texts, each one of these if any are listed.
    List(&'static [&'static str]),
    Mapping,
    /// A mapping of texts: quantities too, which the kubelet does not take as numbers.
    Texts,
    /// Anything; the kubelet says what is wrong with it.
    Free,
}
use Kind::{Choice, Duration, Free, List, Mapping, Number, Switch, Text, Texts};

const MANY: i64 = i32::MAX as i64;

const KINDS: &[(&str, Kind)] = &[
    ("address", Text),
    ("allowedUnsafeSysctls", List(&[])),
    ("authentication", Mapping),
    ("authorization", Mapping),
    ("cgroupDriver", Text),
    ("cgroupRoot", Text),
    ("cgroupsPerQOS", Switch),
    ("clusterDNS", List(&[])),
    ("clusterDomain", Text),
    (
        "configMapAndSecretChangeDetectionStrategy",
        Choice(&["Get", "Cache", "Watch"]),
    ),
    ("containerLogMaxFiles", Number(2, MANY)),
    ("containerLogMaxSize", Text),
    ("containerLogMaxWorkers", Number(1, MANY)),
    ("containerLogMonitorInterval", Duration(3)),
    ("contentType", Text),
    ("cpuCFSQuota", Switch),
    ("cpuCFSQuotaPeriod", Duration(0)),
    ("cpuManagerPolicy", Choice(&["none", "static"])),
    ("cpuManagerPolicyOptions", Texts),
    ("cpuManagerReconcilePeriod", Duration(0)),
    ("enableContentionProfiling", Switch),
    ("enableControllerAttachDetach", Switch),
    ("enableDebugFlagsHandler", Switch),
    ("enableDebuggingHandlers", Switch),
    ("enableProfilingHandler", Switch),
    ("enableServer", Switch),
    ("enableSystemLogHandler", Switch),
    ("enableSystemLogQuery", Switch),
    (
        "enforceNodeAllocatable",
        List(&[
            "pods",
            "system-reserved",
            "system-reserved-compressible",
            "kube-reserved",
            "kube-reserved-compressible",
            "none",
        ]),
    ),
    ("eventBurst", Number(0, MANY)),
    ("eventRecordQPS", Number(0, MANY)),
    ("evictionHard", Texts),
    ("evictionMaxPodGracePeriod", Number(0, MANY)),
    ("evictionMinimumReclaim", Texts),
    ("evictionPressureTransitionPeriod", Duration(0)),
    ("evictionSoft", Texts),
    ("evictionSoftGracePeriod", Texts),
    ("failCgroupV1", Switch),
    ("failSwapOn", Switch),
    ("featureGates", Mapping),
    ("fileCheckFrequency", Duration(0)),
    ("hairpinMode", Choice(&["promiscuous-bridge", "hairpin-veth", "none"])),
    ("healthzPort", Number(0, 65_535)),
    ("httpCheckFrequency", Duration(0)),
    ("imageGCHighThresholdPercent", Number(0, 100)),
    ("imageGCLowThresholdPercent", Number(0, 100)),
    ("imageMaximumGCAge", Duration(0)),
    ("imageMinimumGCAge", Duration(0)),
    ("iptablesDropBit", Number(0, 31)),
    ("iptablesMasqueradeBit", Number(0, 31)),
    ("kubeAPIBurst", Number(0, MANY)),
    ("kubeAPIQPS", Number(0, MANY)),
    ("kubeReserved", Texts),
    ("kubeReservedCgroup", Text),
    ("kubeletCgroups", Text),
    ("localStorageCapacityIsolation", Switch),
    ("logging", Mapping),
    ("makeIPTablesUtilChains", Switch),
    ("maxOpenFiles", Number(0, i64::MAX)),
    ("maxParallelImagePulls", Number(1, MANY)),
    ("maxPods", Number(0, MANY)),
    ("memoryManagerPolicy", Choice(&["None", "Static"])),
    ("memorySwap", Mapping),
    ("mergeDefaultEvictionSettings", Switch),
    ("nodeLeaseDurationSeconds", Number(1, MANY)),
    ("nodeStatusMaxImages", Number(-1, MANY)),
    ("nodeStatusReportFrequency", Duration(0)),
    ("nodeStatusUpdateFrequency", Duration(0)),
    ("oomScoreAdj", Number(-1000, 1000)),
    ("podLogsDir", Text),
    ("podPidsLimit", Number(-1, i64::MAX)),
    ("podsPerCore", Number(0, MANY)),
    ("port", Number(1, 65_535)),
    ("protectKernelDefaults", Switch),
    ("providerID", Text),
    ("qosReserved", Texts),
    ("readOnlyPort", Number(0, 65_535)),
    ("registerNode", Switch),
    ("registryBurst", Number(0, MANY)),
    ("registryPullQPS", Number(0, MANY)),
    ("reservedSystemCPUs", Text),
    ("resolvConf", Text),
    ("rotateCertificates", Switch),
    ("runOnce", Choice(&["false"])),
    ("runtimeRequestTimeout", Duration(0)),
    ("seccompDefault", Switch),
    ("serializeImagePulls", Switch),
    ("serverTLSBootstrap", Switch),
    ("shutdownGracePeriod", Duration(0)),
    ("shutdownGracePeriodCriticalPods", Duration(0)),
    ("singleProcessOOMKill", Switch),
    ("streamingConnectionIdleTimeout", Duration(0)),
    ("syncFrequency", Duration(0)),
    ("systemCgroups", Text),
    ("systemReserved", Texts),
    ("systemReservedCgroup", Text),
    ("tlsCertFile", Text),
    ("tlsCipherSuites", List(&[])),
    (
        "tlsMinVersion",
        Choice(&["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"]),
    ),
    ("tlsPrivateKeyFile", Text),
    (
        "topologyManagerPolicy",
        Choice(&["none", "best-effort", "restricted", "single-numa-node"]),
    ),
    ("topologyManagerPolicyOptions", Texts),
    ("topologyManagerScope", Choice(&["container", "pod"])),
    ("volumePluginDir", Text),
    ("volumeStatsAggPeriod", Duration(-1)),
];

/// Refuses a value with which the kubelet does not start. `null` takes a farther value away.
pub(super) fn check(name: &Spanned<String>, value: &Value) -> Result<(), Diagnostic> {
    let kind = KINDS.iter().find(|(field, _)| *field == name.as_str());
    let kind = kind.map_or(&Free, |(_, kind)| kind);
    if value.is_null() || kind.takes(value) {
        return Ok(());
    }
    let finding = Diagnostic::error("FL0514", format!("not a value of `{}`", name.value)).at(name.span);
    let finding = finding.label(kind.wanted());
    Err(match (kind, value) {
        (Switch | Number(..), Value::String(text))
            if text.parse::<i64>().is_ok() || matches!(&**text, "true" | "false") =>
        {
            finding.help(format!("write {text}, without quotes"))
        }
        (Texts, Value::Object(texts)) => match texts.iter().find(|(_, text)| text.is_number() || text.is_boolean()) {
            Some((key, word)) => finding.help(format!("write {key}: \"{word}\", with quotes")),
            None => finding,
        },
        (Duration(_), Value::Number(number)) => finding.help(format!("write {number}s, if seconds are meant")),
        _ => finding,
    })
}

impl Kind {
    fn takes(&self, value: &Value) -> bool {
        match self {
            Switch => value.is_boolean(),
            Number(least, most) => value.as_i64().is_some_and(|number| (*least..=*most).contains(&number)),
            Text => value.is_string(),
            Choice(choices) => choices.contains(&&*super::plain(value)),
            Duration(least) => value
                .as_str()
                .and_then(seconds)
                .is_some_and(|seconds| seconds >= *least),
            List(choices) => value.as_array().is_some_and(|list| {
                let fits = |entry: &str| choices.is_empty() || choices.contains(&entry);
                list.iter().all(|entry| entry.as_str().is_some_and(fits))
            }),
            Mapping => value.is_object(),
            Texts => value
                .as_object()
                .is_some_and(|texts| texts.values().all(|text| text.is_string() || text.is_null())),
            Free => true,
        }
    }

    /// What is taken, in words.
    fn wanted(&self) -> String {
        match self {
            Switch => "true or false".to_owned(),
            Number(least, MANY | i64::MAX) => format!("a whole number from {least}"),
            Number(least, most) => format!("a whole number from {least} to {most}"),
            Text => "text".to_owned(),
            Choice([only]) => format!("{only} or nothing"),
            Choice(choices) => format!("one of {}", choices.join(", ")),
            Duration(least @ 1..) => format!("a duration of at least {least}s, as 10s or 1h30m"),
            Duration(_) => "a duration, as 10s or 1h30m".to_owned(),
            List([]) => "a list of texts".to_owned(),
            List(choices) => format!("a list of {}", choices.join(", ")),
            Mapping => "a mapping".to_owned(),
            Texts => "a mapping of texts".to_owned(),
            Free => String::new(),
        }
    }
}

/// Whole seconds of a Go duration, which may be negative.
fn seconds(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(rest) => duration::parse(rest).map(|it| -it.whole_seconds().max(1)),
        None => duration::parse(text).map(|it| it.whole_seconds()),
    }
}
