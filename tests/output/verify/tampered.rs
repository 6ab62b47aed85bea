//! One tampered tree for every code: exactly the expected finding is reported.

use std::collections::BTreeSet;

use firelay_verify::Level;
use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime, macros::datetime};

use super::{
    pair::{Wanted, issue},
    support::examples,
    tampering::{NOW, Tampered},
};

pub type Tamper = fn(&mut Tampered);

/// A tampered tree.
pub struct Case {
    /// The expected code.
    pub code: &'static str,
    name: &'static str,
    example: &'static str,
    tamper: Tamper,
    now: OffsetDateTime,
}

const fn case(code: &'static str, name: &'static str, example: &'static str, tamper: Tamper) -> Case {
    Case {
        code,
        name,
        example,
        tamper,
        now: NOW,
    }
}

/// Description, example and change of every case.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str, Tamper)> {
    CASES.iter().map(|case| (case.name, case.example, case.tamper))
}

const ENV: &str = "/etc/firelay/node.env";
const LIB: &str = "/usr/local/lib/firelay";

pub const CASES: &[Case] = &[
    case("FL1001", "missing file", "ha-ubuntu", |tree| {
        tree.files.remove("node-names");
    }),
    case("FL1001", "path out of the tree", "ha-ubuntu", |tree| {
        tree.described("node-names")["path"] = json!("../node-names");
    }),
    case("FL1002", "changed file", "ha-ubuntu", |tree| {
        tree.files.get_mut("node-names").unwrap().push(b'\n');
    }),
    case("FL1003", "no document", "ha-ubuntu", |tree| {
        tree.put("nodes/worker-1/user-data.gz.b64", b"H4sI****".to_vec());
    }),
    case("FL1003", "file that is no base64", "single-node", |tree| {
        tree.edit("home1", |config| {
            let files = config["write_files"].as_array_mut().unwrap();
            files.push(json!({"path": "/etc/a", "encoding": "b64", "content": "***"}));
        });
    }),
    case("FL1004", "another payload", "pointer-s3", |tree| {
        let mut bytes = tree.files["nodes/cp1/payload.json.gz.age"].clone();
        bytes.push(0);
        tree.put("nodes/cp1/payload.json.gz.age", bytes);
    }),
    case("FL1004", "another payload of Ignition", "pointer-s3", |tree| {
        let mut bytes = tree.files["nodes/w1/payload.ign"].clone();
        bytes.push(b' ');
        tree.put("nodes/w1/payload.ign", bytes);
    }),
    case("FL1003", "document of padding", "ha-ubuntu", |tree| {
        tree.put("nodes/worker-1/user-data.gz.b64", b"=".to_vec());
        tree.put("nodes/worker-2/user-data.gz.b64", b"====".to_vec());
    }),
    case("FL1004", "pointer of Ignition to another place", "pointer-s3", |tree| {
        pointer(tree, |replace| replace["source"] = json!("s3://example-payloads/other"));
    }),
    case("FL1004", "pointer of Ignition without a digest", "pointer-s3", |tree| {
        pointer(tree, |replace| replace["verification"] = json!({}));
    }),
    case("FL1004", "payload at another place", "pointer-s3", |tree| {
        tree.described("nodes/cp1/payload.json.gz.age")["url"] = json!("s3://example-payloads/other");
    }),
    case("FL1005", "over the limit", "ha-ubuntu", |tree| {
        tree.described("nodes/worker-1/user-data.gz.b64")["limit"] = json!(1000);
    }),
    case("FL1005", "wrong count", "ha-ubuntu", |tree| {
        tree.described("nodes/worker-1/user-data.gz.b64")["counted"] = json!(1000);
    }),
    case("FL1006", "nothing to hand over", "ha-ubuntu", |tree| {
        let described = tree
            .described("nodes/worker-1/user-data.gz.b64")
            .as_object_mut()
            .unwrap();
        described.remove("attribute");
    }),
    case("FL1007", "readable copy", "ha-ubuntu", |tree| {
        let mut bytes = tree.files["nodes/worker-1/user-data"].clone();
        bytes.extend(b"# seen by nobody\n");
        tree.put("nodes/worker-1/user-data", bytes);
    }),
    case("FL1007", "readable copy of a payload", "pointer-s3", |tree| {
        let text = String::from_utf8(tree.files["nodes/cp1/user-data"].clone()).unwrap();
        let other = text.replace(
            "fs.inotify.max_user_instances = 8192",
            "fs.inotify.max_user_instances = 1",
        );
        assert_ne!(text, other);
        tree.put("nodes/cp1/user-data", other.into_bytes());
    }),
    case("FL1009", "tree without machines", "ha-ubuntu", |tree| {
        tree.manifest["files"] = json!([]);
    }),
    case("FL1009", "machine without a document", "ha-ubuntu", |tree| {
        let files = tree.manifest["files"].as_array_mut().unwrap();
        files.retain(|file| file["node"] != "worker-3");
    }),
    case("FL1009", "version that is none", "ha-ubuntu", |tree| {
        tree.manifest["kubernetesVersion"] = json!("x");
    }),
    case("FL1009", "version that kubeadm is not told", "ha-ubuntu", |tree| {
        tree.manifest["kubernetesVersion"] = json!("1.30.0");
    }),
    case("FL1010", "schema of cloud-init", "ha-ubuntu", |tree| {
        tree.edit("worker-1", |config| config["hostname"] = json!(["worker-1"]));
    }),
    case("FL1011", "field of Ignition", "ha-flatcar", |tree| {
        tree.edit("w1", |config| {
            config["storage"]["files"][0]["permissions"] = json!("0644");
        });
    }),
    case("FL1011", "version of Ignition", "ha-flatcar", |tree| {
        tree.edit("w1", |config| config["ignition"]["version"] = json!("2.3.0"));
    }),
    case("FL1011", "special mode of Ignition", "ha-flatcar", |tree| {
        tree.edit("w1", |config| config["storage"]["files"][0]["mode"] = json!(0o4755));
    }),
    case("FL1011", "special mode before Ignition 3.6", "ha-flatcar", |tree| {
        tree.edit("w1", |config| {
            config["ignition"]["version"] = json!("3.5.0");
            config["storage"]["files"][0]["mode"] = json!(0o4755);
        });
    }),
    case("FL1011", "drop-in without its ending", "ha-flatcar", |tree| {
        tree.edit("w1", |config| {
            let units = config["systemd"]["units"].as_array_mut().unwrap();
            units.push(json!({"name": "kubelet.timer", "dropins": [{"name": "10-a", "contents": ""}]}));
        });
    }),
    case("FL1012", "path written twice", "ha-ubuntu", |tree| {
        tree.add("worker-1", "/etc/crictl.yaml", "timeout: 30\n");
    }),
    case("FL1013", "path below a file", "ha-ubuntu", |tree| {
        tree.add("worker-1", "/etc/crictl.yaml/more", "a");
    }),
    case("FL1014", "path below a mount", "bare-metal", |tree| {
        tree.add("w1", "/srv/images/a", "a");
    }),
    case("FL1015", "path that vanishes", "ha-ubuntu", |tree| {
        tree.add("worker-1", "/run/a", "a");
    }),
    case("FL1015", "path that is not plain", "ha-ubuntu", |tree| {
        tree.add("worker-1", "/etc/../a", "a");
    }),
    case("FL1016", "unit without its program", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/containerd.service";
        tree.replace(
            "worker-1",
            unit,
            "/usr/local/bin/containerd",
            "/usr/local/absent/containerd",
        );
    }),
    case("FL1016", "program that nobody fetches", "ha-ubuntu", |tree| {
        tree.edit_file("worker-1", "/etc/firelay/artifacts", |text| {
            text.lines()
                .filter(|line| !line.starts_with("kubelet "))
                .map(|line| format!("{line}\n"))
                .collect()
        });
    }),
    case("FL1016", "path that is relative", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/containerd.service";
        tree.replace(
            "worker-1",
            unit,
            "ExecStart=\"/usr/local/bin/containerd\"",
            "ExecStart=bin/containerd",
        );
    }),
    case("FL1016", "name without a path", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/containerd.service";
        tree.replace(
            "worker-1",
            unit,
            "ExecStart=\"/usr/local/bin/containerd\"",
            "ExecStart=containerd",
        );
    }),
    case("FL1017", "program without its bit", "ha-ubuntu", |tree| {
        tree.permit("worker-1", &format!("{LIB}/driver"), "0644");
    }),
    case("FL1017", "step without its bit", "ha-ubuntu", |tree| {
        tree.permit("worker-1", &format!("{LIB}/steps/50-join"), "0600");
    }),
    case("FL1018", "environment file", "external-etcd", |tree| {
        let unit = "/etc/systemd/system/etcd.service";
        tree.replace(
            "etcd1",
            unit,
            "EnvironmentFile=/etc/etcd/etcd.env",
            "EnvironmentFile=/etc/etcd/etcd.env\nEnvironmentFile=/etc/etcd/absent.env",
        );
    }),
    case("FL1018", "condition", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/kubelet.service";
        tree.replace(
            "worker-1",
            unit,
            "/var/lib/kubelet/config.yaml",
            "/var/lib/kubernetes/config.yaml",
        );
    }),
    case("FL1019", "unit that nobody has", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/firelay.service";
        tree.replace(
            "worker-1",
            unit,
            "After=network-online.target",
            "After=network-online.target\nRequires=absent.service",
        );
    }),
    case("FL1020", "enabled unit that nobody has", "ha-ubuntu", |tree| {
        tree.edit("worker-1", |config| {
            let commands = config["runcmd"].as_array_mut().unwrap();
            commands.push(json!(["systemctl", "enable", "absent.service"]));
        });
    }),
    case("FL1020", "unit without [Install]", "ha-flatcar", |tree| {
        tree.replace(
            "w1",
            "/etc/systemd/system/firelay.service",
            "[Install]\nWantedBy=multi-user.target\n",
            "",
        );
    }),
    case("FL1020", "document that starts nothing", "ha-ubuntu", |tree| {
        tree.edit("worker-1", |config| {
            config.as_object_mut().unwrap().remove("runcmd");
        });
    }),
    case("FL1020", "chain for the next boot", "ha-ubuntu", |tree| {
        tree.edit("cp2", |config| {
            config["runcmd"] = json!([["systemctl", "enable", "firelay.service"]]);
        });
    }),
    case("FL1020", "chain that Ignition does not enable", "ha-flatcar", |tree| {
        tree.edit("w1", |config| {
            let mut units = config["systemd"]["units"].as_array_mut().unwrap().iter_mut();
            let unit = units.find(|unit| unit["name"] == "firelay.service").unwrap();
            unit["enabled"] = json!(false);
        });
    }),
    case("FL1020", "kubelet that is masked", "ha-ubuntu", |tree| {
        tree.edit("worker-1", |config| {
            let commands = config["runcmd"].as_array_mut().unwrap();
            commands.insert(0, json!(["systemctl", "mask", "kubelet.service"]));
        });
    }),
    case("FL1021", "variables that bash cannot read", "ha-ubuntu", |tree| {
        tree.edit_file("worker-1", "/etc/firelay/node.env", |text| {
            format!("{text}FL_MORE='a\n")
        });
    }),
    case("FL1021", "broken script", "ha-ubuntu", |tree| {
        tree.edit_file("worker-1", "/usr/local/bin/firelay-status", |text| {
            format!("{text}if [ -e /etc/a ]; then\n")
        });
    }),
    case("FL1021", "broken command", "ha-ubuntu", |tree| {
        tree.edit("worker-1", |config| {
            config["runcmd"].as_array_mut().unwrap().push(json!("echo \""));
        });
    }),
    case("FL1022", "list that a step reads", "ha-ubuntu", |tree| {
        tree.remove("worker-1", "/etc/firelay/artifacts");
    }),
    case("FL1022", "certificate that a step copies", "ha-ubuntu", |tree| {
        tree.remove("worker-1", "/etc/firelay/kubelet/client.pem");
    }),
    case("FL1023", "file of an argument", "hardened", |tree| {
        tree.remove("cp1", "/etc/kubernetes/apiserver/audit-policy.yaml");
    }),
    case("FL1023", "file that no volume brings", "hardened", |tree| {
        tree.replace(
            "cp1",
            "/etc/firelay/kubeadm/init.yaml",
            "mountPath: /etc/kubernetes/apiserver",
            "mountPath: /etc/kubernetes/api",
        );
    }),
    case("FL1023", "file of a static pod", "local-endpoint", |tree| {
        tree.replace(
            "w1",
            "/etc/firelay/endpoint/haproxy.yaml",
            "{path: /etc/firelay/endpoint,",
            "{path: /etc/haproxy,",
        );
    }),
    case("FL1024", "API version of kubeadm", "ha-ubuntu", |tree| {
        tree.replace("worker-1", "/etc/firelay/kubeadm/join.yaml", "v1beta4", "v1beta9");
    }),
    case("FL1024", "manifest that is no YAML", "ha-ubuntu", |tree| {
        tree.edit_file("cp1", "/etc/firelay/addons/20-cni/flannel.yaml", |text| {
            format!("{text}---\na: [\n")
        });
    }),
    case(
        "FL1024",
        "mirror of a registry that is there twice",
        "air-gapped",
        |tree| {
            tree.edit_file("w1", "/etc/containerd/certs.d/docker.io/hosts.toml", |text| {
                format!("{text}{text}")
            });
        },
    ),
    case("FL1025", "field of the kubelet", "ha-ubuntu", |tree| {
        tree.replace(
            "cp1",
            "/etc/firelay/kubeadm/init.yaml",
            "cgroupDriver: systemd",
            "cgroupDriver: systemd\nmaxPod: 100",
        );
    }),
    case("FL1025", "field of an audit policy", "hardened", |tree| {
        tree.replace("cp1", "/etc/kubernetes/apiserver/audit-policy.yaml", "users:", "user:");
    }),
    case("FL1026", "value of kubeadm", "ha-ubuntu", |tree| {
        tree.replace(
            "worker-1",
            "/etc/firelay/kubeadm/join.yaml",
            "discovery: 30m",
            "discovery: soon",
        );
    }),
    case(
        "FL1026",
        "value within an admission configuration",
        "hardened",
        |tree| {
            tree.replace(
                "cp1",
                "/etc/kubernetes/apiserver/admission.yaml",
                "enforce: baseline",
                "enforce: some",
            );
        },
    ),
    case("FL1028", "units that come after each other", "ha-ubuntu", |tree| {
        order(tree, "firelay.service", "After=kubelet.service");
        order(tree, "kubelet.service", "After=firelay.service");
    }),
    case("FL1028", "unit before what it comes after", "ha-ubuntu", |tree| {
        order(tree, "firelay.service", "Before=network-online.target");
    }),
    case("FL1028", "unit after itself", "ha-ubuntu", |tree| {
        order(tree, "firelay.service", "After=firelay.service");
    }),
    case("FL1028", "kubelet before containerd", "ha-ubuntu", |tree| {
        let after = "After=network-online.target containerd.service";
        let before = "After=network-online.target\nBefore=containerd.service";
        tree.replace("worker-1", "/etc/systemd/system/kubelet.service", after, before);
    }),
    case("FL1028", "kubelet at any time", "ha-ubuntu", |tree| {
        let unit = "/etc/systemd/system/kubelet.service";
        tree.replace("worker-1", unit, "\nAfter=network-online.target containerd.service", "");
    }),
    case("FL1030", "certificate that is none", "ha-ubuntu", |tree| {
        let text = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        tree.edit_file("cp2", "/etc/firelay/pki/front-proxy-client.crt", |_| text.to_owned());
    }),
    case("FL1030", "certificate that is empty", "ha-ubuntu", |tree| {
        tree.edit_file("cp2", "/etc/firelay/pki/front-proxy-client.crt", |_| "\n".to_owned());
    }),
    case("FL1031", "public key of another private key", "ha-ubuntu", |tree| {
        let key = tree.text("cp1", "/etc/firelay/pki/apiserver.key");
        tree.edit_file("cp1", "/etc/firelay/pki/front-proxy-client.key", |_| key);
    }),
    case("FL1031", "certificate of another authority", "ha-ubuntu", |tree| {
        let mut other = Tampered::of("external-etcd");
        for ending in ["crt", "key"] {
            let path = format!("/etc/firelay/pki/front-proxy-client.{ending}");
            let text = other.text("cp1", &path);
            tree.edit_file("cp2", &path, |_| text);
        }
    }),
    case("FL1031", "signature that is not", "ha-ubuntu", |tree| {
        // Of the same name, signed by another key.
        reissue(tree, "front-proxy-client", None, &client("front-proxy-client", None));
    }),
    case("FL1032", "swapped key", "ha-ubuntu", |tree| {
        let key = tree.text("cp2", "/etc/firelay/pki/front-proxy-client.key");
        tree.edit_file("cp2", "/etc/firelay/pki/apiserver.key", |_| key);
    }),
    case("FL1032", "public key of another", "ha-ubuntu", |tree| {
        let other = Tampered::of("external-etcd").text("cp1", "/etc/firelay/pki/sa.key");
        tree.edit_file("cp2", "/etc/firelay/pki/sa.key", |_| other);
    }),
    case("FL1032", "key without its certificate", "ha-ubuntu", |tree| {
        tree.remove("cp2", "/etc/firelay/pki/apiserver.crt");
    }),
    case("FL1033", "another range of Services", "ha-ubuntu", |tree| {
        tree.replace("cp1", "/etc/firelay/kubeadm/init.yaml", "10.96.0.", "10.112.0.");
    }),
    case("FL1033", "node of another address", "ha-ubuntu", |tree| {
        tree.replace(
            "cp2",
            "/etc/firelay/kubeadm/join.yaml",
            "advertiseAddress: \"10.0.0.12\"",
            "advertiseAddress: \"10.0.0.99\"",
        );
    }),
    case("FL1034", "client that is a server", "ha-ubuntu", |tree| {
        let wanted = Wanted {
            usage: &[ServerAuth],
            ..client("front-proxy-client", None)
        };
        reissue(tree, "front-proxy-client", Some("front-proxy-ca"), &wanted);
    }),
    case("FL1034", "client that is an authority", "ha-ubuntu", |tree| {
        let wanted = Wanted {
            authority: true,
            ..client("front-proxy-client", None)
        };
        reissue(tree, "front-proxy-client", Some("front-proxy-ca"), &wanted);
    }),
    case("FL1035", "client of another name", "ha-ubuntu", |tree| {
        reissue(
            tree,
            "front-proxy-client",
            Some("front-proxy-ca"),
            &client("somebody", None),
        );
    }),
    case("FL1035", "client of a group", "ha-ubuntu", |tree| {
        let wanted = client("kube-apiserver-etcd-client", None);
        reissue(tree, "apiserver-etcd-client", Some("etcd/ca"), &wanted);
        let wanted = client("system:kube-scheduler", Some("system:masters"));
        reissue(tree, "../kubeconfig/admin", Some("ca"), &wanted);
    }),
    case("FL1036", "certificate that ended", "ha-ubuntu", |tree| {
        let wanted = Wanted {
            length: Duration::minutes(30),
            ..client("front-proxy-client", None)
        };
        reissue(tree, "front-proxy-client", Some("front-proxy-ca"), &wanted);
    }),
    case("FL1036", "certificate that ended, behind a text", "ha-ubuntu", |tree| {
        let wanted = Wanted {
            length: Duration::minutes(30),
            ..client("front-proxy-client", None)
        };
        reissue(tree, "front-proxy-client", Some("front-proxy-ca"), &wanted);
        tree.edit_file("cp2", "/etc/firelay/pki/front-proxy-client.crt", |text| {
            format!("Certificate:\n    Data:\n{text}")
        });
    }),
    case("FL1036", "certificate that is to come", "ha-ubuntu", |tree| {
        let wanted = Wanted {
            from: datetime!(2026-12-02 0:00 UTC),
            ..client("front-proxy-client", None)
        };
        reissue(tree, "front-proxy-client", Some("front-proxy-ca"), &wanted);
    }),
    Case {
        now: datetime!(2027-11-10 0:00 UTC),
        ..case("FL1037", "certificates that end soon", "ha-ubuntu", |_| {})
    },
    case("FL1038", "kubeconfig for another server", "ha-ubuntu", |tree| {
        kubeconfig(
            tree,
            "https://api.prod.example.com:6443",
            "https://api.example.com:6443",
        );
    }),
    case("FL1038", "kubeconfig without its context", "ha-ubuntu", |tree| {
        kubeconfig(tree, "current-context: ", "current-context: a-");
    }),
    case("FL1038", "kubeconfig of another cluster", "ha-ubuntu", |tree| {
        let text = String::from_utf8(Tampered::of("external-etcd").files["admin.kubeconfig"].clone()).unwrap();
        let text = text.lines().map(|line| match line.contains("server: ") {
            true => "    server: https://api.prod.example.com:6443\n".to_owned(),
            false => format!("{line}\n"),
        });
        tree.put("admin.kubeconfig", text.collect::<String>().into_bytes());
    }),
    case("FL1038", "token for another authority", "local-endpoint", |tree| {
        tree.edit_file("burst", "/etc/firelay/kubeadm/join.yaml", |text| {
            let (start, rest) = text.split_once("sha256:").unwrap();
            format!("{start}sha256:00{}", &rest[2..])
        });
    }),
    case("FL1039", "key that others read", "ha-ubuntu", |tree| {
        tree.permit("cp2", "/etc/firelay/pki/apiserver.key", "0644");
    }),
    case("FL1040", "another service account key", "ha-ubuntu", |tree| {
        for name in ["sa.key", "sa.pub"] {
            let path = format!("/etc/firelay/pki/{name}");
            let other = Tampered::of("external-etcd").text("cp1", &path);
            tree.edit_file("cp2", &path, |_| other);
        }
    }),
    case("FL1041", "another endpoint", "ha-ubuntu", |tree| {
        tree.replace("worker-1", ENV, "api.prod.example.com", "api.example.com");
    }),
    case("FL1041", "another host of the endpoint", "ha-ubuntu", |tree| {
        tree.replace(
            "worker-1",
            ENV,
            "FL_ENDPOINT_HOST=api.prod.example.com",
            "FL_ENDPOINT_HOST=api.example.com",
        );
    }),
    case("FL1041", "variables of another node", "ha-ubuntu", |tree| {
        tree.replace("worker-1", ENV, "FL_NODE=worker-1", "FL_NODE=worker-2");
    }),
    case("FL1041", "name of one machine for a pool", "local-endpoint", |tree| {
        tree.replace("burst", ENV, "FL_NODE=''", "FL_NODE=burst");
    }),
    case("FL1041", "registration of another node", "ha-ubuntu", |tree| {
        let path = "/etc/firelay/kubeadm/join.yaml";
        tree.edit_file("worker-1", path, |text| {
            assert!(text.contains("worker-1"));
            text.replace("worker-1", "worker-2")
        });
    }),
    case("FL1041", "name of another host", "ha-ubuntu", |tree| {
        tree.edit("worker-1", |config| config["hostname"] = json!("worker-2"));
    }),
    case("FL1041", "name of another host of Ignition", "ha-flatcar", |tree| {
        tree.edit_file("w1", "/etc/hostname", |_| "w2\n".to_owned());
    }),
    case("FL1041", "times that are over", "ha-ubuntu", |tree| {
        variable(tree, "worker-1", "FL_NOT_AFTER", "1000");
        variable(tree, "worker-1", "FL_NOT_BEFORE", "0");
    }),
    case("FL1041", "times that are none", "ha-ubuntu", |tree| {
        variable(tree, "worker-1", "FL_NOT_AFTER", "never");
    }),
    case("FL1042", "authority's key on a worker", "ha-ubuntu", |tree| {
        key_elsewhere(tree, "cp1", "/etc/firelay/pki/ca.key", "worker-1");
    }),
    case(
        "FL1042",
        "key of service accounts on a member of etcd",
        "external-etcd",
        |tree| {
            key_elsewhere(tree, "cp1", "/etc/firelay/pki/sa.key", "etcd1");
        },
    ),
];

