//! Serving certificates of kubelets: which node has one, which requests one, and what approves it.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use support::plan::{node, resolve, try_resolve};

const POOL: &str = "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: test
kubernetes: { version: 1.36.4, kubelet: { config: {} } }
endpoint: { host: api.example.com }
join: { tokenTtl: 8760h }
os: ubuntu-24.04
platform: aws
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.77.0.11] }
pools:
  - { name: burst, roles: [worker] }
";

/// The spec with an add-on that connects to kubelets.
fn with(addons: &str) -> String {
    format!("{POOL}addons: {{ {addons} }}\n")
}

fn asks(text: &str, name: &str) -> Option<bool> {
    let plan = resolve(text);
    node(&plan, name).kubelet_config.get("serverTLSBootstrap")?.as_bool()
}

fn warnings(text: &str) -> Vec<&'static str> {
    let (_, findings) = try_resolve(text).unwrap();
    findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn machines_of_a_pool_ask_and_named_ones_bring_theirs() {
    for addons in ["metricsServer: {}", "kubeletCsrApprover: {}"] {
        assert_eq!(asks(&with(addons), "burst"), Some(true), "{addons}");
        assert_eq!(asks(&with(addons), "cp1"), None, "{addons}");
    }
    assert_eq!(asks(POOL, "burst"), None);
}

#[test]
fn what_the_spec_says_stays() {
    let own = with("metricsServer: {}").replace(
        "[worker] }",
        "[worker], kubelet: { config: { serverTLSBootstrap: false } } }",
    );
    assert_eq!(asks(&own, "burst"), Some(false));
    let all = with("metricsServer: {}").replace("config: {}", "config: { serverTLSBootstrap: false }");
    assert_eq!(asks(&all, "burst"), None);
}

#[test]
fn an_approver_silences_the_warning_about_certificates() {
    let asking = |addons: &str| with(addons).replace("config: {}", "config: { serverTLSBootstrap: true }");
    assert_eq!(warnings(&asking("dnsAutoscaler: {}")), ["FL0516"]);
    let approved = asking("kubeletCsrApprover: { addresses: [10.77.0.0/24] }");
    assert_eq!(warnings(&approved), [""; 0]);
}
