//! `diff`: two rendered trees or two specs, by machine, file and field.

mod fields;
mod report;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use firelay_verify::{Machine, Tree, TreeFile};

use super::{
    assembly::Assembly,
    failure::{Failure, shell_word},
    plan::{Secrets, assembled},
    progress,
    project::Project,
};
use crate::{
    changes::{self, FieldChange, MachineChange},
    cli::{Diff, Inputs, SpecArgs},
    node::MANIFESTS,
    record::listed,
    secrets::Bundle,
};
use report::Report;

/// firelay's own files on a machine. Elsewhere files of the user may be.
const OWN: &str = "/etc/firelay/";
/// Lists of environment variables, whose values may be secrets.
const ENVIRONMENT: [&str; 2] = ["/env/", "/extraEnvs/"];

/// Runs the verb.
pub fn run(args: &Diff) -> Result<(), Failure> {
    [&args.old, &args.new]
        .into_iter()
        .try_for_each(|path| refuse_missing(path))?;
    let report = match (args.old.is_dir(), args.new.is_dir()) {
        (true, true) => progress::during("comparing", || of_trees(&args.old, &args.new))?,
        (false, false) => of_specs(args)?,
        _ => {
            return Err(Failure::Usage(format!(
                "{} and {} are a tree and a spec\n  = help: compare two trees or two specs; `firelay plan` compares a spec \
                 with the last tree",
                args.old.display(),
                args.new.display()
            )));
        }
    };
    report.print(args.output)?;
    match args.detailed_exitcode && !report.is_empty() {
        true => Err(Failure::Changes),
        false => Ok(()),
    }
}

fn refuse_missing(path: &Path) -> Result<(), Failure> {
    match path == Path::new("-") || path.exists() {
        true => Ok(()),
        false => Err(Failure::Io(format!("there is no tree or spec at {}", path.display()))),
    }
}

/// Without a spec nobody knows which values are secret, so only those of firelay's own configuration are shown.
fn of_trees(old: &Path, new: &Path) -> Result<Report, Failure> {
    let (old, new) = (whole(old)?, whole(new)?);
    let is_secret = |path: &str, change: &FieldChange| {
        let is_environment = ENVIRONMENT.iter().any(|list| change.field.contains(list));
        !path.starts_with(OWN) || path.starts_with(MANIFESTS) || is_environment
    };
    Ok(Report {
        fields: Vec::new(),
        machines: machines(&old.machines, &new.machines, &is_secret),
        files: files(&old.others, &new.others),
    })
}

/// A tree whose files are those of its manifest. The differences of others would be incomplete.
fn whole(path: &Path) -> Result<Tree, Failure> {
    let tree = Tree::open(path)?;
    let files = tree
        .machines
        .iter()
        .flat_map(|machine| &machine.files)
        .chain(&tree.others);
    let odd: Vec<_> = files
        .filter(|file| !file.is_whole())
        .map(|file| file.described.path.as_str())
        .collect();
    match odd.is_empty() {
        true => Ok(tree),
        false => Err(Failure::Io(format!(
            "{}: {} not as the manifest says: {}\n  = help: firelay verify {} says what is wrong; or render again",
            path.display(),
            if odd.len() == 1 { "a file is" } else { "files are" },
            listed(&odd),
            shell_word(path)
        ))),
    }
}

fn of_specs(args: &Diff) -> Result<Report, Failure> {
    let stdin = Path::new("-");
    if args.old == stdin && args.new == stdin {
        return Err(Failure::Usage(
            "stdin can be one spec, and `-` is given twice".to_owned(),
        ));
    }
    let (old, new) = (inputs(args, &args.old), inputs(args, &args.new));
    let (before, after) = (Project::load(&old.spec)?, Project::load(&new.spec)?);
    let bundle = after.bundle_or_placeholder(&new, "diff", "compared")?;
    let secrets = [&before, &after].map(|project| Secrets::of(project, &bundle));
    let nodes = before.plan.nodes.iter().chain(&after.plan.nodes);
    let files = nodes.flat_map(|node| &node.host.files);
    let of_user: BTreeSet<_> = files.map(|file| file.path.as_str()).collect();
    let is_secret = |path: &str, change: &FieldChange| {
        of_user.contains(path) || secrets.iter().any(|secrets| secrets.hide(path, change))
    };
    let (one, other) = (rendered(&before, &bundle)?, rendered(&after, &bundle)?);
    Ok(Report {
        fields: fields::differing(&before.spec, &after.spec),
        machines: machines(&one, &other, &is_secret),
        files: Vec::new(),
    })
}

fn inputs(args: &Diff, spec: &Path) -> Inputs {
    Inputs {
        spec: SpecArgs {
            env: args.env,
            profiles: args.profiles.clone(),
            ..SpecArgs::from(spec)
        },
        secrets: args.secrets.clone(),
        identity: args.identity.clone(),
    }
}

/// The machines that a spec makes.
fn rendered(project: &Project, bundle: &Bundle) -> Result<Vec<Machine>, Failure> {
    let assembly = Assembly::new(project, bundle, false)?;
    assembled(project, &assembly)
}

/// The change of every machine: those of the new side in its order, then removed ones.
fn machines(old: &[Machine], new: &[Machine], is_secret: &impl Fn(&str, &FieldChange) -> bool) -> Vec<MachineChange> {
    let before: BTreeMap<_, _> = old.iter().map(|machine| (&machine.name, machine)).collect();
    let change = |machine: &Machine, action| MachineChange::none(&machine.name, &[], machine.pool).whole(action, None);
    let kept = new.iter().map(|machine| match before.get(&machine.name) {
        Some(old) => changed(old, machine, is_secret),
        None => change(machine, changes::Action::Add),
    });
    let gone = old
        .iter()
        .filter(|old| !new.iter().any(|machine| machine.name == old.name));
    let gone = gone.map(|machine| change(machine, changes::Action::Remove));
    kept.chain(gone).collect()
}

fn changed(old: &Machine, new: &Machine, is_secret: &impl Fn(&str, &FieldChange) -> bool) -> MachineChange {
    let none = MachineChange::none(&new.name, &[], new.pool);
    match digests(&old.files) == digests(&new.files) {
        true => none,
        false => none.with_files(changes::compare(old, new, is_secret)),
    }
}

/// The digests of files by their paths.
fn digests(files: &[TreeFile]) -> BTreeMap<&str, &str> {
    let described = files.iter().map(|file| &file.described);
    described
        .map(|file| (file.path.as_str(), file.sha256.as_str()))
        .collect()
}

/// Files of the tree that belong to no document.
fn files(old: &[TreeFile], new: &[TreeFile]) -> Vec<report::File> {
    let (old, new) = (digests(old), digests(new));
    let paths: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let differ = paths.into_iter().filter(|path| old.get(*path) != new.get(*path));
    let file = |path: &&str| report::File {
        path: (*path).to_owned(),
        kind: match (old.contains_key(path), new.contains_key(path)) {
            (false, _) => "added",
            (_, false) => "removed",
            _ => "changed",
        },
    };
    differ.map(file).collect()
}