/// Adds a line to a unit's first section on worker-1.
fn order(tree: &mut Tampered, unit: &str, line: &str) {
    let path = format!("/etc/systemd/system/{unit}");
    tree.replace("worker-1", &path, "[Unit]\n", &format!("[Unit]\n{line}\n"));
}

fn variable(tree: &mut Tampered, node: &str, name: &str, value: &str) {
    tree.edit_file(node, ENV, |text| {
        let set = |line: &str| match line.starts_with(&format!("{name}=")) {
            true => format!("{name}='{value}'\n"),
            false => format!("{line}\n"),
        };
        let changed: String = text.lines().map(set).collect();
        assert_ne!(changed, text);
        changed
    });
}

/// Changes the stub of a node with Ignition.
fn pointer(tree: &mut Tampered, change: fn(&mut Value)) {
    let path = "nodes/w1/config.ign.pointer";
    let mut config: Value = serde_json::from_slice(&tree.files[path]).unwrap();
    change(&mut config["ignition"]["config"]["replace"]);
    tree.put(path, config.to_string().into_bytes());
}

/// Writes a private key into a file of another machine, among other text.
fn key_elsewhere(tree: &mut Tampered, from: &str, path: &str, to: &str) {
    let key = tree.text(from, path);
    let text = format!("copied by hand\n-----BEGIN NOTHING-----\n-----END NOTHING-----\n{key}");
    tree.add(to, "/srv/copy", &text);
    tree.permit(to, "/srv/copy", "0600");
}

