//! The page of a refused spec: every finding with its lines, and what can be drawn of the cluster.

use std::fs;

use super::{
    super::support::{example, firelay, said},
    BROKEN_WORDS, CONTRAST, NOTHING, OVERFLOW, OVERLAPS,
    browser::Browser,
    open, strings,
};

/// A file that hardly compresses, so that no document fits.
fn large_file() -> String {
    let mut state = 1_u64;
    let mut line = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("      {state:016x}\n")
    };
    let lines: String = (0..1500).map(|_| line()).collect();
    format!("files:\n  - path: /etc/large\n    content: |\n{lines}")
}

/// The page of an example with further lines in its spec, after these replacements. Nothing but the spec is there.
fn refused(replaced: &[(&str, &str)], added: &str) -> (tempfile::TempDir, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let mut spec = fs::read_to_string(example("ha-ubuntu").spec).unwrap();
    for (old, new) in replaced {
        assert!(spec.contains(old), "{old}");
        spec = spec.replace(old, new);
    }
    fs::write(directory.path().join("cluster.yaml"), spec + added).unwrap();
    let run = |arguments: &[&str]| {
        let output = firelay(arguments).current_dir(directory.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        said(&output)
    };
    let (told, found) = (run(&["report", "--out", "page.html"]), run(&["check"]));
    let (findings, verdict) = found.trim_end().rsplit_once('\n').unwrap();
    assert!(
        told.starts_with(findings) && told.ends_with(&format!("{verdict}\n")),
        "{told}"
    );
    let page = fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(
        told.contains(&format!("wrote page.html: {} bytes\n", page.len())),
        "{told}"
    );
    (directory, page, told)
}

/// Looks at the page as people do.
fn look(directory: &tempfile::TempDir, drawn: bool) {
    let browser = Browser::start();
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        for width in [360, 1200] {
            browser.width(width);
            open(&browser, directory.path());
            for probe in [CONTRAST, OVERFLOW, BROKEN_WORDS] {
                assert_eq!(strings(&browser.run(probe)), NOTHING, "{scheme} {width}");
            }
            if drawn {
                assert_eq!(strings(&browser.run(OVERLAPS)), NOTHING, "{scheme} {width}");
            }
        }
    }
}

#[test]
fn a_document_that_does_not_fit_is_shown_beyond_its_limit() {
    let (directory, page, _) = refused(&[], &large_file());
    for text in [
        "<code>FL0931</code> the documents of cp1",
        "over the limit of 16384, as gzip and base64",
        "fits with no <code>files</code>",
        "cluster.yaml is refused: 2 errors. There is no document",
        "3 × control-plane on aws",
        "kubelet 10250/tcp",
        "The limit: 16384 bytes",
        "% of aws&#x27;s limit",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for section in ["boot", "certificates", "exposure", "changes"] {
        assert!(!page.contains(&format!("id=\"{section}\"")), "{section}");
    }
    look(&directory, true);
    let browser = Browser::start();
    open(&browser, directory.path());
    let limit = "const bar = document.querySelector('.bar.over').getBoundingClientRect(); const line = document.querySelector('.bar .limit').getBoundingClientRect(); return bar.left < line.left && line.right < bar.right - 20";
    assert_eq!(browser.run(limit), true, "the bar goes on after its limit");
}

#[test]
fn mistakes_are_shown_with_their_lines_and_the_cluster_is_drawn() {
    let mistakes = "timezon: <b>\naccess: { users: [{ name: admin, password: s3cr3t-in-clear }] }\n";
    let host = [("host: api.prod.example.com", "host: \"https://admin:s3cr3t-in-url@x\"")];
    let (directory, page, _) = refused(&host, mistakes);
    for text in [
        "unknown key <code>timezon</code>",
        "timezon: &lt;b&gt;",
        "^^^^^^^ did you mean `timezone`?",
        "not a host name or address",
        "3 × control-plane on aws",
        "worker-1..3",
        "unknown",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("s3cr3t"), "values that may be secret are hidden");
    assert!(!page.contains("Who talks to whom"), "no ports without a plan");
    look(&directory, true);
}

#[test]
fn a_text_that_is_no_spec_has_its_findings_alone() {
    let (directory, page, _) = refused(&[("kind: Cluster", "kind: [")], "");
    assert!(page.contains("<code>FL0001</code> not valid YAML") && page.contains("<h1>cluster.yaml</h1>"));
    assert!(!page.contains("id=\"cluster\""));
    look(&directory, false);
}
