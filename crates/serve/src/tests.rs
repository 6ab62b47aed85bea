#![allow(clippy::unwrap_used, clippy::panic)]
mod turns;

use std::{fs, net::IpAddr, sync::Arc, time::Duration};

use crate::{
    Journal, JournalError, Limits,
    access_log::redacted_path,
    pages::is_here,
    request::{Parsed, Request, parse},
    slots::Slots,
};

fn whole(text: &str) -> Request {
    match parse(text.as_bytes()) {
        Parsed::Whole(request) => request,
        other => panic!("{text:?}: {other:?}"),
    }
}

fn segments(path: &str) -> Option<Vec<String>> {
    whole(&format!("GET {path} HTTP/1.1\r\n\r\n")).segments
}

#[test]
fn a_path_is_plain_names_or_nothing() {
    assert_eq!(segments("/m/a/b?c=d/e").unwrap(), ["m", "a", "b"]);
    assert_eq!(segments("/mirror/a%2bb%20c").unwrap(), ["mirror", "a+b c"]);
    let upwards = [
        "/..",
        "/a/../b",
        "/a/./b",
        "/%2e%2e/b",
        "/a/%2E./b",
        "/a%2fb",
        "/a%2F..%2Fb",
        "/a%5c..%5cb",
        "/a\\b",
    ];
    let odd = [
        "/",
        "//",
        "/a//b",
        "/a/",
        "/a%00",
        "/a%0a",
        "/%",
        "/%2",
        "/%zz",
        "/%ff",
        "*",
        "http://x",
        "http://x/../a",
        "ftp://x/a",
        "a/b",
    ];
    for path in upwards.iter().chain(&odd) {
        assert_eq!(segments(path), None, "{path}");
    }
    // Decoded once.
    assert_eq!(segments("/a%252fb").unwrap(), ["a%2fb"]);
    // The form that proxies receive.
    assert_eq!(segments("http://boot.lan:8080/m/a?b=http://c/d").unwrap(), ["m", "a"]);
    assert_eq!(segments("HTTPS://[fd00::1]/m/a").unwrap(), ["m", "a"]);
}

#[test]
fn only_a_whole_request_without_a_body_is_one() {
    let request = whole("HEAD /m/self/x HTTP/1.0\r\nx-FIRELAY-node: 52:54\r\nContent-Length: 0\r\n\r\n");
    assert!(request.head);
    assert_eq!(request.node.as_deref(), Some("52:54"));
    let refused = |text: &str| match parse(text.as_bytes()) {
        Parsed::Refused(status) => status,
        other => panic!("{text:?}: {other:?}"),
    };
    assert_eq!(parse(b"GET / HTTP/1.1\r\nHost: a\r\n"), Parsed::Partial);
    assert_eq!(refused("POST / HTTP/1.1\r\n\r\n"), 405);
    assert_eq!(refused("GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n"), 400);
    assert_eq!(refused("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
    assert_eq!(refused("\x16\x03\x01\x02\0\x01\0\x01\r\n\r\n"), 400);
    assert_eq!(
        refused(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65))),
        431
    );
    assert_eq!(refused(&format!("GET /{}", "a".repeat(9000))), 431);
}

#[test]
fn an_address_that_asks_too_often_waits_and_no_other_does() {
    let mut limits = Limits::new(2);
    let [one, other]: [IpAddr; 2] = ["10.0.0.1", "10.0.0.2"].map(|it| it.parse().unwrap());
    let at = Duration::from_millis;
    assert_eq!((0..20).filter(|_| limits.allow(one, at(0))).count(), 10);
    assert!(limits.allow(other, at(0)));
    assert!(!limits.allow(one, at(499)));
    assert!(limits.allow(one, at(500)));
    assert!(!limits.allow(one, at(501)));
    // Years later the burst size is the same as in the beginning.
    assert_eq!((0..20).filter(|_| limits.allow(one, Duration::MAX)).count(), 10);
    // The machines of one link are not one with IPv6 either.
    let [one, other, mapped]: [IpAddr; 3] = ["fd00::1", "fd00::2", "::ffff:10.0.0.1"].map(|it| it.parse().unwrap());
    assert_eq!((0..20).filter(|_| limits.allow(one, at(0))).count(), 10);
    assert!(limits.allow(other, at(0)));
    assert!(!limits.allow(mapped, Duration::MAX));
    let mut none = Limits::new(0);
    assert!((0..1000).all(|_| none.allow(one, at(0))));
}

#[test]
fn an_address_has_a_part_of_the_places_and_a_network_a_larger_one() {
    let take = |slots: &Arc<Slots>, peer: &str, count: usize| {
        let taken = (0..count).filter_map(|_| slots.take(peer.parse().unwrap()));
        taken.collect::<Vec<_>>()
    };
    let slots = Slots::new(8);
    let first = take(&slots, "fd00::1", 3);
    assert_eq!(first.len(), 2);
    let others: Vec<_> = ["fd00::2", "fd00::3", "fd00::4"]
        .map(|peer| take(&slots, peer, 3))
        .into();
    assert_eq!(others.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 0]);
    let stranger = take(&slots, "10.0.0.1", 3);
    assert_eq!(stranger.len(), 2);
    drop((first, stranger));
    assert_eq!(take(&slots, "fd00::4", 3).len(), 2);
}

