//! `certs`: the ends of certificates as OpenSSL reads them in the documents, and the calendar as Python's icalendar reads it.

use std::{collections::BTreeSet, fs, process::Command};

use serde_json::Value;

use super::{
    desk::{Desk, Ran},
    record::run_at,
};
use crate::support::{self, pipe, read_tree, succeed};

/// Directories of documents that hold certificates.
const STAGED: [&str; 4] = [
    "/etc/firelay/etcd/",
    "/etc/firelay/kubeconfig/",
    "/etc/firelay/kubelet/",
    "/etc/firelay/pki/",
];

fn rendered(example: &str) -> Desk {
    let desk = Desk::of(example);
    assert_eq!(desk.run(&["render"]).code, 0);
    desk
}

/// Machine, common name and end of each certificate in a machine's document.
fn by_openssl(desk: &Desk) -> Vec<[String; 3]> {
    let mut found = Vec::new();
    for (node, files) in read_tree(&desk.at("out")) {
        let staged = files
            .iter()
            .filter(|(path, _)| STAGED.iter().any(|start| path.starts_with(start)));
        let certificates = staged.filter(|(_, (_, content))| content.starts_with("-----BEGIN CERTIFICATE"));
        for (_, (_, content)) in certificates {
            fs::write(desk.at("certificate"), content).unwrap();
            let mut openssl = Command::new("openssl");
            let openssl = openssl.args(["x509", "-noout", "-subject", "-enddate", "-dateopt", "iso_8601"]);
            let openssl = openssl
                .args(["-nameopt", "sep_multiline", "-in"])
                .arg(desk.at("certificate"));
            let text = succeed(openssl, "openssl");
            let of = |start: &str| {
                text.lines()
                    .find_map(|line| line.trim().strip_prefix(start))
                    .unwrap()
                    .to_owned()
            };
            found.push([node.clone(), of("CN="), of("notAfter=").replace(' ', "T")]);
        }
    }
    fs::remove_file(desk.at("certificate")).unwrap();
    found.sort();
    found
}

/// The same as `certs` lists it.
fn by_firelay(desk: &Desk) -> Vec<[String; 3]> {
    let listed = desk.run(&["certs", "--output", "json"]);
    assert_eq!(
        (listed.code, listed.stderr.contains("end on another day")),
        (0, false),
        "{listed:?}"
    );
    let json = listed.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let on_machines = json["credentials"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|own| !own["machine"].is_null());
    let mut found: Vec<_> = on_machines
        .map(|own| {
            let subject = text(&own["subject"]);
            let name = subject.split("CN=").nth(1).unwrap().to_owned();
            [text(&own["machine"]), name, text(&own["expires"])]
        })
        .collect();
    found.sort();
    found
}

#[test]
fn openssl_reads_the_same_ends_in_the_documents() {
    for example in ["ha-ubuntu", "external-etcd", "ca-offline", "ha-flatcar"] {
        let desk = rendered(example);
        let judged = by_openssl(&desk);
        assert!(judged.len() > 10, "{example}: {judged:?}");
        assert_eq!(by_firelay(&desk), judged, "{example}");
    }
}

#[test]
fn dates_come_from_the_record_and_without_it_from_the_tree() {
    let desk = rendered("ha-ubuntu");
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    let spec = desk.read("cluster.yaml") + "  - { name: late, roles: [worker], addresses: [10.0.0.99] }\n";
    desk.write("cluster.yaml", &spec);
    // A machine that was not rendered has no certificate yet.
    assert!(by_firelay(&desk).iter().all(|own| own[0] != "late"));
    assert_eq!(run_at(&desk, "2027-06-01 00:00:00", &["render"]).code, 0);
    let judged = by_openssl(&desk);
    let ends: BTreeSet<_> = judged
        .iter()
        .filter(|own| own[1].starts_with("system:node"))
        .map(|own| &own[2])
        .collect();
    assert!(ends.len() > 1, "{judged:?}");
    assert_eq!(by_firelay(&desk), judged);
    fs::rename(desk.at("out"), desk.at("away")).unwrap();
    assert_eq!(by_firelay(&desk), judged, "from the record alone");
    fs::rename(desk.at("away"), desk.at("out")).unwrap();
    fs::remove_file(desk.at("firelay.state.yaml")).unwrap();
    assert_eq!(by_firelay(&desk), judged, "from the tree alone");
}

