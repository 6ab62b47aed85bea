//! A document is sent only once.

use std::{fs, io::Write, sync::Barrier};

use super::{
    client::{ask, connect, get},
    is_nothing,
    site::{CP1, Site, W1, W2, document},
    support,
};

#[test]
fn one_of_fifty_who_ask_at_a_time_gets_the_document() {
    let site = Site::new();
    let server = site.serve(&["--rate", "0"]);
    let (path, barrier) = (format!("/m/{CP1}/user-data"), Barrier::new(50));
    let responses: Vec<_> = std::thread::scope(|scope| {
        let asking = || {
            barrier.wait();
            get(server.http(), &path)
        };
        let asked: Vec<_> = (0..50).map(|_| scope.spawn(asking)).collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (given, refused): (Vec<_>, Vec<_>) = responses.into_iter().partition(|response| response.status == 200);
    assert_eq!(given.len(), 1);
    assert_eq!(given[0].body, document("cp1/user-data"));
    assert!(refused.iter().all(is_nothing));
    assert_eq!((server.outcomes_of("given", 50), server.outcomes("spent")), (1, 49));
}

#[test]
fn what_went_out_stays_out_until_the_operator_says_otherwise() {
    let site = Site::new();
    let (cp1, w1) = (format!("/m/{CP1}/user-data"), format!("/m/{W1}/config.ign"));
    let ask_once = |arguments: &[&str], path: &str| {
        let server = site.serve(arguments);
        let response = get(server.http(), path);
        server.stop();
        response.status
    };
    // A HEAD request does not count.
    let server = site.serve(&[]);
    let head = ask(server.http(), "HEAD", &cp1, "");
    assert!(head.status == 200 && head.body.is_empty(), "{head:?}");
    server.stop();
    assert_eq!(ask_once(&[], &cp1), 200);
    assert_eq!(ask_once(&[], &cp1), 404);
    assert_eq!(ask_once(&["--again", "w1"], &cp1), 404);
    assert_eq!(ask_once(&[], &w1), 200);
    assert_eq!(ask_once(&["--again", "cp1"], &cp1), 200);
    assert_eq!(ask_once(&[], &cp1), 404);
    assert_eq!(ask_once(&[], &w1), 404);
    assert_eq!(ask_once(&["--reusable"], &cp1), 200);
    assert_eq!(ask_once(&["--reusable"], &cp1), 200);
    assert_eq!(ask_once(&[], &cp1), 404);
}

/// The operating system accepted the document, but the machine did not: unread data resets the connection.
#[test]
fn a_machine_that_resets_the_connection_may_ask_again() {
    let site = Site::new();
    let server = site.serve(&[]);
    let path = format!("/m/{CP1}/user-data");
    let mut stream = connect(server.http());
    write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
    stream.peek(&mut [0; 1]).unwrap();
    drop(stream);
    assert_eq!(server.outcomes_of("interrupted", 1), 1);
    assert_eq!(server.outcomes("given"), 0);
    assert_eq!(get(server.http(), &path).body, document("cp1/user-data"));
    assert_eq!(server.outcomes_of("given", 2), 1);
    assert!(is_nothing(&get(server.http(), &path)));
}

/// A new render changes documents of running machines, and of those that never asked.
#[test]
fn a_new_render_gives_nobody_another_turn() {
    let site = Site::new();
    let work = site.at("work");
    fs::create_dir(&work).unwrap();
    let render = |arguments: &[&str]| {
        let mut render = support::firelay(&[&["render", "--secrets"], arguments].concat());
        support::succeed(render.current_dir(&work), "firelay");
    };
    fs::copy(
        super::site::out().with_file_name("cluster.yaml"),
        work.join("cluster.yaml"),
    )
    .unwrap();
    let bundle = super::site::bundle();
    let bundle = bundle.to_str().unwrap();
    render(&[bundle]);
    let (cp1, w2) = (format!("/m/{CP1}/user-data"), format!("/m/{W2}/user-data"));
    let ask_once = |arguments: &[&str], path: &str| {
        let server = site.serve_tree(&work.join("out"), arguments);
        let response = get(server.http(), path);
        server.stop();
        response
    };
    let first = ask_once(&[], &cp1);
    assert_eq!(first.status, 200);
    render(&[bundle, "--set", "timezone=Europe/Berlin"]);
    assert!(is_nothing(&ask_once(&[], &cp1)));
    assert_eq!(ask_once(&[], &w2).status, 200);
    let again = ask_once(&["--again", "cp1"], &cp1);
    assert!(again.status == 200 && again.body != first.body);
}

#[test]
fn a_port_that_no_script_leads_to_is_told() {
    let site = Site::new();
    let server = site.serve(&[]);
    let said = "warning: the boot scripts lead to http://10.0.0.5:8080, and this server does not listen on port 8080\n";
    assert!(server.said.contains(said), "{}", server.said);
}

#[test]
fn a_mirror_with_the_tree_or_the_bundle_is_refused() {
    let site = Site::new();
    std::os::unix::fs::symlink(super::site::out().parent().unwrap(), site.at("link")).unwrap();
    let (out, link) = (super::site::out(), site.at("link"));
    for mirror in [out.parent().unwrap(), &out, &out.join("nodes"), &link] {
        let mut serve = support::firelay(&["serve", "--listen", "127.0.0.1:0", "--mirror"]);
        let ran = serve
            .arg(mirror)
            .arg("--state")
            .arg(site.at("state"))
            .arg(&out)
            .output()
            .unwrap();
        let said = support::said(&ran);
        assert_eq!(ran.status.code(), Some(2), "{said}");
        assert!(said.contains("to everybody\n  = help: "), "{said}");
    }
}

#[test]
fn a_full_disk_costs_no_turn_and_leaves_no_half_line() {
    let site = Site::new();
    // The file size limit leaves room for half of the next line.
    let line = r#"{"event":"forgotten","node":"w9"}"#.to_owned() + "\n";
    let state = line.repeat(100);
    fs::write(site.at("state"), &state).unwrap();
    let path = format!("/m/{CP1}/user-data");
    let server = site.serve_on_full_disk(state.len() + 40);
    assert_eq!(get(server.http(), &path).status, 503);
    assert_eq!(get(server.http(), &path).status, 503);
    assert_eq!(fs::read_to_string(site.at("state")).unwrap(), state);
    server.make_room();
    assert_eq!(get(server.http(), &path).body, document("cp1/user-data"));
    assert_eq!((server.outcomes("failed"), server.outcomes_of("given", 3)), (2, 1));
    server.stop();
    let server = site.serve(&[]);
    assert!(is_nothing(&get(server.http(), &path)));
    assert_eq!(server.outcomes("spent"), 1);
}

#[test]
fn who_runs_from_memory_is_told_to_need_its_document_again() {
    let site = Site::new();
    let said = |arguments: &[&str]| {
        let server = site.serve(arguments);
        let said = server.said.clone();
        server.stop();
        said
    };
    assert!(
        said(&[])
            .starts_with("warning: these run from memory, need their documents at each start, and get them once: w1\n")
    );
    assert!(!said(&["--reusable"]).contains("run from memory"));
}

#[test]
fn a_token_is_the_only_way_where_there_are_tokens() {
    let site = Site::new();
    let server = site.serve(&["--tokens"]);
    let address = server.http();
    assert!(is_nothing(&get(address, &format!("/m/{CP1}/user-data"))));
    assert!(is_nothing(&get(address, &format!("/m/{CP1}/boot.ipxe"))));
    assert!(is_nothing(&get(address, "/boot.ipxe")));
    let (printed, _) = server.stop();
    let tokens: Vec<_> = printed.lines().filter_map(|line| line.split_once(' ')).collect();
    let names: Vec<_> = tokens.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["cp1", "w1", "w2", "w3"]);
    let server = site.serve(&["--tokens"]);
    let at = |name: &str, file: &str| {
        let (_, token) = tokens.iter().find(|(node, _)| *node == name).unwrap();
        get(server.http(), &format!("/m/{token}/{file}"))
    };
    let script = String::from_utf8(at("cp1", "boot.ipxe").body).unwrap();
    assert!(
        script.starts_with(&format!("#!ipxe\nset who {}\n", tokens[0].1)),
        "{script}"
    );
    assert_eq!(at("cp1", "user-data").body, document("cp1/user-data"));
    assert!(is_nothing(&at("cp1", "user-data")));
    assert!(is_nothing(&at("w1", "user-data")));
    // A machine without a MAC address is known by its token alone.
    assert_eq!(at("w3", "user-data").body, document("w3/user-data"));
    assert_eq!(server.outcomes_of("given", 8), 2);
    let audit: Vec<_> = server.audit().iter().map(ToString::to_string).collect();
    assert!(audit.iter().any(|line| line.contains("\"given\"")));
    for (_, token) in &tokens {
        assert!(!audit.iter().any(|line| line.contains(&token[..16])), "{audit:?}");
    }
    let (printed_again, _) = server.stop();
    assert_eq!(printed_again, printed);
    let (printed, _) = site.serve(&["--tokens", "--again", "cp1"]).stop();
    assert!(
        !printed.contains(tokens[0].1) && printed.contains(tokens[1].1),
        "{printed}"
    );
}
