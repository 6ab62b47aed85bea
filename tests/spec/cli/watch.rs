//! `check --watch`: a check after each change of a file that it read.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use super::{desk::Desk, support::firelay_for_signals};

/// Enough for a busy machine.
const LONG: Duration = Duration::from_mins(1);

/// A check that goes on, with the lines that it prints.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(desk: &Desk) -> Self {
        let mut command = firelay_for_signals(&["check", "--watch"]);
        command.current_dir(desk.directory.path());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        for output in outputs {
            let sender = sender.clone();
            thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                lines.for_each(|line| drop(sender.send(line)));
            });
        }
        Self { child, lines }
    }

    /// Waits for a line with this text.
    fn says(&self, text: &str) {
        while !self
            .lines
            .recv_timeout(LONG)
            .unwrap_or_else(|_| panic!("{text}"))
            .contains(text)
        {}
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn each_change_of_a_file_is_checked() {
    let desk = Desk::with_spec("single-node");
    let text = desk.read("cluster.yaml") + "include: [more.yaml]\n";
    desk.write("more.yaml", "timezone: Europe/Berlin\n");
    desk.write("cluster.yaml", &text);
    let watch = Watch::start(&desk);
    watch.says("cluster.yaml is valid");
    desk.write("more.yaml", "timezon: Europe/Berlin\n");
    watch.says("the files changed");
    watch.says("error[FL0008]: unknown key `timezon`");
    watch.says("cluster.yaml is refused: 1 error");
    std::fs::rename(desk.at("cluster.yaml"), desk.at("cluster.yaml.old")).unwrap();
    watch.says("there is no spec at cluster.yaml");
    desk.write("more.yaml", "timezone: Europe/Berlin\n");
    std::fs::rename(desk.at("cluster.yaml.old"), desk.at("cluster.yaml")).unwrap();
    watch.says("cluster.yaml is valid");
    // A new file of patches is one, too.
    std::fs::create_dir_all(desk.at("patches/all")).unwrap();
    desk.write("patches/all/10-wrong.yaml", "target: spec\nmerge: { timezon: UTC }\n");
    watch.says("unknown key `timezon`");
}

#[test]
fn a_watch_ends_with_its_reader() {
    let desk = Desk::of("single-node");
    let mut command = firelay_for_signals(&["check", "--watch"]);
    command.current_dir(desk.directory.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    let ends = (0..600).any(|_| {
        thread::sleep(Duration::from_millis(100));
        child.try_wait().unwrap().is_some()
    });
    let _ = child.kill();
    assert!(ends);
}

#[test]
fn stdin_cannot_be_watched() {
    let ran = Desk::with_spec("single-node").pipe(&["check", "-", "--watch"], b"");
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (2, "error: --watch needs files, and `-` is stdin\n")
    );
}
