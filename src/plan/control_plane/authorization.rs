//! `kubernetes.apiServer.authentication` and `.authorization`: the identity of clients, and their permissions.

use std::collections::BTreeMap;

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Span},
};
use serde_json::Value;

use super::{Settings, add_file, document};
use crate::{
    plan::{facts::FACTS, report::Report},
    profile::KubernetesProfile,
};

type Fields = BTreeMap<Spanned<String>, Value>;

const AUTHENTICATION: &str = "kubernetes.apiServer.authentication";
const AUTHORIZATION: &str = "kubernetes.apiServer.authorization";

pub(super) fn authenticate(fields: &Fields, profile: &KubernetesProfile, settings: &mut Settings, report: &mut Report) {
    let Some(content) = document::read("authentication", AUTHENTICATION, fields, profile, report) else {
        return;
    };
    if let Some((name, anonymous)) = fields.get_key_value("anonymous") {
        settings.api_server.bar("anonymous-auth", AUTHENTICATION);
        report.extend(check_anonymous(anonymous).map(|finding| finding.at(name.span)));
    }
    if let Some((name, issuers)) = fields.get_key_value("jwt") {
        let issuers = issuers.as_array().map(Vec::as_slice).unwrap_or_default();
        report.extend(issuers.iter().filter_map(|issuer| check_issuer(issuer, name.span)));
    }
    bar(settings, &FACTS.beside_authentication, AUTHENTICATION);
    let argument = "authentication-config";
    add_file(settings, "authentication", argument, AUTHENTICATION, content);
}

pub(super) fn authorize(fields: &Fields, profile: &KubernetesProfile, settings: &mut Settings, report: &mut Report) {
    let Some(content) = document::read("authorization", AUTHORIZATION, fields, profile, report) else {
        return;
    };
    report.extend(check_authorizers(fields));
    bar(settings, &FACTS.beside_authorization, AUTHORIZATION);
    let argument = "authorization-config";
    add_file(settings, "authorization", argument, AUTHORIZATION, content);
}

/// Refuses arguments that contradict the file of a key.
fn bar(settings: &mut Settings, arguments: &'static [String], key: &'static str) {
    for name in arguments {
        settings.api_server.bar(name, key);
    }
}

/// Without conditions every path is open to anonymous requests; with some, these must be included.
fn check_anonymous(anonymous: &Value) -> Option<Diagnostic> {
    let finding = Diagnostic::error("FL0520", "nodes could not see that the cluster is there");
    if anonymous.get("enabled") != Some(&Value::Bool(true)) {
        let finding = finding.label("they ask anonymously for /readyz and cluster-info");
        return Some(finding.help("write enabled: true, and restrict the paths by `conditions`"));
    }
    let conditions = anonymous.get("conditions").and_then(Value::as_array)?;
    let paths: Vec<_> = conditions.iter().filter_map(|it| it.get("path")?.as_str()).collect();
    let missing = FACTS.anonymous_paths.iter().map(String::as_str);
    let missing: Vec<_> = missing.filter(|path| !paths.contains(path)).collect();
    let label = format!("not among the conditions: {}", missing.join(", "));
    (!conditions.is_empty() && !missing.is_empty()).then(|| {
        let paths: Vec<_> = missing.iter().map(|path| format!("{{ path: {path} }}")).collect();
        finding.label(label).help(format!("add {}", paths.join(", ")))
    })
}

/// `issuer.url` is HTTPS and there are audiences (`k8s.io/apiserver/pkg/apis/apiserver/validation`).
fn check_issuer(authenticator: &Value, span: Span) -> Option<Diagnostic> {
    let url = authenticator.pointer("/issuer/url").and_then(Value::as_str);
    let url = url.unwrap_or_default();
    let audiences = authenticator.pointer("/issuer/audiences").and_then(Value::as_array);
    let help = if !url.starts_with("https://") {
        "issuer.url begins with https://"
    } else if audiences.is_none_or(Vec::is_empty) {
        "issuer.audiences lists at least one, usually the client's id"
    } else if authenticator.pointer("/claimMappings/username").is_none() {
        "claimMappings.username says which claim is the user's name"
    } else {
        return None;
    };
    let label = if url.is_empty() { "without a URL" } else { url };
    let finding = Diagnostic::error("FL0520", "an issuer that kube-apiserver refuses").at(span);
    Some(finding.label(label).help(help))
}

/// Without Node and RBAC neither kubelets nor kubeadm's own roles may do anything.
fn check_authorizers(fields: &Fields) -> Option<Diagnostic> {
    let given = fields.get_key_value("authorizers");
    let list = given.and_then(|(_, list)| list.as_array()).map(Vec::as_slice);
    let list = list.unwrap_or_default();
    let has = |kind: &&&str| list.iter().any(|it| it.get("type").is_some_and(|it| it == **kind));
    let missing: Vec<_> = ["Node", "RBAC"].iter().filter(|kind| !has(kind)).copied().collect();
    let span = given.map(|(name, _)| name.span).or_else(|| super::first(fields))?;
    let finding = Diagnostic::error("FL0520", "nodes and administrators would be refused").at(span);
    (!missing.is_empty()).then(|| {
        let label = format!("no authorizer of type {}", missing.join(" and "));
        let finding = finding.label(label);
        finding.help("add { type: Node, name: node } and { type: RBAC, name: rbac }")
    })
}
