//! A mirror is filled from servers that abort, lie, are slow or have another version, and is then verified completely.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod asked;
mod catalog;
mod command;
mod containerd;
mod names;
mod registry;
pub mod site;
use crate::support;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use firelay::mirror::{Client, Fault, Outcome, SyncOptions, Wanted, check_local, check_remote, sync};
use site::{Page, Site, sha256};

const OPTIONS: SyncOptions = SyncOptions {
    parallel: 4,
    retries: 3,
    pause: Duration::from_millis(1),
    bar: false,
};
const ONCE: SyncOptions = SyncOptions { retries: 0, ..OPTIONS };

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect()
}

fn page() -> Page {
    Page {
        bytes: bytes(200_000),
        etag: Some("\"1\""),
        ranges: true,
        ..Page::default()
    }
}

fn wanted(site: &Site, name: &str, sha256: &str) -> Wanted {
    Wanted {
        path: format!("example.com/{name}"),
        url: format!("{}/{name}", site.url),
        digest: sha256.to_owned(),
    }
}

fn synced(wanted: &[Wanted], directory: &Path, options: SyncOptions) -> Vec<Outcome> {
    let client = Client::new(None).unwrap();
    let said = Mutex::new(String::new());
    let tell = |text: &str| said.lock().unwrap().push_str(text);
    let synced = sync(&client, wanted, directory, options, &tell).unwrap();
    assert_eq!(said.lock().unwrap().lines().count(), wanted.len());
    synced.into_iter().map(|file| file.outcome).collect()
}

fn one(site: &Site, directory: &Path, sha256: &str, options: SyncOptions) -> Outcome {
    synced(&[wanted(site, "a", sha256)], directory, options).remove(0)
}

/// All files below a directory but the lock.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else if !entry.ends_with(".firelay-mirror") {
            found.push(entry);
        }
    }
    found.sort();
    found
}

#[test]
fn a_connection_that_breaks_off_is_gone_on_with() {
    let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
    let sha256 = site.put("/a", Page { cuts: 2, ..page() });
    assert_eq!(
        one(&site, directory.path(), &sha256, OPTIONS),
        Outcome::Fetched(200_000)
    );
    let asked = site.asked();
    let ranges: Vec<_> = asked.iter().map(|asked| asked.headers.get("range").cloned()).collect();
    assert_eq!(
        ranges,
        [None, Some("bytes=100000-".into()), Some("bytes=150000-".into())]
    );
    assert_eq!(asked[1].headers["if-range"], "\"1\"");
    assert_eq!(files(directory.path()), [directory.path().join("example.com/a")]);
    assert_eq!(
        fs::read(directory.path().join("example.com/a")).unwrap(),
        bytes(200_000)
    );
}

#[test]
fn a_later_run_goes_on_and_nothing_half_has_the_final_name() {
    let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
    let sha256 = site.put("/a", Page { cuts: 1, ..page() });
    let Outcome::Failed(why) = one(&site, directory.path(), &sha256, ONCE) else {
        panic!()
    };
    assert!(why.contains("broke off"), "{why}");
    assert!(!directory.path().join("example.com/a").exists());
    assert_eq!(
        fs::read(directory.path().join("example.com/a.part")).unwrap(),
        bytes(200_000)[..100_000]
    );
    site.asked();
    assert_eq!(one(&site, directory.path(), &sha256, ONCE), Outcome::Fetched(200_000));
    assert_eq!(site.asked()[0].headers["range"], "bytes=100000-");
    assert_eq!(one(&site, directory.path(), &sha256, ONCE), Outcome::Present(200_000));
    assert!(site.asked().is_empty(), "what is there is not asked for");
}

#[test]
fn a_part_of_another_version_or_of_a_server_without_parts_is_begun_anew() {
    for (etag, ranges) in [(Some("\"2\""), true), (None, true), (Some("\"1\""), false)] {
        let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
        let old = site.put(
            "/a",
            Page {
                cuts: 1,
                bytes: bytes(80_000),
                ..page()
            },
        );
        assert!(matches!(one(&site, directory.path(), &old, ONCE), Outcome::Failed(_)));
        let new = site.put("/a", Page { etag, ranges, ..page() });
        assert_eq!(
            one(&site, directory.path(), &new, ONCE),
            Outcome::Fetched(200_000),
            "{etag:?} {ranges}"
        );
    }
}

#[test]
fn wrong_bytes_leave_nothing_behind_and_are_not_asked_for_again() {
    let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
    let served = site.put("/a", page());
    let expected = sha256(b"other");
    let Outcome::Failed(why) = one(&site, directory.path(), &expected, OPTIONS) else {
        panic!()
    };
    assert_eq!(why, format!("it has sha256 {served}, expected {expected}"));
    assert_eq!(files(directory.path()), [] as [PathBuf; 0]);
    assert_eq!(site.asked().len(), 1);
}

#[test]
fn an_end_that_may_not_be_the_end_is_asked_for_again_and_no_more_often_than_that() {
    let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
    let endless = Page {
        endless: true,
        ..page()
    };
    let sha256 = site.put(
        "/a",
        Page {
            cuts: 2,
            ..endless.clone()
        },
    );
    assert_eq!(
        one(&site, directory.path(), &sha256, OPTIONS),
        Outcome::Fetched(200_000)
    );
    assert_eq!(site.asked().len(), 3);
    site.put("/b", endless);
    let other = wanted(&site, "b", &self::sha256(b"other"));
    let failed = synced(&[other], directory.path(), OPTIONS);
    assert!(
        matches!(&failed[0], Outcome::Failed(why) if why.starts_with("it has sha256")),
        "{failed:?}"
    );
    assert_eq!(site.asked().len(), 4);
}

