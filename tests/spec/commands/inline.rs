//! Commands in running text, and calls that are parsed and not run.

use std::fs;

use super::{Scratch, page, pages, parses, root};

/// bash splits the commands into words, and the command line parses each call of firelay.
pub fn judge(scratch: &Scratch, commands: &str) -> Result<(), String> {
    let calls = scratch.at("firelay-calls");
    let _ = fs::remove_file(&calls);
    for line in page::lines(&commands.replace("\\\n", " ")).filter(|line| line.starts_with("firelay ")) {
        let function = format!(
            "firelay() {{ printf '%s\\0' firelay \"$@\" $'\\n' >>{}; }}\n",
            calls.display()
        );
        let _ = scratch.bash(&["-c", &format!("{function}{line}")]).output().unwrap();
    }
    let read = fs::read_to_string(&calls).unwrap_or_default();
    for call in read.split_terminator("\n\0") {
        let words: Vec<_> = call.split_terminator('\0').map(str::to_owned).collect();
        parses(&words)?;
    }
    Ok(())
}

/// Spans of code that are a call of firelay: `firelay VERB …`.
fn spans(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut spans = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let code = line.split('`').skip(1).step_by(2);
            spans.extend(
                code.filter(|span| span.starts_with("firelay "))
                    .map(|span| (number + 1, span)),
            );
        }
    }
    spans
}

/// Capitals and dots are placeholders for the reader's values; verbs and flags are literal.
#[test]
fn every_call_in_running_text_is_one_that_the_command_line_takes() {
    let scratch = Scratch(tempfile::tempdir().unwrap());
    let mut failures = Vec::new();
    let mut judged = 0;
    for path in pages() {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for (line, span) in spans(&text) {
            judged += 1;
            let call = span.split(['|', '>', '<']).next().unwrap_or(span);
            // `firelay why` and `firelay serve --mirror` name a verb or a flag without its arguments.
            let why = judge(&scratch, call)
                .or_else(|why| judge(&scratch, &format!("{call} X")).map_err(|_| why))
                .err();
            failures.extend(why.map(|why| format!("{path}:{line}: `{span}`\n{why}")));
        }
    }
    assert!(judged > 50, "{judged}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
