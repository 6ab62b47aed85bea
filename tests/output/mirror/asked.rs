//! `artifacts check` asks the same servers as the machines, and nothing else.

use serde_json::json;

use super::{
    command::Desk,
    site::Site,
    support::{output, said},
};

#[test]
fn authorities_and_proxies_are_needed_by_whom_they_serve() {
    let desk = Desk::new(Site::plain());
    let without = |desk: &Desk, verb: &[&str], proxy: &str| {
        let mut command = desk.command(verb);
        command
            .env("SSL_CERT_FILE", "/nonexistent")
            .env("SSL_CERT_DIR", "/nonexistent")
            .env("HTTPS_PROXY", proxy);
        output(&mut command, "firelay")
    };
    let filled = without(&desk, &["mirror", "m"], "");
    assert!(filled.status.success(), "http:// trusts nobody: {}", said(&filled));
    let looked = without(&desk, &["check", "m"], "garbage://");
    assert!(looked.status.success(), "{}", said(&looked));
    let far = Desk::with(Site::plain(), "https://127.0.0.1:1");
    let told = without(&far, &["mirror", "m", "--retries", "0"], "");
    assert_eq!(told.status.code(), Some(1));
    assert!(
        said(&told).contains("no certificate of an authority"),
        "{}",
        said(&told)
    );
}

#[test]
fn a_place_is_a_directory_or_a_server_and_one_that_nobody_can_ask_lacks_nothing() {
    let desk = Desk::new(Site::plain());
    let told = desk.ended(&["check", &desk.site.url.replace("http", "HTTP")], 5);
    assert!(told.contains("not there") && !desk.site.asked().is_empty(), "{told}");
    let told = desk.ended(&["check", "ftp://files.example.com/m"], 2);
    assert!(told.contains("ftp:// cannot be asked"), "{told}");
    let told = desk.ended(&["check", "http://127.0.0.1:1"], 1);
    assert!(told.contains("nothing of http://127.0.0.1:1 could be asked"), "{told}");
    let told = desk.ended(&["check", "http://127.0.0.1:1", "--output", "json"], 1);
    assert!(told.contains(r#""what": "unknown""#), "{told}");
}

#[test]
fn a_mirror_is_asked_for_what_containerd_would_ask_it() {
    let (desk, upstream) = (Desk::new(Site::plain()), Site::plain());
    desk.ended(&["mirror", "m"], 0);
    let flannel = "ghcr.io/flannel-io/flannel:v0.28.9";
    for (capabilities, tags, digests) in [
        (json!([]), true, true),
        (json!(["pull"]), false, true),
        (json!(["resolve"]), true, false),
        (json!(["push"]), false, false),
    ] {
        let mirror = json!({ "url": desk.site.url, "capabilities": capabilities });
        let registry = json!({ "host": "_default", "server": upstream.url, "mirrors": [mirror] });
        desk.add(&json!({
            "runtime": { "registries": [registry] },
            "artifacts": { "imageDigests": { flannel: format!("sha256:{}", "a".repeat(64)) } },
        }));
        desk.site.asked();
        upstream.asked();
        desk.ended(&["check", "m", "--images"], 5);
        let of = |site: &Site| {
            let (digests, tags): (Vec<_>, Vec<_>) = site
                .asked()
                .into_iter()
                .partition(|asked| asked.path.contains("/manifests/sha256:"));
            (!tags.is_empty(), !digests.is_empty())
        };
        assert_eq!(of(&desk.site), (tags, digests), "{capabilities}");
        assert_eq!(of(&upstream), (true, true), "{capabilities}");
    }
}