#[test]
fn a_part_that_nobody_asked_for_is_none() {
    let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
    let partial = Page {
        partial: true,
        ..page()
    };
    let sha256 = site.put("/a", partial);
    let said = one(&site, directory.path(), &sha256, ONCE);
    assert_eq!(
        said,
        Outcome::Failed("the server sends another part than it was asked for".into())
    );
}

#[test]
fn what_passes_is_tried_again_and_what_does_not_is_not() {
    let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
    let sha256 = site.put(
        "/a",
        Page {
            statuses: vec![503, 429],
            ..page()
        },
    );
    assert_eq!(
        one(&site, directory.path(), &sha256, OPTIONS),
        Outcome::Fetched(200_000)
    );
    assert_eq!(site.asked().len(), 3);
    let none = synced(&[wanted(&site, "none", &sha256)], directory.path(), OPTIONS);
    assert_eq!(none, [Outcome::Failed("the server answers 404 Not Found".into())]);
    assert_eq!(site.asked().len(), 1);
    site.put(
        "/down",
        Page {
            statuses: vec![503; 9],
            ..page()
        },
    );
    let down = synced(&[wanted(&site, "down", &sha256)], directory.path(), OPTIONS);
    assert!(
        matches!(&down[0], Outcome::Failed(why) if why.contains("503")),
        "{down:?}"
    );
    assert_eq!(site.asked().len(), 4);
}

#[test]
fn a_wrong_file_is_replaced_and_one_outside_is_not_written() {
    let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
    let sha256 = site.put("/a", page());
    fs::create_dir(directory.path().join("example.com")).unwrap();
    fs::write(directory.path().join("example.com/a"), "old").unwrap();
    assert_eq!(one(&site, directory.path(), &sha256, ONCE), Outcome::Fetched(200_000));
    let outside = Wanted {
        path: "../a".into(),
        ..wanted(&site, "a", &sha256)
    };
    assert!(matches!(&synced(&[outside], directory.path(), ONCE)[0], Outcome::Failed(why) if why.contains("outside")));
}

#[test]
fn slow_files_come_at_the_same_time() {
    let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
    let slow = |name: &str| {
        let sha256 = site.put(
            &format!("/{name}"),
            Page {
                slow: Duration::from_millis(700),
                ..page()
            },
        );
        wanted(&site, name, &sha256)
    };
    let all = ["a", "b", "c", "d"].map(slow);
    let began = std::time::Instant::now();
    assert_eq!(
        synced(&all, directory.path(), OPTIONS),
        vec![Outcome::Fetched(200_000); 4]
    );
    assert!(began.elapsed() < Duration::from_millis(2100), "{:?}", began.elapsed());
}

#[test]
fn a_directory_that_is_being_filled_is_not_filled_by_another() {
    let directory = tempfile::tempdir().unwrap();
    let lock = fs::File::create(directory.path().join(".firelay-mirror")).unwrap();
    lock.lock().unwrap();
    let client = Client::new(None).unwrap();
    let error = sync(&client, &[], directory.path(), ONCE, &|_| {}).unwrap_err();
    assert!(error.to_string().contains("another run"), "{error}");
}

#[test]
fn every_fault_of_a_directory_and_of_a_server_is_found() {
    let (site, directory) = (Site::plain(), tempfile::tempdir().unwrap());
    let mut all = Vec::new();
    for (name, content) in [
        ("right", &b"right"[..]),
        ("other", b"other"),
        ("empty", b""),
        ("missing", b"missing"),
    ] {
        let sum = sha256(if name == "other" { b"expected" } else { content });
        all.push(wanted(&site, name, &sum));
        if name != "missing" {
            site.put(
                &format!("/{name}"),
                Page {
                    bytes: content.to_vec(),
                    ..Page::default()
                },
            );
            fs::create_dir_all(directory.path().join("example.com")).unwrap();
            fs::write(directory.path().join("example.com").join(name), content).unwrap();
        }
    }
    let client = Client::new(None).unwrap();
    let faults = |quick| {
        let local: Vec<_> = check_local(&all, directory.path(), quick, 2)
            .into_iter()
            .map(|problem| problem.fault)
            .collect();
        let asked: Vec<_> = check_remote(&client, &all, quick, 2)
            .into_iter()
            .map(|problem| problem.fault)
            .collect();
        assert_eq!(local, asked);
        asked
    };
    assert_eq!(
        faults(false),
        [Fault::Digest(sha256(b"other")), Fault::Empty, Fault::Missing]
    );
    site.asked();
    assert_eq!(faults(true), [Fault::Empty, Fault::Missing]);
    assert!(site.asked().iter().all(|asked| asked.method == "HEAD"));
    let gone = Wanted {
        url: "http://127.0.0.1:1/a".into(),
        ..all[0].clone()
    };
    assert!(matches!(
        &check_remote(&client, &[gone], false, 1)[0].fault,
        Fault::NoAnswer(_)
    ));
}