fn client<'a>(name: &'a str, organization: Option<&'a str>) -> Wanted<'a> {
    Wanted {
        name,
        organization,
        usage: &[ClientAuth],
        authority: false,
        dns: &[],
        from: NOW - Duration::hours(1),
        length: Duration::days(300),
    }
}

/// Replaces a certificate and its key on cp2.
fn reissue(tree: &mut Tampered, name: &str, by: Option<&str>, wanted: &Wanted<'_>) {
    let at = |name: &str| match name.strip_prefix("../") {
        Some(name) => format!("/etc/firelay/{name}"),
        None => format!("/etc/firelay/pki/{name}"),
    };
    let path = at(name);
    let authority = by.map(|by| {
        let by = at(by);
        (
            tree.text("cp2", &format!("{by}.crt")),
            tree.text("cp2", &format!("{by}.key")),
        )
    });
    let authority = authority
        .as_ref()
        .map(|(certificate, key)| (certificate.as_str(), key.as_str()));
    let (certificate, key) = issue(wanted, authority);
    tree.edit_file("cp2", &format!("{path}.crt"), |_| certificate);
    tree.edit_file("cp2", &format!("{path}.key"), |_| key);
}

fn kubeconfig(tree: &mut Tampered, from: &str, to: &str) {
    let text = String::from_utf8(tree.files["admin.kubeconfig"].clone()).unwrap();
    assert!(text.contains(from), "{from}");
    tree.put("admin.kubeconfig", text.replace(from, to).into_bytes());
}

