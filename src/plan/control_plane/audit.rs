//! `kubernetes.apiServer.audit`.

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};
use serde_json::Value;

use super::{API_SERVER, Settings, add_file, document};
use crate::{
    plan::{AuditWebhookPlan, artifacts, host, report::Report},
    profile::KubernetesProfile,
    spec::{Audit, AuditLog, AuditWebhook},
};

const KEY: &str = "kubernetes.apiServer.audit";
/// Where events go, a directory that nothing else uses.
const LOG: &str = "/var/log/kubernetes/audit/audit.log";
/// How much a rule records (`k8s.io/apiserver/pkg/apis/audit/types.go`).
const LEVELS: &[&str] = &["None", "Metadata", "Request", "RequestResponse"];

pub(super) fn resolve(
    audit: &Spanned<Audit>,
    profile: &KubernetesProfile,
    settings: &mut Settings,
    report: &mut Report,
) {
    check_rules(audit, report);
    if let Some(policy) = document::read("audit", KEY, &audit.policy, profile, report) {
        add_file(settings, "audit-policy", "audit-policy-file", KEY, policy);
    }
    let default = AuditLog::default();
    let log = audit.log.as_ref().or(audit.webhook.is_none().then_some(&default));
    if let Some(log) = log {
        resolve_log(log, settings, report);
    }
    if let Some(webhook) = &audit.webhook {
        let path = format!("{API_SERVER}/audit-webhook.yaml");
        settings.api_server.set("audit-webhook-config-file", path.clone(), KEY);
        settings.plan.audit_webhook = Some(webhook_plan(webhook, path, report));
    }
}

fn resolve_log(log: &AuditLog, settings: &mut Settings, report: &mut Report) {
    let path = log.path.as_ref().map_or(LOG, |path| path.as_str());
    let figures = [
        ("audit-log-path", path.to_owned()),
        ("audit-log-maxage", log.max_age_days.unwrap_or(30).to_string()),
        ("audit-log-maxbackup", log.max_backups.unwrap_or(10).to_string()),
        ("audit-log-maxsize", log.max_size_mb.unwrap_or(100).to_string()),
    ];
    for (name, value) in figures {
        settings.api_server.set(name, value, KEY);
    }
    if path == "-" {
        return;
    }
    report.each(&log.path, artifacts::check_path);
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    if let Some(path) = log.path.as_ref().filter(|_| directory.matches('/').count() < 2) {
        let finding = Diagnostic::error("FL0524", "not a file for audit events").at(path.span);
        let finding = finding.label("its directory is mounted into the API server's pod");
        report.push(finding.help("give it a directory of its own, such as /var/log/kubernetes/audit/audit.log"));
    }
    settings.plan.audit_directory = Some(directory.to_owned());
    settings.api_server.mount("firelay-audit", directory, false);
}

fn webhook_plan(webhook: &AuditWebhook, path: String, report: &mut Report) -> AuditWebhookPlan {
    artifacts::check_url(&webhook.server, report);
    report.each(&webhook.ca, host::check_certificates);
    AuditWebhookPlan {
        path,
        server: webhook.server.value.clone(),
        ca: webhook.ca.value(),
        token: webhook.token.clone(),
    }
}

/// kube-apiserver refuses a policy without rules, and a rule without a level.
fn check_rules(audit: &Spanned<Audit>, report: &mut Report) {
    let given = audit.policy.get_key_value("rules");
    let rules = given
        .and_then(|(_, rules)| rules.as_array())
        .filter(|rules| !rules.is_empty());
    let finding = |message: &str| {
        let key = given.or_else(|| audit.policy.iter().next());
        let span = key.map_or(audit.span, |(name, _)| name.span);
        Diagnostic::error("FL0524", message).at(span)
    };
    let Some(rules) = rules else {
        let help = "to record who did what, without contents: rules: [{ level: Metadata }]";
        return report.push(finding("an audit policy without rules").help(help));
    };
    let leveled = |rule: &Value| {
        rule.get("level")
            .and_then(Value::as_str)
            .is_some_and(|level| LEVELS.contains(&level))
    };
    if let Some(at) = rules.iter().position(|rule| !leveled(rule)) {
        let label = format!("rule {} has none of the levels", at + 1);
        let help = format!("levels: {}", LEVELS.join(", "));
        report.push(finding("an audit rule without a level").label(label).help(help));
    }
}
