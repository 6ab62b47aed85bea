//! `report`: one page, from a spec or a tree, without a secret. Its look is tested in `tests/output/report`.

use std::fs;

use super::desk::{Desk, REFUSED, Ran, WARNED, too_large};
use super::support::{example, examples, firelay_at, rendered};

/// The part of a page with this id.
fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let begin = page
        .find(&format!("<section id=\"{id}\""))
        .unwrap_or_else(|| panic!("{id}"));
    let end = page[begin..].find("</section>").unwrap();
    &page[begin..begin + end]
}

fn founded(name: &str) -> Desk {
    let desk = Desk::of(name);
    for arguments in [&["render"][..], &["founded"], &["render"]] {
        assert_eq!(desk.run(arguments).code, 0);
    }
    desk
}

#[test]
fn a_page_is_written_and_nothing_else_and_twice_the_same() {
    let desk = Desk::of("ha-ubuntu");
    let before = desk.everything();
    let ran = desk.run(&["report"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stderr.starts_with("wrote report.html: "), "{ran:?}");
    let page = desk.read("report.html");
    let mut after = desk.everything();
    after.remove("report.html").unwrap();
    assert_eq!(after.len(), before.len());
    let again = desk.run(&["report", "--out", "-"]);
    assert_eq!(again.stdout, page);
    for id in ["cluster", "findings", "boot", "sizes", "certificates", "exposure"] {
        section(&page, id);
    }
    assert!(!page.contains("<section id=\"changes\""), "nothing was rendered");
    // Another day changes the dates alone.
    let mut later = firelay_at("2026-12-02 00:00:00", &["report", "--out", "-"]);
    let later = Ran::of(&later.current_dir(desk.directory.path()).output().unwrap());
    assert_ne!(later.stdout, page);
    for id in ["cluster", "boot", "sizes", "exposure"] {
        assert_eq!(section(&later.stdout, id), section(&page, id), "{id}");
    }
}

/// `--out` is the tree in other verbs: the bundle, the record and the spec of a cluster are not replaced by its page.
#[test]
fn a_page_replaces_only_an_earlier_page() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render"]).code, 0);
    std::os::unix::fs::symlink("firelay.secrets.yaml", desk.at("link")).unwrap();
    desk.write("notes.html", "<!doctype html>\n<title>notes</title>");
    let before = desk.everything();
    let was_read = "was read for the page: it is not overwritten";
    for (arguments, why) in [
        (&["--out", "firelay.secrets.yaml"][..], was_read),
        (&["--out", "link"], was_read),
        (&["--out", "firelay.state.yaml"], was_read),
        (&["--out", "cluster.yaml"], was_read),
        (&["--out", "out/manifest.json"], was_read),
        (&["out", "--out", "out/manifest.json"], was_read),
        (&["out", "--out", "out/node-names"], "exists, and is not a page"),
        (&["--out", "notes.html"], "exists, and is not a page"),
    ] {
        let ran = desk.run(&[&["report"], arguments].concat());
        assert!(ran.code == 3 && ran.stderr.contains(why), "{arguments:?}: {ran:?}");
        assert_eq!(desk.everything(), before, "{arguments:?}");
    }
    desk.write("page.html", "");
    for arguments in [
        &["report", "--out", "page.html"][..],
        &["report", "out", "--out", "page.html"],
    ] {
        assert_eq!(desk.run(arguments).code, 0);
    }
    // The page of a refused spec likewise.
    desk.write("cluster.yaml", REFUSED);
    for (out, code) in [("page.html", 3), ("notes.html", 3), ("cluster.yaml", 3)] {
        assert_eq!(desk.run(&["report", "--out", out]).code, code);
    }
    assert!(desk.read("page.html").contains("is refused"));
    assert_eq!(desk.read("cluster.yaml"), REFUSED);
    assert!(desk.read("notes.html").contains("notes"));
}

/// An inventory of workers, and a spec with it.
fn with_inventory(desk: &Desk, spec: &str, address: impl Fn(usize) -> String) {
    let row = |number| format!("w{number},worker,{},serial=s{number}\n", address(number));
    let rows: String = (1..=60).map(row).collect();
    desk.write("workers.csv", &format!("name,role,address,labels\n{rows}"));
    desk.write("cluster.yaml", &format!("{spec}\nnodesFrom: workers.csv\n"));
}