#[test]
fn what_is_tampered_with_is_found_and_nothing_else() {
    let mut wrong = Vec::new();
    for case in CASES {
        let mut tree = Tampered::of(case.example);
        (case.tamper)(&mut tree);
        let findings = tree.findings(case.now);
        let codes: BTreeSet<_> = findings.iter().map(|finding| finding.code).collect();
        if codes != BTreeSet::from([case.code]) {
            wrong.push(format!("{} {}: {findings:#?}", case.code, case.name));
        }
        wrong.extend(
            findings
                .iter()
                .filter(|finding| finding.message.ends_with('.'))
                .map(|finding| format!("{finding:?}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn without_their_step_certificates_lack_their_public_keys() {
    let mut tree = Tampered::of("ha-ubuntu");
    tree.edit("cp1", |config| {
        let files = config["write_files"].as_array_mut().unwrap();
        files.retain(|file| !file["path"].as_str().unwrap().ends_with("/11-public-keys"));
    });
    let findings = tree.findings(NOW);
    let unreadable = findings.iter().filter(|finding| finding.code == "FL1030");
    let paths: BTreeSet<_> = unreadable.filter_map(|finding| finding.path.as_deref()).collect();
    assert!(paths.contains("/etc/firelay/pki/apiserver.crt"), "{findings:#?}");
    assert_eq!(paths.len(), 13, "{paths:?}");
}

/// Findings that a user's own files or settings may cause are warnings, and do not stop a render.
#[test]
fn what_the_user_may_mean_is_a_warning() {
    let own = "/etc/systemd/system/kubelet.service.d/20-own.conf";
    let warned: [(&str, Tamper); 6] = [
        ("FL1009", |tree| tree.manifest["kubernetesVersion"] = json!("1.30.0")),
        ("FL1016", |tree| {
            let unit = "/etc/systemd/system/containerd.service";
            tree.replace(
                "worker-1",
                unit,
                "ExecStart=\"/usr/local/bin/containerd\"",
                "ExecStart=containerd",
            );
        }),
        ("FL1028", |tree| order(tree, "firelay.service", "After=firelay.service")),
        ("FL1028", |tree| {
            let unit = "/etc/systemd/system/kubelet.service";
            tree.replace("worker-1", unit, "\nAfter=network-online.target containerd.service", "");
        }),
        ("FL1028", |tree| {
            let text = "[Unit]\nBefore=containerd.service\n";
            tree.add("worker-1", "/etc/systemd/system/kubelet.service.d/20-own.conf", text);
        }),
        ("FL1028", |tree| {
            let unit = |other: &str| format!("[Unit]\nAfter={other}.service\n[Service]\nExecStart=sleep 1\n");
            tree.add("worker-1", "/etc/systemd/system/own-a.service", &unit("own-b"));
            tree.add("worker-1", "/etc/systemd/system/own-b.service", &unit("own-a"));
        }),
    ];
    for (code, tamper) in warned {
        let mut tree = Tampered::of("ha-ubuntu");
        tamper(&mut tree);
        let findings = tree.findings(NOW);
        assert!(!findings.is_empty(), "{code}");
        for finding in findings {
            assert_eq!((finding.code, finding.level), (code, Level::Warning), "{finding:?}");
        }
    }
    let mut tree = Tampered::of("ha-ubuntu");
    let unit = "[Unit]\nAfter=kubelet.service\n[Service]\nExecStart=bash -c true\n";
    tree.add("worker-1", "/etc/systemd/system/own.service", unit);
    tree.add("worker-1", own, "[Unit]\nAfter=own-first.mount\n");
    assert_eq!(tree.findings(NOW), []);
}

#[test]
fn the_examples_have_nothing() {
    for example in examples() {
        let findings = Tampered::of(&example.name).findings(NOW);
        assert!(findings.is_empty(), "{}: {findings:#?}", example.name);
    }
}

/// Packing a document again changes nothing: the cases find only their own change.
#[test]
fn a_document_that_is_packed_again_is_the_same() {
    for (name, node) in [
        ("ha-ubuntu", "worker-1"),
        ("hardened", "cp1"),
        ("ha-flatcar", "w1"),
        ("mixed", "gpu1"),
        ("single-node", "home1"),
    ] {
        let mut tree = Tampered::of(name);
        tree.edit(node, |_| {});
        let findings = tree.findings(NOW);
        assert!(findings.is_empty(), "{name}: {findings:#?}");
    }
}
