//! The identities of clouds, with fakes of their metadata services. These tests do not show the answers of real clouds.

use super::{
    desk::{Desk, Stub},
    server::Server,
    support::python,
};

const OPEN: &str = "{\"access_token\": \"hunter2\", \"expires_in\": 3599, \"token_type\": \"Bearer\"}";

/// The stub of a control plane whose cloud services run on a test server.
fn stub(desk: &Desk, server: &Server, places: &[&str]) -> Stub {
    let stub = desk.stub("cp1");
    let at = format!("http://{}", server.address);
    let moved: Vec<_> = places
        .iter()
        .map(|place| format!("{at}/{}", place.split_once("://").unwrap().1))
        .collect();
    let changes: Vec<_> = places.iter().copied().zip(moved.iter().map(String::as_str)).collect();
    stub.change(&changes);
    stub
}

#[test]
fn a_bucket_of_google_is_asked_with_the_service_account() {
    let server = Server::start();
    let desk = Desk::new("gs://box/a", "", "");
    let stub = stub(
        &desk,
        &server,
        &["http://metadata.google.internal", "https://storage.googleapis.com"],
    );
    server.lay(
        "/metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token",
        OPEN,
    );
    let name = desk.payload_path("cp1").replacen("/a/", "a%2F", 1);
    server.lay(
        &format!("/storage.googleapis.com/storage/v1/b/box/o/{name}?alt=media"),
        desk.payload("cp1"),
    );
    stub.run();
    let requests = server.requests();
    assert!(requests[0].headers.contains("metadata-flavor: Google"), "{requests:?}");
    assert!(
        requests[1].headers.contains("authorization: Bearer hunter2"),
        "{requests:?}"
    );
    assert!(stub.machine.exists("/etc/firelay/node.env"));
}

#[test]
fn a_container_of_azure_is_asked_with_the_managed_identity() {
    let server = Server::start();
    let desk = Desk::new("azure://account/box", "", "");
    let stub = stub(
        &desk,
        &server,
        &["http://169.254.169.254", "https://%s.blob.core.windows.net"],
    );
    server.lay(
        "/169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com%2F",
        OPEN,
    );
    server.lay(
        &format!("/account.blob.core.windows.net{}", desk.payload_path("cp1")),
        desk.payload("cp1"),
    );
    stub.run();
    let requests = server.requests();
    assert!(requests[0].headers.contains("metadata: true"), "{requests:?}");
    let headers = &requests[1].headers;
    assert!(
        headers.contains("authorization: Bearer hunter2") && headers.contains("x-ms-version: 2021-08-06"),
        "{headers}"
    );
}

#[test]
fn a_bucket_of_amazon_is_asked_with_the_role_of_the_instance() {
    let server = Server::start();
    let desk = Desk::new("s3://box/a", "", "");
    let stub = stub(&desk, &server, &["http://169.254.169.254"]);
    stub.change(&[("\"https://\" + host", &format!("\"http://{}/\" + host", server.address))]);
    let of = |path: &str, body: &str| server.lay(&format!("/169.254.169.254/latest/{path}"), body);
    of("api/token", "session");
    of("meta-data/placement/region", "eu-central-1");
    of("meta-data/services/domain", "amazonaws.com");
    of("meta-data/iam/security-credentials/", "node\n");
    of(
        "meta-data/iam/security-credentials/node",
        "{\"AccessKeyId\": \"AKID\", \"SecretAccessKey\": \"hunter2\", \"Token\": \"hunter3\"}",
    );
    server.lay(
        &format!("/box.s3.eu-central-1.amazonaws.com{}", desk.payload_path("cp1")),
        desk.payload("cp1"),
    );
    stub.run();
    let requests = server.requests();
    assert_eq!((requests[0].method.as_str(), requests.len()), ("PUT", 6));
    let metadata = &requests[1..5];
    assert!(
        metadata
            .iter()
            .all(|request| request.headers.contains("x-aws-ec2-metadata-token: session"))
    );
    let headers = &requests[5].headers;
    assert!(headers.contains("x-amz-security-token: hunter3"), "{headers}");
    let signed = "/eu-central-1/s3/aws4_request,SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,Signature=";
    assert!(
        headers.contains("Credential=AKID/") && headers.contains(signed),
        "{headers}"
    );
}

/// The example of the Amazon S3 API reference ("Authenticating Requests: Using the Authorization Header", GET Object).
#[test]
fn the_signature_is_that_of_amazons_example() {
    let desk = Desk::new("s3://box", "", "");
    let script = desk.stub("cp1").machine.read("/usr/local/lib/firelay/fetch");
    let start = script.find("def signed").unwrap();
    let end = script[start..].find("\n\n\n").unwrap() + start;
    let asked = r#"
headers = {"range": "bytes=0-9", "x-amz-content-sha256": hashlib.sha256(b"").hexdigest(), "x-amz-date": "20130524T000000Z"}
headers = signed("examplebucket.s3.amazonaws.com", "/test.txt", headers, "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")
print(json.dumps(headers["Authorization"]))"#;
    let said = python(
        &format!("import hashlib, hmac, json\n{}\n{asked}", &script[start..end]),
        "",
    );
    let expected = "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
    assert_eq!(said, expected);
}
