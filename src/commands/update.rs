//! `update`: a render that also writes what changes the running machines in place.

use std::path::Path;

use super::{
    failure::Failure,
    render,
    state::{State, copied, earlier_scripts},
    streams::{self, counted},
};
use crate::{
    cli,
    record::{Record, listed},
    tree::{MANIFEST, TreeReader, TreeWriter, is_update},
};

/// Runs the verb.
pub fn run(args: &cli::Update) -> Result<(), Failure> {
    match args.done {
        true => done(args),
        false => render::run_with(&args.render(), Some(args)),
    }
}

/// Records that all machines have what was rendered, and removes the scripts that brought it. Another clone has the record alone.
fn done(args: &cli::Update) -> Result<(), Failure> {
    let last = TreeReader::open_last(&args.out)?.map(|tree| tree.manifest);
    let state = State::open(args.state.file.as_deref(), &args.inputs)?;
    let specs = &args.inputs.spec.specs;
    if args.state.file.is_none() || *specs != [Path::new(cli::SPEC)] {
        state.refuse_other_spec(specs)?;
    }
    let state = state.with_tree(&args.out, last.as_ref(), false)?;
    if state.is_new() && last.is_some() {
        return Err(state.missing(&args.out));
    }
    let pending = state.record().filter(|record| record.pending().is_some());
    let has_tree = args.out.join(MANIFEST).exists();
    if let Some(record) = state.record().filter(|_| has_tree) {
        refuse_other(args, record)?;
    }
    if !has_tree && pending.is_none() {
        return Err(Failure::Usage(format!(
            "{} has no tree, and {} has nothing that is not done yet\n  = help: name the directory of the last render with --out",
            args.out.display(),
            state.path.display()
        )));
    }
    if has_tree {
        clear(&args.out)?;
    }
    let known = state.record().filter(|_| state.is_of_tree());
    let Some(record) = pending.or(known) else { return Ok(()) };
    state.place(state.prepare(&record.done().to_yaml()?)?)?;
    streams::tell(format_args!(
        "{}: all machines have Kubernetes {} and the last step of keys{}; commit it",
        state.path.display(),
        record.kubernetes,
        joined(record)
    ));
    Ok(())
}

/// `, and cp2 has joined`, of control planes and members of etcd that came or were created anew.
fn joined(record: &Record) -> String {
    let joining = record.pending().into_iter().flat_map(|own| &own.joining);
    let names: Vec<_> = joining.map(String::as_str).collect();
    match names.len() {
        0 => String::new(),
        1 => format!(", and {} has joined", names[0]),
        _ => format!(", and {} have joined", listed(&names)),
    }
}

/// Refuses a tree that is not of the record: its scripts brought something else.
fn refuse_other(args: &cli::Update, record: &Record) -> Result<(), Failure> {
    let last = TreeReader::open(&args.out)?.manifest;
    let copy = copied(&args.out, &last)?.filter(|_| earlier_scripts(Some(&last), &args.out).is_some());
    let discarded = copy.and_then(|copy| record.discards(&copy.record).map(str::to_owned));
    if let Some(name) = discarded {
        let out = args.out.display();
        return Err(Failure::Refused(format!(
            "{out} has another document of {name} than the record: its scripts bring what the record does not have (FL1206)\n  \
             = help: firelay plan shows the ways out"
        )));
    }
    let of_tree = (&last.cluster, &last.kubernetes_version);
    let of_record = (&record.cluster, &record.kubernetes.to_string());
    if of_tree == of_record {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} is of cluster {} with Kubernetes {}, and the record of {} with {}\n  \
         = help: name the spec, or the record with --state, and the tree with --out; after a pull, render first, or remove {} if a render refuses it \
         (FL1206)",
        args.out.display(),
        of_tree.0,
        of_tree.1,
        of_record.0,
        of_record.1,
        args.out.display()
    )))
}

/// Removes the scripts from the tree.
fn clear(out: &Path) -> Result<(), Failure> {
    let tree = TreeWriter::begin(out)?;
    let Some(last) = tree.last().cloned() else {
        return Ok(());
    };
    tree.keep(|file| !is_update(&file.path))?;
    let report = tree.finish(last)?;
    streams::tell(format_args!(
        "{} removed from {}: the next update begins with the documents that are there now",
        counted(report.removed.len(), "file"),
        out.display()
    ));
    Ok(())
}
