//! The mirror requests images from registries as containerd does.

use base64::{Engine, prelude::BASE64_STANDARD};
use firelay::{
    mirror::{Client, Endpoint, Reference, serves},
    secret::Secret,
};

use super::site::{Page, Site};

fn endpoint(site: &Site, password: &str) -> Endpoint {
    Endpoint {
        url: site.url.clone(),
        override_path: false,
        ca: Some(site.ca.clone()),
        verified: true,
        client: None,
        credentials: Some(("puller".to_owned(), Secret::new(password.to_owned()))),
    }
}

#[test]
fn mirrors_are_asked_in_order_with_their_authority_and_credentials() {
    let (empty, full) = (Site::tls(), Site::tls());
    full.put(
        "/v2/pause/manifests/3.10",
        Page {
            bytes: b"{}".to_vec(),
            ..Page::default()
        },
    );
    let image = Reference::of("registry.k8s.io/pause:3.10");
    let client = Client::new(None).unwrap();
    let both = [endpoint(&empty, "hunter2"), endpoint(&full, "hunter2")];
    assert_eq!(serves(&client, &both, &image), Ok(()));
    let asked = full.asked().remove(0);
    assert_eq!(asked.path, "/v2/pause/manifests/3.10?ns=registry.k8s.io");
    assert_eq!(asked.method, "HEAD");
    let pair = BASE64_STANDARD.encode("puller:hunter2");
    assert_eq!(asked.headers["authorization"], format!("Basic {pair}"));
    let unserved = serves(&client, &both[..1], &image).unwrap_err();
    assert_eq!(unserved.reasons, format!("{}: 404 Not Found", empty.url));
    assert!(!unserved.no_answer);
    full.put(
        "/v2/pause/manifests/3.10",
        Page {
            statuses: vec![401],
            ..Page::default()
        },
    );
    let reasons = serves(&client, &both[1..], &image).unwrap_err().reasons;
    assert!(
        reasons.contains("asks for other credentials") && !reasons.contains("hunter2"),
        "{reasons}"
    );
}

#[test]
fn an_authority_that_nobody_named_is_not_trusted_unless_nothing_is_verified() {
    let site = Site::tls();
    site.put(
        "/v2/library/busybox/manifests/latest",
        Page {
            bytes: b"{}".to_vec(),
            ..Page::default()
        },
    );
    let image = Reference::of("busybox");
    let client = Client::new(None).unwrap();
    let unknown = Endpoint {
        ca: None,
        ..endpoint(&site, "x")
    };
    let unserved = serves(&client, std::slice::from_ref(&unknown), &image).unwrap_err();
    assert!(
        unserved.reasons.contains("certificate") && unserved.no_answer,
        "{unserved:?}"
    );
    assert_eq!(
        serves(
            &client,
            &[Endpoint {
                verified: false,
                ..unknown
            }],
            &image
        ),
        Ok(())
    );
}

#[test]
fn an_image_that_is_pinned_has_to_have_its_digest() {
    let site = Site::plain();
    let digest = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let (pinned, other) = (digest("a"), digest("b"));
    let name = format!("registry.k8s.io/pause@{pinned}");
    let asked = |given: Option<&String>| {
        let page = Page {
            digest: given.cloned(),
            ..Page::default()
        };
        site.put(&format!("/v2/pause/manifests/{pinned}"), page);
        let plain = Endpoint {
            ca: None,
            ..endpoint(&site, "hunter2")
        };
        serves(&Client::new(None).unwrap(), &[plain], &Reference::of(&name))
    };
    assert_eq!(asked(None), Ok(()));
    assert_eq!(asked(Some(&pinned)), Ok(()));
    let unserved = asked(Some(&other)).unwrap_err();
    assert_eq!(
        unserved.reasons,
        format!("{}: it has another image there: {other}", site.url)
    );
}
