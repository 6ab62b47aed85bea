//! Each delivery form of a document, decoded by Python's own modules, gives the document again.

use std::{collections::BTreeSet, fmt::Write as _, process::Command};

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay::{
    delivery::Artifact,
    plan::NodePlan,
    profile::{DocumentFormat, Encoding},
    spec::DeliveryForm,
};

use super::{
    small::{altered, content, files, machines, noise, package, told, user_data},
    support::pipe,
};

/// Reads lines of FORM, FORMAT, base64 of the file and base64 of the document; prints differences.
const UNDO: &str = r#"
import base64, email, gzip, hashlib, json, sys

def undone(form, sent):
    if form in ("base64", "gzip-base64"):
        sent = base64.b64decode(sent, validate=True)
    if form in ("gzip", "gzip-base64"):
        sent = gzip.decompress(sent)
    return sent

def inside(kind, text):
    if kind == "cloud-init":
        part = email.message_from_bytes(text)
        assert part.get_content_type() == "application/gzip", part.get_content_type()
        return gzip.decompress(part.get_payload(decode=True))
    replace = json.loads(text)["ignition"]["config"]["replace"]
    assert replace["compression"] == "gzip"
    head, _, data = replace["source"].partition(",")
    assert head == "data:;base64", head
    config = gzip.decompress(base64.b64decode(data, validate=True))
    name, _, digest = replace["verification"]["hash"].partition("-")
    assert hashlib.new(name, config).hexdigest() == digest
    return config

seen = 0
for line in sys.stdin:
    what, form, inner, kind, sent, document = line.rstrip("\n").split("\t")
    text = undone(form, base64.b64decode(sent))
    if inner == "inner":
        text = inside(kind, text)
    if text != base64.b64decode(document):
        print(what, form, inner)
    seen += 1
print(seen)
"#;

/// One case for the program above.
fn line(node: &NodePlan, artifact: &Artifact) -> (String, String) {
    let handover = &artifact.handover;
    let form = serde_json::to_value(handover.encoding).unwrap();
    let (form, inner) = (
        form.as_str().unwrap(),
        if handover.form == DeliveryForm::Inner {
            "inner"
        } else {
            "whole"
        },
    );
    let (kind, plain) = match node.os.document {
        DocumentFormat::CloudInit => ("cloud-init", "user-data"),
        DocumentFormat::Ignition => ("ignition", "config.ign"),
    };
    let (sent, plain) = (content(artifact, &handover.file), content(artifact, plain));
    let [sent, plain] = [sent, plain].map(|bytes| STANDARD.encode(bytes));
    let what = told(node);
    (
        format!("{what}: {form} {inner}"),
        format!("{what}\t{form}\t{inner}\t{kind}\t{sent}\t{plain}\n"),
    )
}

/// The document of a machine in each encoding of its platform, and with compressed contents.
fn in_every_form(node: &NodePlan) -> Vec<Artifact> {
    let files = files(noise(2000) + &"the same line over and over\n".repeat(400));
    let data = user_data(node).clone();
    let alone = |encoding: Encoding| altered(node, |data| (data.encodings, data.limit) = (vec![encoding], None));
    let mut forms: Vec<_> = data
        .encodings
        .iter()
        .map(|encoding| package(&alone(*encoding), &files).unwrap())
        .collect();
    let open = |encoding: &&Encoding| !matches!(encoding, Encoding::Gzip | Encoding::GzipBase64);
    if let Some(encoding) = data.encodings.iter().find(open).filter(|_| data.inner_compression) {
        let too_large = forms[0].handover.counted - 1;
        let tight = altered(&alone(*encoding), |data| data.limit = Some(too_large));
        forms.push(package(&tight, &files).unwrap());
    }
    forms
}

#[test]
fn every_form_on_every_platform_is_undone_to_the_same_document() {
    let mut cases = BTreeSet::new();
    let mut input = String::new();
    for node in machines() {
        for artifact in in_every_form(&node) {
            let (case, line) = line(&node, &artifact);
            assert!(cases.insert(case.clone()), "{case} is there twice");
            write!(input, "{line}").unwrap();
        }
    }
    let output = pipe(
        Command::new("/usr/bin/python3").args(["-c", UNDO]),
        "python3",
        input.as_bytes(),
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.trim(), cases.len().to_string(), "{said}");
    for form in [
        "gzip-base64 whole",
        "base64 whole",
        "plain whole",
        "plain inner",
        "base64 inner",
    ] {
        assert!(cases.iter().any(|case| case.ends_with(form)), "{form}");
    }
}