/// `kubeadm upgrade` renews the certificates of control planes; one that is created anew has those of its document again.
#[test]
fn an_upgrade_that_is_over_renews_what_kubeadm_does() {
    const SERVER: &str = "kube-apiserver on ";
    let desk = Desk::of("ha-ubuntu");
    let old = ["--set", "kubernetes.version=1.35.8"];
    assert_eq!(desk.run(&[&["render", "--founded"], &old[..]].concat()).code, 0);
    let at = |time: &str, arguments: &[&str]| {
        let ran = run_at(&desk, time, arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        ran.stdout
    };
    let servers = |certs: &str| -> Vec<String> {
        let lines = certs.lines().filter(|line| line.contains(SERVER));
        let words = lines.map(|line| [&line[..10], line.split_once(SERVER).unwrap().1].join(" "));
        words.collect()
    };
    let before = servers(&at("2027-06-02 00:00:00", &["certs"]));
    at("2027-06-01 00:00:00", &["update"]);
    assert_eq!(
        servers(&at("2027-06-02 00:00:00", &["certs"])),
        before,
        "nobody has said that it is over"
    );
    at("2027-06-03 00:00:00", &["update", "--done"]);
    let after = ["2028-05-31 cp1, cp2, cp3"];
    assert_eq!(servers(&at("2027-06-04 00:00:00", &["certs"])), after);
    // The next renders keep the date, and that of some machines, too.
    at("2027-06-05 00:00:00", &["render", "--node", "worker-1"]);
    at("2027-06-06 00:00:00", &["render"]);
    assert_eq!(servers(&at("2027-06-06 00:00:00", &["certs"])), after);
    at("2027-07-01 00:00:00", &["render", "--replace", "cp2"]);
    let both = ["2028-05-31 cp1, cp3", "2028-06-30 cp2"];
    assert_eq!(servers(&at("2027-07-01 00:00:00", &["certs"])), both);
    // A disk is no reason for another date: the document has the former certificates.
    at("2027-07-02 00:00:00", &["update", "--done"]);
    at(
        "2027-07-02 00:00:00",
        &["render", "--set", "nodes[cp3].timezone=Europe/Berlin"],
    );
    let third = format!("{} cp3", &before[0][..10]);
    assert_eq!(servers(&at("2027-07-02 00:00:00", &["certs"]))[0], third);
    let record = desk.read("firelay.state.yaml");
    let edited = record.replacen("renewedAt: \"2027", "renewedAt: \"2028", 1);
    assert_ne!(record, edited);
    desk.write("firelay.state.yaml", &edited);
    let ran = run_at(&desk, "2027-07-03 00:00:00", &["certs"]);
    assert!(ran.code == 3 && ran.stderr.contains("FL1203"), "{ran:?}");
}

#[test]
fn the_exit_code_counts_what_no_machine_renews() {
    let desk = rendered("ha-ubuntu");
    let before = desk.everything();
    for (time, within, code) in [
        ("2026-12-01 00:00:00", "30d", 0),
        ("2026-12-01 00:00:00", "720h", 0),
        ("2026-12-01 00:00:00", "365d", 6),
        ("2027-11-25 00:00:00", "30d", 6),
        ("2028-01-01 00:00:00", "0s", 6),
    ] {
        let ran = run_at(&desk, time, &["certs", "--within", within]);
        assert_eq!(ran.code, code, "{time} {within}: {ran:?}");
    }
    // What the kubelets renew is left when kubeadm's certificates are renewed by a timer and people have a later file.
    let timer = [
        "--set",
        "addons.certificateRenewal={}",
        "--set",
        "pki.caValidity=87600h",
    ];
    let late = run_at(&desk, "2028-01-01 00:00:00", &[&["certs"], &timer[..]].concat());
    assert!(
        late.stdout
            .contains("  renewed  kubelet client on cp1, cp2, cp3, worker-1"),
        "{late:?}"
    );
    assert!(
        late.stdout.contains("  renewed  kube-apiserver on cp1, cp2, cp3"),
        "{late:?}"
    );
    assert!(late.stdout.contains("    ENDED  admin.kubeconfig"), "{late:?}");
    assert_eq!(desk.everything(), before, "certs writes nothing");
}

#[test]
fn a_token_ends_after_the_founding() {
    let desk = rendered("local-endpoint");
    let token = |desk: &Desk| {
        let json = desk.run(&["certs", "--output", "json"]).json();
        let credentials = json["credentials"].as_array().unwrap().clone();
        credentials.into_iter().find(|own| own["kind"] == "token").unwrap()
    };
    let before = token(&desk);
    assert!(
        before["expires"].is_null() && before["title"].as_str().unwrap().contains("from the founding"),
        "{before}"
    );
    assert_eq!(desk.run(&["founded", "--at", "2026-11-22T12:00:00Z"]).code, 0);
    let after = token(&desk);
    assert!(
        after["expires"].as_str().unwrap().starts_with("20") && after["title"] == "bootstrap token",
        "{after}"
    );
    let none = rendered("ha-ubuntu").run(&["certs"]);
    assert!(!none.stdout.contains("bootstrap token"), "{none:?}");
}

#[test]
fn a_tree_of_another_spec_is_told() {
    let desk = rendered("ha-ubuntu");
    let ran = desk.run(&["certs", "--set", "pki.leafValidity=17520h"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.contains("certificates of cp1, cp2, cp3, worker-1"),
        "{ran:?}"
    );
}

#[test]
fn foreign_records_and_bundles_are_refused() {
    let desk = rendered("ha-ubuntu");
    let other = rendered("single-node");
    desk.write("other.state.yaml", &other.read("firelay.state.yaml"));
    for (arguments, code, text) in [
        (&["--state", "other.state.yaml"][..], 3, "FL1202"),
        (
            &["--secrets", "none.yaml"],
            4,
            "there is no secrets bundle at none.yaml",
        ),
        (
            &["--within", "soon"],
            2,
            "--within \"soon\" is not a duration such as 30d or 720h",
        ),
        (&["--within", "-1d"], 2, "unexpected argument"),
    ] {
        let ran = desk.run(&[&["certs"], arguments].concat());
        assert!(ran.code == code && ran.stderr.contains(text), "{arguments:?}: {ran:?}");
    }
}

/// Reads a calendar, and prints its events as JSON.
const READER: &str = "
import json, sys, icalendar
text = sys.stdin.buffer.read()
calendar = icalendar.Calendar.from_ical(text)
events = [
    {
        'uid': str(event['UID']),
        'start': event['DTSTART'].dt.strftime('%Y-%m-%dT%H:%M:%SZ'),
        'stamp': event['DTSTAMP'].dt.strftime('%Y-%m-%dT%H:%M:%SZ'),
        'summary': str(event['SUMMARY']),
        'description': str(event['DESCRIPTION']),
        'reminders': [alarm['TRIGGER'].dt.days for alarm in event.walk('VALARM')],
        'errors': event.errors,
    }
    for event in calendar.walk('VEVENT')
]
print(json.dumps(events))
";

fn events(calendar: &str) -> Vec<Value> {
    let mut python = Command::new("/usr/bin/python3");
    let output = pipe(python.args(["-c", READER]), "python3-icalendar", calendar.as_bytes());
    assert!(output.status.success(), "{}", support::said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_foreign_program_reads_the_calendar() {
    let desk = rendered("ha-ubuntu");
    let calendar = |seconds: &str| {
        let mut command = desk.command(&["certs", "--output", "ics"]);
        Ran::of(&command.env("SOURCE_DATE_EPOCH", seconds).output().unwrap()).stdout
    };
    let text = calendar("1796083200");
    assert_eq!(calendar("1796083200"), text, "the same bytes");
    for line in text.split_terminator("\r\n") {
        assert!(line.len() <= 75 && !line.contains(['\r', '\n']), "{line:?}");
    }
    assert!(text.ends_with("END:VCALENDAR\r\n"));
    let read = events(&text);
    let json = desk.run(&["certs", "--output", "json"]).json();
    let credentials = json["credentials"].as_array().unwrap();
    let ends = |own: &&Value| (own["title"].to_string(), own["expires"].to_string());
    let groups: BTreeSet<_> = credentials
        .iter()
        .filter(|own| !own["expires"].is_null())
        .map(|own| ends(&own))
        .collect();
    assert_eq!(read.len(), groups.len(), "an event for each group");
    for event in &read {
        assert_eq!(
            (&event["errors"], &event["stamp"]),
            (&serde_json::json!([]), &"2026-12-01T00:00:00Z".into())
        );
        let summary = event["summary"].as_str().unwrap();
        let own = credentials.iter().filter(|own| own["expires"] == event["start"]);
        let mut own = own.filter(|own| {
            let title = own["title"].as_str().unwrap();
            ["on", "ends"]
                .iter()
                .any(|next| summary.starts_with(&format!("prod: {title} {next}")))
        });
        let own = own.next().unwrap();
        assert!(
            event["description"]
                .as_str()
                .unwrap()
                .contains(own["stops"].as_str().unwrap()),
            "{event}"
        );
        let reminds = own["renewal"] != "kubelet";
        assert_eq!(
            event["reminders"],
            if reminds {
                serde_json::json!([-30, -7])
            } else {
                serde_json::json!([])
            }
        );
    }
    let all = "prod: kube-apiserver on cp1, cp2, cp3 ends";
    assert!(read.iter().any(|event| event["summary"] == all), "{read:?}");
    // Only the stamp changes from day to day, and a renewal moves an event.
    let tomorrow = calendar("1796169600");
    assert_eq!(text.replace("DTSTAMP:20261201", "DTSTAMP:20261202"), tomorrow);
    let longer = desk
        .run(&["certs", "--output", "ics", "--set", "pki.leafValidity=17520h"])
        .stdout;
    let identifiers = |events: &[Value]| {
        events
            .iter()
            .map(|event| event["uid"].to_string())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(identifiers(&events(&longer)), identifiers(&read));
    assert_eq!(identifiers(&read).len(), read.len());
}

/// With `etcd: true` members hold the key of etcd's CA: `certs`, `verify` and `audit` say so, and others may not have it.
#[test]
fn members_that_renew_hold_the_key_of_their_authority() {
    let desk = Desk::with_spec("external-etcd");
    let renews = [
        "--set",
        "addons.certificateRenewal={ etcd: true }",
        "--set",
        "pki.leafValidity=1000h",
    ];
    let run = |verb: &[&str]| desk.run(&[verb, &renews[..]].concat());
    assert_eq!(run(&["render", "--new-secrets"]).code, 0);
    let certs = run(&["certs", "--output", "json"]).json();
    let renewal = |title: &str| {
        let all = certs["credentials"].as_array().unwrap().iter();
        let own: std::collections::BTreeSet<_> = all
            .filter(|own| own["title"] == title)
            .map(|own| own["renewal"].to_string())
            .collect();
        own
    };
    for title in [
        "etcd server",
        "etcd peer",
        "kube-etcd-healthcheck-client",
        "kube-apiserver-etcd-client",
    ] {
        let own = renewal(title);
        assert!(
            own.len() == 1 && own.iter().all(|own| own.contains("imer")),
            "{title}: {own:?}"
        );
    }
    assert!(
        renewal("kubelet server").iter().all(|own| own.contains("otateLeaves")),
        "{certs}"
    );
    let requested = [
        "--set",
        "kubernetes.kubelet.config.serverTLSBootstrap=true",
        "--set",
        "addons.kubeletCsrApprover={}",
    ];
    let warned = |further: &[&str]| {
        let ran = desk.run(&[&["check"], &renews[..], further].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stderr.contains("the serving certificates of named kubelets") || ran.stderr.contains("no kubelet asks for")
    };
    assert!(warned(&[]) && !warned(&requested));
    let certs = desk.run(&[&["certs", "--output", "json"], &renews[..], &requested[..]].concat());
    let certs = certs.json();
    let serving = certs["credentials"].as_array().unwrap().iter();
    let mut serving = serving.filter(|own| own["title"] == "kubelet server");
    assert!(
        serving.all(|own| own["renewal"].to_string().contains("ubelet")),
        "{certs}"
    );
    assert_eq!(desk.run(&["verify"]).code, 0);
    for secrets in [&[][..], &["--secrets", "firelay.secrets.yaml"]] {
        let ran = desk.run(&[&["audit"], secrets].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(
            ran.stdout
                .contains("signs        CA etcd-ca                      x  .  x"),
            "{ran:?}"
        );
    }
    // The same key beside a member that renews nothing.
    let member = desk.read("out/nodes/etcd1/user-data");
    assert!(member.contains("/etc/firelay/etcd/ca.key"));
    let bundle = desk.read("firelay.secrets.yaml");
    let (_, etcd) = bundle.split_once("etcd:").unwrap();
    let (_, key) = etcd.split_once("key: |\n").unwrap();
    let lines = key.lines().map(str::trim);
    let mut lines: Vec<_> = lines.take_while(|line| !line.starts_with("-----END")).collect();
    lines.push("-----END EC PRIVATE KEY-----\n");
    let pem = lines.join("\n");
    let stray = serde_json::json!([{ "path": "/opt/key", "content": pem, "mode": "0600" }]);
    let files = format!("nodes[etcd{{1..3}}].files={stray}");
    let ran = desk.run(&["render", "--set", &files]);
    assert!(ran.code == 5 && ran.stderr.contains("FL1084"), "{ran:?}");
    // A member that renews has it at one place.
    assert_eq!(desk.run(&[&["render", "--set", &files], &renews[..]].concat()).code, 0);
    let ran = desk.run(&["verify"]);
    assert!(ran.code == 5 && (ran.stdout + &ran.stderr).contains("FL1042"));
}