/// Machines that differ in a label alone are one bar, as on the page of a valid spec.
#[test]
fn the_page_of_a_refused_spec_groups_machines() {
    let desk = Desk::empty();
    with_inventory(&desk, &too_large(), |number| format!("10.0.1.{number}"));
    let ran = desk.run(&["report"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let page = desk.read("report.html");
    let bars = section(&page, "sizes").matches("<svg class=\"bar").count();
    assert_eq!(bars, 3, "the founder, other control planes, workers");
    assert!(section(&page, "sizes").contains("w1..60"));
    assert!(page.len() < 150_000, "{}", page.len());
}

#[test]
fn a_finding_has_each_of_its_places() {
    let desk = Desk::empty();
    let spec = fs::read_to_string(example("ha-ubuntu").spec).unwrap();
    with_inventory(&desk, &spec, |number| format!("10.0.1.{}", number + 255));
    assert_eq!(desk.run(&["report"]).code, 3);
    let page = desk.read("report.html");
    let findings = section(&page, "findings");
    for number in 2..=60 {
        let place = format!(
            "workers.csv:{}:{}  w{number},worker,10.0.1.{}",
            number + 1,
            format!("w{number},worker,.").len(),
            number + 255
        );
        assert!(findings.contains(&place), "{place}\n{findings}");
    }
    assert!(findings.contains("The same in 59 other places"), "{findings}");
}

/// The same figures as the other verbs.
#[test]
fn the_figures_are_those_of_the_other_verbs() {
    let desk = Desk::of("external-etcd");
    assert_eq!(desk.run(&["report"]).code, 0);
    let page = desk.read("report.html");
    let sizes = desk.run(&["size", "--output", "json"]).json();
    let largest = sizes
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["node"] == "cp1")
        .unwrap();
    let shown = section(&page, "sizes");
    assert!(
        shown.contains(&format!("{} of {}", largest["counted"], largest["limit"])),
        "{shown}"
    );
    for group in largest["groups"].as_array().unwrap() {
        let bytes = format!(
            "{} bytes of the document, {} on the machine",
            group["share"], group["raw"]
        );
        assert!(shown.contains(&bytes), "{bytes}\n{shown}");
    }
    let certificates = desk.run(&["certs", "--output", "json"]).json();
    let shown = section(&page, "certificates");
    for own in certificates["credentials"].as_array().unwrap() {
        let title = own["title"].as_str().unwrap();
        assert!(shown.contains(title), "{title}");
    }
    assert_eq!(desk.run(&["render"]).code, 0);
    let graph = desk.run(&["graph", "--output", "json"]).json();
    let boot = section(&page, "boot");
    for bar in graph["timeline"].as_array().unwrap() {
        assert!(boot.contains(bar["title"].as_str().unwrap()), "{bar}");
    }
    let audit = desk
        .run(&["audit", "--secrets", "firelay.secrets.yaml", "--output", "json"])
        .json();
    let exposure = section(&page, "exposure");
    for document in audit["documents"].as_array().unwrap() {
        for secret in document["opens"].as_array().unwrap() {
            assert!(exposure.contains(secret["title"].as_str().unwrap()), "{secret}");
        }
    }
}

#[test]
fn a_tree_has_a_page_with_and_without_its_bundle() {
    for name in examples().into_iter().map(|example| example.name) {
        let desk = Desk::empty();
        example(&name).lay_bundle(&desk.at("bundle.yaml"));
        let out = rendered(&name).to_str().unwrap();
        for arguments in [&["report", out][..], &["report", out, "--secrets", "bundle.yaml"]] {
            let ran = desk.run(arguments);
            assert_eq!(ran.code, 0, "{name}: {ran:?}");
            let page = desk.read("report.html");
            assert!(section(&page, "certificates").contains("<th scope=\"row\""), "{name}");
            assert!(page.len() < 300 << 10, "{name}: {}", page.len());
        }
    }
    let ran = Desk::empty().run(&["report", rendered("ha-ubuntu").to_str().unwrap(), "--set", "name=x"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}

/// Documents with meta-data beside them, compressed ones, Ignition, and a pointer.
#[test]
fn a_spec_and_its_tree_have_the_same_exposure() {
    for (name, reader) in [
        ("bare-metal", "can sign for the cluster"),
        ("single-node", "can sign for the cluster"),
        ("ha-flatcar", "can sign for the cluster"),
        ("pointer-s3", "learns no secret"),
    ] {
        let desk = Desk::of(name);
        assert_eq!(desk.run(&["render"]).code, 0, "{name}");
        let of_spec = desk.run(&["report", "--out", "-"]).stdout;
        let of_tree = ["report", "out", "--secrets", "firelay.secrets.yaml", "--out", "-"];
        let of_tree = desk.run(&of_tree).stdout;
        let exposure = section(&of_spec, "exposure");
        assert_eq!(exposure, section(&of_tree, "exposure"), "{name}");
        assert!(exposure.contains(reader), "{name}: {exposure}");
    }
}

#[test]
fn changes_are_shown_in_their_order() {
    let desk = founded("ha-ubuntu");
    let unchanged = desk.run(&["report"]);
    assert_eq!(unchanged.code, 0, "{unchanged:?}");
    assert!(section(&desk.read("report.html"), "changes").contains("No changes"));
    let change = ["--set", "kubernetes.kubelet.config.maxPods=200"];
    let ran = desk.run(&[&["report"][..], &change].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let plan = desk.run(&[&["plan", "--output", "json"][..], &change].concat()).json();
    let page = desk.read("report.html");
    let changes = section(&page, "changes");
    let steps = plan["steps"].as_array().unwrap();
    assert_eq!(
        changes.split("<ol").nth(1).unwrap().matches("<li class=\"").count(),
        steps.len() + changes.split("</ol>").nth(1).unwrap().matches("<li class=\"").count()
    );
    let first = changes.find("data-names=\"cp1\"").unwrap();
    let worker = changes.find("data-names=\"worker-").unwrap();
    assert!(first < worker, "{changes}");
}

#[test]
fn a_change_that_is_refused_is_shown_and_refused() {
    let desk = founded("ha-ubuntu");
    let ran = desk.run(&["report", "--set", "network.services=[10.112.0.0/12]"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let page = desk.read("report.html");
    assert!(
        section(&page, "findings").contains("FL1211"),
        "{}",
        section(&page, "findings")
    );
}

#[test]
fn findings_have_their_excerpts_and_refused_specs_a_page_without_a_bundle() {
    let desk = Desk::of("ha-ubuntu");
    desk.write("cluster.yaml", &too_large());
    let ran = desk.run(&["report"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("error[FL0931]"), "{ran:?}");
    assert!(section(&desk.read("report.html"), "findings").contains("<code>FL0931</code>"));
    desk.write("cluster.yaml", &format!("{WARNED}oss: ubuntu-24.04\n"));
    let ran = desk.run(&["report"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let findings = desk.read("report.html");
    let findings = section(&findings, "findings");
    for part in ["<code>FL0008</code>", "oss: ubuntu-24.04", "<li class=\"error\""] {
        assert!(findings.contains(part), "{part}\n{findings}");
    }
    let desk = Desk::empty();
    desk.write("cluster.yaml", WARNED);
    assert_eq!(desk.run(&["secrets", "new"]).code, 0);
    let ran = desk.run(&["report"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let page = desk.read("report.html");
    let findings = section(&page, "findings");
    for part in ["<li class=\"warning\"", "cluster.yaml:6", "kubeProxy: { mode: ipvs }"] {
        assert!(findings.contains(part), "{part}\n{findings}");
    }
    // Stars stand for secret values of the spec.
    let desk = Desk::of("ha-ubuntu");
    let spec = "files: [{ path: /etc/x, content: hunter2, owner: \"nobody:nogroup\" }]\nmanifests: [{ name: a, content: \"kind: hunter3\" }]\n";
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + spec));
    let ran = desk.run(&["report"]);
    assert!(matches!(ran.code, 0 | 5), "{ran:?}");
    let page = desk.read("report.html");
    assert!(!page.contains("hunter"), "{}", section(&page, "findings"));
    let missing = Desk::with_spec("ha-ubuntu").run(&["report"]);
    assert_eq!(missing.code, 4, "{missing:?}");
}

#[test]
fn a_page_with_a_secret_is_refused() {
    let desk = Desk::of("mixed");
    let bundle = desk.read("firelay.secrets.yaml");
    let token = bundle
        .lines()
        .find_map(|line| line.trim().strip_prefix("bootstrapToken: "))
        .unwrap();
    let half = token.trim_matches('"').split_once('.').unwrap().1;
    let spec = fs::read_to_string(example("mixed").spec).unwrap();
    desk.write("cluster.yaml", &spec.replace("name: burst", &format!("name: {half}")));
    let ran = desk.run(&["report"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stderr.contains("FL1085") && !ran.stderr.contains(half), "{ran:?}");
    assert!(!desk.at("report.html").exists());
}

/// Machines of which each has another change are the most that a page has to say. The lines of the spec are not looked for: with each value
/// and each machine that would take minutes.
#[test]
fn the_changes_of_a_hundred_different_machines_are_a_small_page() {
    let desk = Desk::of("ha-ubuntu");
    let spec = |tier: &str, version: &str| {
        let own = (0..97).map(|at| {
            let (name, address) = (at * 7, at + 1);
            format!(
                "  - {{ name: w{name}, roles: [worker], addresses: [10.0.1.{address}], labels: {{ {tier}{at}: x }} }}\n"
            )
        });
        let example = fs::read_to_string(example("ha-ubuntu").spec).unwrap();
        example.replace("version: 1.36.4", version) + &own.collect::<String>()
    };
    desk.write("cluster.yaml", &spec("a", "version: 1.36.3"));
    for verb in [&["render"][..], &["founded"], &["render"]] {
        assert_eq!(desk.run(verb).code, 0);
    }
    desk.write("cluster.yaml", &spec("b", "version: 1.36.4"));
    let ran = desk.run(&["report"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let page = desk.read("report.html");
    assert!(
        page.contains("to update") && page.len() <= 300_000,
        "{} bytes",
        page.len()
    );
}

/// A hundred machines fit into 300 KB, and names that do not count on are in the page for the filter.
#[test]
fn a_hundred_machines_are_a_small_page() {
    let desk = Desk::of("ha-ubuntu");
    let names = (0..97).map(|at| {
        format!(
            "  - {{ name: w{}, roles: [worker], addresses: [10.0.1.{}] }}\n",
            at * 7,
            at + 1
        )
    });
    let spec = desk.read("cluster.yaml") + &names.collect::<String>();
    desk.write("cluster.yaml", &spec);
    let ran = desk.run(&["report"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let page = desk.read("report.html");
    assert!(page.len() <= 300_000, "{} bytes", page.len());
    assert!(page.contains("w672") && page.contains(" more</span>"));
    for id in ["cluster", "boot", "sizes", "certificates", "exposure"] {
        let shown = section(&page, id);
        let shown = shown
            .split("data-names=\"")
            .map(|row| row.split_once('"').map_or("", |(_, shown)| shown));
        assert!(!shown.collect::<String>().contains("w672"), "{id} cuts the list");
    }
}

#[test]
fn a_directory_is_no_page() {
    let desk = Desk::of("ha-ubuntu");
    fs::create_dir(desk.at("tree")).unwrap();
    let ran = desk.run(&["report", "--out", "tree"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("`firelay report tree --out FILE`"), "{ran:?}");
}

#[test]
fn the_page_shows_how_machines_reach_the_api() {
    for (name, way) in [
        ("ha-ubuntu", "your load balancer or DNS"),
        ("kube-vip", "kube-vip, 10.5.0.10"),
        ("local-endpoint", "a proxy on each worker"),
    ] {
        let desk = Desk::of(name);
        let ran = desk.run(&["report"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(desk.read("report.html").contains(way), "{name}");
    }
}
