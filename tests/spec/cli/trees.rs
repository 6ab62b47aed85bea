//! Verbs that read a rendered tree name it in the same way.

use clap::CommandFactory;
use firelay::cli::Cli;

use super::{
    desk::{Desk, Ran},
    support::rendered,
};

/// Verbs that read a tree, with further arguments. `secrets rotate` changes the bundle, `update` the tree.
const OF_TREES: [(&str, &[&str]); 13] = [
    ("audit", &[]),
    ("certs", &[]),
    ("graph", &[]),
    ("plan", &[]),
    ("publish", &[]),
    (
        "recover",
        &[
            "--snapshot",
            "/etcd-home1-20261123T030010Z.db",
            "--set",
            "etcd.backup={ every: 6h }",
        ],
    ),
    ("secrets rotate", &["leaves"]),
    ("seed", &[]),
    ("serve", &["--listen", "203.0.113.1:1"]),
    ("size", &[]),
    ("terraform", &[]),
    ("update", &[]),
    ("verify", &[]),
];

#[test]
fn every_verb_of_trees_takes_an_argument_and_a_flag() {
    let run = |verb: &str, tree: &[&str], further: &[&str]| {
        let desk = Desk::of("single-node");
        assert_eq!(desk.run(&["render", "-o", "tree"]).code, 0);
        assert_eq!(desk.run(&["founded"]).code, 0);
        let verb: Vec<_> = verb.split(' ').collect();
        let before = further.iter().filter(|_| verb.len() > 1);
        let after = further.iter().filter(|_| verb.len() == 1);
        let all: Vec<_> = { verb.iter().chain(before).chain(tree).chain(after) }
            .copied()
            .collect();
        desk.pipe(&all, b"{}")
    };
    for (verb, further) in OF_TREES {
        let argument = run(verb, &["tree"], further);
        let [short, long] = [["-o", "tree"], ["--out", "tree"]].map(|tree| run(verb, &tree, further));
        assert_eq!(format!("{argument:?}"), format!("{short:?}"), "{verb}");
        assert_eq!(format!("{argument:?}"), format!("{long:?}"), "{verb}");
        // `serve` cannot listen there, whatever the tree holds.
        let differs = |tree| format!("{:?}", run(verb, &["-o", tree], further)) != format!("{argument:?}");
        assert!(
            differs("none") || differs(rendered("ha-ubuntu").to_str().unwrap()),
            "{verb} reads the tree"
        );
    }
}

/// `render` creates its tree, and `man` writes pages.
#[test]
fn no_verb_of_trees_is_left_out() {
    let known = OF_TREES.map(|(verb, _)| verb.split(' ').next_back().unwrap());
    let mut command = Cli::command();
    command.build();
    let mut found = Vec::new();
    for verb in command
        .get_subcommands()
        .flat_map(|verb| verb.get_subcommands().chain([verb]))
    {
        let out = verb.get_arguments().find(|argument| argument.get_short() == Some('o'));
        let is_directory = |argument: &&clap::Arg| argument.get_value_names().is_some_and(|names| names == ["DIR"]);
        found.extend(out.filter(is_directory).map(|_| verb.get_name().to_owned()));
    }
    found.retain(|verb| !["render", "man"].contains(&verb.as_str()));
    found.sort_unstable();
    let mut known: Vec<_> = known.into();
    known.sort_unstable();
    assert_eq!(found, known);
}

#[test]
fn one_tree_is_named_once() {
    let desk = Desk::of("single-node");
    assert_eq!(desk.run(&["render", "-o", "tree"]).code, 0);
    for verb in ["verify", "audit", "graph", "publish", "size"] {
        assert_eq!(desk.run(&[verb, "tree", "-o", "tree"]).code, 2, "{verb}");
    }
    let [spec, tree] = [&["size"][..], &["size", "tree"]].map(|arguments| desk.run(arguments));
    let table = |ran: &Ran| ran.stdout.split("\n\n").next().unwrap().to_owned();
    assert_eq!(table(&spec), table(&tree), "the same documents");
    let set = desk.run(&["size", "tree", "--set", "name=x"]);
    assert_eq!(set.code, 2, "{set:?}");
    let node = desk.run(&["size", "tree", "--node", "cp9"]);
    assert_eq!(
        (node.code, node.stderr.contains("tree has no node or pool cp9")),
        (2, true),
        "{node:?}"
    );
}
