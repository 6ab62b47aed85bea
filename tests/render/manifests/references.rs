//! References between objects of one cluster.

use std::collections::{BTreeMap, BTreeSet};

use firelay::plan::Plan;
use serde_json::Value;

/// Objects of every cluster, created by kubeadm, the controller manager and the API server, and those that an add-on's own
/// program creates.
const THERE: &[(&str, &str)] = &[
    ("ConfigMap", "kube-root-ca.crt"),
    ("ConfigMap", "kubeadm-config"),
    ("ConfigMap", "coredns"),
    ("ConfigMap", "extension-apiserver-authentication"),
    ("Deployment", "coredns"),
    ("ServiceAccount", "default"),
    ("Role", "extension-apiserver-authentication-reader"),
    ("ClusterRole", "cluster-admin"),
    ("ClusterRole", "view"),
    // MetalLB's controller generates the key of its speakers, and Argo CD the password of its Redis.
    ("Secret", "memberlist"),
    ("Secret", "argocd-redis"),
];

/// All errors in the objects of a plan.
pub fn faults(documents: &[&Value], plan: &Plan) -> Vec<String> {
    let objects = Objects::of(documents);
    let images: BTreeSet<_> = plan.addons.iter().flat_map(|addon| addon.images.values()).collect();
    let mut faults = objects.twice.clone();
    let mut ports = BTreeMap::new();
    for object in documents {
        let name = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
        let space = text(&object["metadata"]["namespace"]);
        let mut found = objects.role(object, space);
        if let Some(pod) = pod(object) {
            found.extend(objects.pod(pod, space));
            // Manifests give some fields of existing objects, but not the image.
            let there = THERE.contains(&(text(&object["kind"]), text(&object["metadata"]["name"])));
            let own = containers(pod).filter(|it| !there || it.get("image").is_some());
            found.extend(own.filter_map(|it| {
                let image = text(&it["image"]);
                (!images.iter().any(|known| *known == image)).then(|| format!("no release has the image {image}"))
            }));
            found.extend(host_ports(pod).filter_map(|port| {
                let other = ports
                    .insert(port.clone(), name.clone())
                    .filter(|other| *other != name)?;
                Some(format!("port {port:?} is taken by {other}"))
            }));
        }
        found.extend(selector(object));
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    faults
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn pod(object: &Value) -> Option<&Value> {
    match text(&object["kind"]) {
        "DaemonSet" | "Deployment" | "StatefulSet" | "Job" => Some(&object["spec"]["template"]["spec"]),
        "Pod" => Some(&object["spec"]),
        _ => None,
    }
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    list(&pod["initContainers"]).chain(list(&pod["containers"]))
}

fn host_ports(pod: &Value) -> impl Iterator<Item = (String, String)> {
    let host = pod["hostNetwork"] == true;
    list(&pod["containers"])
        .flat_map(|it| list(&it["ports"]))
        .filter_map(move |port| {
            let number = port
                .get("hostPort")
                .or_else(|| port.get("containerPort").filter(|_| host))?;
            Some((
                port["protocol"].as_str().unwrap_or("TCP").to_owned(),
                number.to_string(),
            ))
        })
}

fn selector(object: &Value) -> Option<String> {
    let wanted = object["spec"]["selector"]["matchLabels"].as_object()?;
    // A disruption budget selects pods of other objects.
    let labels = &object["spec"].get("template")?["metadata"]["labels"];
    let missing = wanted
        .iter()
        .find(|(key, value)| labels.get(key.as_str()) != Some(value));
    missing.map(|(key, _)| format!("its pods have no label {key} as selected"))
}

struct Objects {
    /// Kind, namespace and name.
    all: BTreeSet<(String, String, String)>,
    twice: Vec<String>,
}

impl Objects {
    fn of(documents: &[&Value]) -> Self {
        let (mut all, mut twice) = (BTreeSet::new(), Vec::new());
        for object in documents {
            let metadata = &object["metadata"];
            let key = [&object["kind"], &metadata["namespace"], &metadata["name"]].map(|it| text(it).to_owned());
            let [kind, space, name] = key;
            let said = format!("{kind} {space}/{name} is there twice");
            if !all.insert((kind, space, name)) {
                twice.push(said);
            }
        }
        Self { all, twice }
    }

    fn lacks(&self, kind: &str, space: &str, name: &str) -> Option<String> {
        let there = THERE.contains(&(kind, name)) || name.starts_with("system:");
        let key = (kind.to_owned(), space.to_owned(), name.to_owned());
        (!there && !self.all.contains(&key)).then(|| format!("there is no {kind} {space}/{name}"))
    }

    /// The role and the accounts of a binding.
    fn role(&self, object: &Value, space: &str) -> Vec<String> {
        let Some(role) = object.get("roleRef") else {
            return Vec::new();
        };
        let kind = text(&role["kind"]);
        let role_space = if kind == "Role" { space } else { "" };
        let role = self.lacks(kind, role_space, text(&role["name"]));
        let accounts = list(&object["subjects"]).filter(|it| it["kind"] == "ServiceAccount");
        let accounts =
            accounts.filter_map(|it| self.lacks("ServiceAccount", text(&it["namespace"]), text(&it["name"])));
        role.into_iter().chain(accounts).collect()
    }

    fn pod(&self, pod: &Value, space: &str) -> Vec<String> {
        let mut faults: Vec<String> = Vec::new();
        let volumes: BTreeSet<_> = list(&pod["volumes"]).map(|it| text(&it["name"])).collect();
        let mounts = || {
            containers(pod)
                .flat_map(|it| list(&it["volumeMounts"]))
                .map(|it| text(&it["name"]))
        };
        let used: BTreeSet<_> = mounts().collect();
        faults.extend(
            used.symmetric_difference(&volumes)
                .map(|it| format!("the volume {it} is not both there and mounted")),
        );
        if let Some(account) = pod["serviceAccountName"].as_str() {
            faults.extend(self.lacks("ServiceAccount", space, account));
        }
        for (kind, name) in configuration(pod) {
            faults.extend(self.lacks(kind, space, &name));
        }
        faults
    }
}

/// ConfigMaps and Secrets that a pod needs: in volumes, projected ones included, and in the environment.
fn configuration(pod: &Value) -> Vec<(&'static str, String)> {
    let plain =
        list(&pod["volumes"]).flat_map(|volume| std::iter::once(volume).chain(list(&volume["projected"]["sources"])));
    let volumes = plain.flat_map(|it| {
        [
            ("ConfigMap", &it["configMap"], "name"),
            ("Secret", &it["secret"], "name"),
            ("Secret", &it["secret"], "secretName"),
        ]
    });
    let from = containers(pod).flat_map(|it| list(&it["envFrom"]));
    let from = from.flat_map(|it| {
        [
            ("ConfigMap", &it["configMapRef"], "name"),
            ("Secret", &it["secretRef"], "name"),
        ]
    });
    let values = containers(pod)
        .flat_map(|it| list(&it["env"]))
        .map(|it| &it["valueFrom"]);
    let values = values.flat_map(|it| {
        [
            ("ConfigMap", &it["configMapKeyRef"], "name"),
            ("Secret", &it["secretKeyRef"], "name"),
        ]
    });
    let all = volumes
        .chain(from)
        .chain(values)
        .filter(|(_, it, _)| it["optional"] != true);
    all.filter_map(|(kind, it, key)| Some((kind, it.get(key)?.as_str()?.to_owned())))
        .collect()
}
