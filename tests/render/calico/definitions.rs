//! Definitions of Calico's kinds, compared with manifests/crds.yaml of 3.31.7 (2026-08-20) and 3.32.1 (2026-06-24).

use std::collections::BTreeSet;

use serde_json::Value;

use super::ipv4;

/// For each kind: version, kind, scope, whether /status is a subresource, and the defaults in `spec`.
fn definitions(objects: &[Value]) -> BTreeSet<String> {
    let definitions = objects.iter().filter(|it| it["kind"] == "CustomResourceDefinition");
    let described = definitions.map(|it| {
        let spec = &it["spec"];
        let version = &spec["versions"][0];
        let schema = &version["schema"]["openAPIV3Schema"];
        let name = format!(
            "{}.{}",
            spec["names"]["plural"].as_str().unwrap(),
            spec["group"].as_str().unwrap()
        );
        assert_eq!(it["metadata"]["name"], name);
        let protected = name.ends_with(".k8s.io");
        assert_eq!(
            it["metadata"]["annotations"]["api-approved.kubernetes.io"].is_string(),
            protected,
            "{name}"
        );
        let mut defaults = Vec::new();
        collect("", &schema["properties"]["spec"], &mut defaults);
        let status = if version["subresources"]["status"].is_object() {
            " status"
        } else {
            ""
        };
        let (kind, scope) = (&spec["names"]["kind"], spec["scope"].as_str().unwrap());
        format!(
            "{} {} {scope}{status} {}",
            version["name"].as_str().unwrap(),
            kind.as_str().unwrap(),
            defaults.join(" ")
        )
    });
    described.map(|line| line.trim_end().to_owned()).collect()
}

/// Defaults of a schema. A schema with fields must preserve unknown fields.
fn collect(path: &str, schema: &Value, defaults: &mut Vec<String>) {
    if schema.get("default").is_some() {
        defaults.push(format!("{path}={}", schema["default"]));
    }
    if schema["type"] == "object" {
        assert_eq!(schema["x-kubernetes-preserve-unknown-fields"], true, "{path}");
    }
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        collect(&format!("{path}.{name}"), below, defaults);
    }
}

#[test]
fn each_release_has_its_kinds_their_defaults_and_their_status() {
    const COMMON: [&str; 12] = [
        "v1 BGPFilter Cluster",
        "v1 BGPPeer Cluster",
        "v1 BlockAffinity Cluster",
        "v1 CalicoNodeStatus Cluster",
        "v1 ClusterInformation Cluster",
        "v1 GlobalNetworkSet Cluster",
        "v1 HostEndpoint Cluster",
        "v1 IPAMBlock Cluster .sequenceNumber=0",
        "v1 IPAMConfig Cluster",
        "v1 IPAMHandle Cluster",
        "v1 IPReservation Cluster",
        "v1 NetworkSet Namespaced",
    ];
    let old = [
        "v1 BGPConfiguration Cluster .serviceLoadBalancerAggregation=\"Enabled\"",
        "v1 FelixConfiguration Cluster",
        "v1 GlobalNetworkPolicy Cluster",
        "v1 IPPool Cluster",
        "v1 KubeControllersConfiguration Cluster .controllers.loadBalancer.assignIPs=\"AllServices\"",
        "v1 NetworkPolicy Namespaced",
        "v1 StagedGlobalNetworkPolicy Cluster",
        "v1 StagedKubernetesNetworkPolicy Namespaced",
        "v1 StagedNetworkPolicy Namespaced",
        "v1 Tier Cluster",
        "v1alpha1 AdminNetworkPolicy Cluster status",
        "v1alpha1 BaselineAdminNetworkPolicy Cluster status",
    ];
    let new = [
        "v1 BGPConfiguration Cluster .logSeverityScreen=\"Info\" .serviceLoadBalancerAggregation=\"Enabled\"",
        "v1 FelixConfiguration Cluster .nftablesMode=\"Auto\"",
        "v1 GlobalNetworkPolicy Cluster .tier=\"default\"",
        "v1 IPPool Cluster .assignmentMode=\"Automatic\"",
        "v1 KubeControllersConfiguration Cluster status .controllers.loadBalancer.assignIPs=\"AllServices\" \
         .controllers.policyMigration.enabled=\"Enabled\" .healthChecks=\"Enabled\"",
        "v1 NetworkPolicy Namespaced .tier=\"default\"",
        "v1 StagedGlobalNetworkPolicy Cluster .stagedAction=\"Set\" .tier=\"default\"",
        "v1 StagedKubernetesNetworkPolicy Namespaced .stagedAction=\"Set\"",
        "v1 StagedNetworkPolicy Namespaced .stagedAction=\"Set\" .tier=\"default\"",
        "v1 Tier Cluster .defaultAction=\"Deny\"",
        "v1alpha2 ClusterNetworkPolicy Cluster status",
    ];
    for plugin in ["calico", "canal"] {
        for (version, own) in [("3.31.7", &old[..]), ("3.32.1", &new)] {
            let found = definitions(&ipv4(&format!(
                "{{ {plugin}: {{ version: {version}, crds: minimal }} }}"
            )));
            let wanted = COMMON.iter().chain(own).map(ToString::to_string).collect();
            assert_eq!(found, wanted, "{plugin} {version}");
        }
    }
}
