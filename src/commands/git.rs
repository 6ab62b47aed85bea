//! Warnings about files that git would add; none without git or outside a work tree.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use super::{bundle::is_clear, failure::shell_word, streams};

/// Exit code of `git check-ignore` for a file that no rule ignores; outside a work tree it is another.
const NOT_IGNORED: i32 = 1;

/// Warns if git would add a bundle in clear, or has it already. A sealed one may be committed.
pub fn warn_of_bundle(path: &Path) {
    if path == Path::new("-") || !is_clear(path) || check_ignore(path) != Some(NOT_IGNORED) || warn_of_tracked(path) {
        return;
    }
    streams::tell(format_args!(
        "warning: {} is not ignored by git, which would add it\n  = help: {}",
        path.display(),
        ignore(path)
    ));
}

/// Warns if git has a file already, or one below a directory: then no rule of `.gitignore` keeps it out. Whether it warned.
pub fn warn_of_tracked(path: &Path) -> bool {
    let tracked = git(path, &["ls-files", "--error-unmatch", "--"]) == Some(0);
    if tracked {
        let recursive = if path.is_dir() { "-r " } else { "" };
        let rule = match git(path, &["check-ignore", "--quiet", "--no-index", "--"]) {
            Some(NOT_IGNORED) => format!(", {}", ignore(path)),
            _ => String::new(),
        };
        streams::tell(format_args!(
            "warning: {} is in git's index, so .gitignore has no effect on it: whoever gets the repository gets the cluster\n  \
             = help: git rm {recursive}--cached {}{rule}; earlier commits still have it: if they were ever pushed, make new \
             secrets, which are a new cluster",
            path.display(),
            shell_word(path)
        ));
    }
    tracked
}

/// The command that makes git ignore a file.
fn ignore(path: &Path) -> String {
    let name = path.file_name().map_or(path, Path::new);
    let file = path.parent().unwrap_or(Path::new("")).join(".gitignore");
    let rule = Path::new("/").join(name);
    format!("echo {} >> {}", shell_word(&rule), shell_word(&file))
}

/// Whether a file, which may not exist yet, is in a git work tree that does not ignore it.
pub fn would_add(path: &Path) -> bool {
    check_ignore(path) == Some(NOT_IGNORED)
}

fn check_ignore(path: &Path) -> Option<i32> {
    git(path, &["check-ignore", "--quiet", "--"])
}

/// The exit code of git, run in the file's folder. No program that the repository names is started.
fn git(path: &Path, arguments: &[&str]) -> Option<i32> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut command = Command::new("git");
    command
        .args(["-c", "core.fsmonitor=false"])
        .args(arguments)
        .arg(path.file_name()?);
    command.current_dir(folder.unwrap_or(Path::new(".")));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().ok()?.code()
}