#[test]
fn the_state_outlives_the_server_and_a_line_that_was_cut_short() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state");
    let claim = |node: &str, digest: &str| {
        let mut journal = Journal::open(&path).unwrap();
        journal.claim(node, digest, "10.0.0.1".to_owned()).unwrap()
    };
    assert!(claim("cp1", "a"));
    assert!(!claim("cp1", "a"));
    assert!(!claim("cp1", "b"));
    assert!(claim("w1", "a"));
    // Half a line: nothing went out for it.
    let whole = fs::read_to_string(&path).unwrap();
    let half = whole.lines().next().unwrap().replace("cp1", "w9");
    fs::write(&path, format!("{whole}{}", &half[..half.len() - 3])).unwrap();
    assert!(claim("w9", "a"));
    assert!(!claim("w9", "a"));
    assert!(!claim("w1", "a"));
    Journal::open(&path).unwrap().forget("cp1").unwrap();
    assert!(claim("cp1", "a"));
    assert!(!claim("w1", "a"));
}

#[test]
fn a_state_has_one_server_and_is_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state");
    let first = Journal::open(&path).unwrap();
    assert!(matches!(Journal::open(&path), Err(JournalError::Busy { .. })));
    drop(first);
    fs::write(&path, "{\"event\":\"forgotten\",\"node\":\"a\"}\nnotes\n").unwrap();
    assert!(matches!(
        Journal::open(&path),
        Err(JournalError::Foreign { line: 2, .. })
    ));
}

#[test]
fn tokens_stay_until_a_machine_is_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state");
    let mut drawn = 0;
    let mut random = |bytes: &mut [u8]| {
        drawn += 1;
        bytes.fill(drawn);
        Ok(())
    };
    let mut tokens = |forget: &[&str]| {
        let mut journal = Journal::open(&path).unwrap();
        forget.iter().for_each(|node| journal.forget(node).unwrap());
        journal.tokens(["cp1", "w1"].into_iter(), &mut random).unwrap()
    };
    let first = tokens(&[]);
    assert_eq!(
        (first["cp1"].as_str(), first["w1"].len()),
        ("01010101010101010101010101010101", 32)
    );
    assert_eq!(tokens(&[]), first);
    let later = tokens(&["w1"]);
    assert_eq!(later["cp1"], first["cp1"]);
    assert_ne!(later["w1"], first["w1"]);
}

#[test]
fn no_token_is_written_down() {
    let redacted_path = |path: &str| redacted_path(&whole(&format!("GET {path} HTTP/1.1\r\n\r\n")));
    for path in [
        "/m/52-54-00-12-34-56/user-data",
        "/m/4c4c4544-0051-3010-8052-b4c04f4e4c31/boot.ipxe",
        "/mirror/debian/a%2bb",
        "/boot.ipxe",
    ] {
        assert_eq!(redacted_path(path), path);
    }
    for who in [
        "01010101010101010101010101010101",
        "0101010101010101010101010101010",
        "52-54-00-12-34",
        "x",
    ] {
        assert_eq!(redacted_path(&format!("/m/{who}/user-data")), "/m/*/user-data");
        // With the path in any notation, and with none.
        for (path, shown) in [
            (format!("/%6d/{who}/user-data"), "/m/*/user-data"),
            (format!("http://boot.lan/m/{who}/user-data"), "/m/*/user-data"),
            (format!("/m//{who}/config.ign"), "/m//*/config.ign"),
            (format!("//m/{who}/"), "//m/*/"),
            (format!("/M/{who}/{who}"), "/*/*/*"),
            (format!("/mirror/../m/{who}/user-data"), "/mirror/../m/*/user-data"),
            (format!("/m/%zz{who}"), "/m/*"),
            (who.to_owned(), "*"),
        ] {
            assert_eq!(redacted_path(&path), shown, "{path}");
        }
    }
    assert_eq!(redacted_path(&"/a".repeat(500)).len(), 200);
}

#[test]
fn a_host_is_this_machine_by_its_own_names_alone() {
    for host in [
        "localhost",
        "LocalHost:8080",
        "127.0.0.1",
        "127.0.0.1:80",
        "[::1]",
        "[::1]:8080",
    ] {
        assert!(is_here(host), "{host}");
    }
    for host in [
        "",
        ":80",
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "127.0.0.1:80@evil.example",
        "127.0.0.1:evil",
        "10.0.0.5",
        "0.0.0.0:80",
        "[::1",
        "::1",
        "[127.0.0.1]",
        "[::]",
    ] {
        assert!(!is_here(host), "{host}");
    }
}

#[test]
fn a_host_that_is_given_twice_is_none() {
    let host = |lines: &str| whole(&format!("GET / HTTP/1.1\r\n{lines}\r\n")).host;
    assert_eq!(host("HOST: localhost:80\r\n").as_deref(), Some("localhost:80"));
    assert_eq!(host(""), None);
    assert_eq!(host("Host: localhost\r\nHost: evil.example\r\n"), None);
}
