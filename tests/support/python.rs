//! Python scripts, run one after the other by few processes: starting Python and importing cloud-init or a validator takes
//! longer than most questions to them.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::Mutex,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// Runs each script of a line, with its text on stdin and an empty namespace, and answers with its output or its error.
const RUNNER: &str = r#"
import base64, io, json, sys, traceback
questions, answers = sys.stdin, sys.stdout
for line in questions:
    script, text = json.loads(line)
    sys.stdin = io.TextIOWrapper(io.BytesIO(base64.b64decode(text)), encoding="utf-8")
    sys.stdout = io.StringIO()
    error = None
    try:
        exec(compile(script, "script", "exec"), {"__name__": "__main__"})
    except BaseException:
        error = traceback.format_exc()
    json.dump([sys.stdout.getvalue(), error], answers)
    answers.write("\n")
    answers.flush()
"#;

/// Processes that have nothing to do. They end with this program, when their stdin does.
static IDLE: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// The JSON that a script writes to stdout, given bytes on stdin.
pub fn output(script: &str, stdin: &[u8]) -> Value {
    let idle = IDLE.lock().unwrap().pop();
    let mut process = idle.unwrap_or_else(start);
    let [output, error] = ask(&mut process, &json!([script, STANDARD.encode(stdin)]));
    IDLE.lock().unwrap().push(process);
    assert!(error.is_null(), "{error:#}\n{}", String::from_utf8_lossy(stdin));
    serde_json::from_str(output.as_str().unwrap()).unwrap()
}

fn start() -> Child {
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-X", "utf8", "-c", RUNNER]);
    let piped = python.stdin(Stdio::piped()).stdout(Stdio::piped());
    piped
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run python3 ({error}): install the package python3"))
}

fn ask(process: &mut Child, question: &Value) -> [Value; 2] {
    let line = format!("{question}\n");
    process.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    let mut answer = String::new();
    // Nothing follows the line, so the buffer holds no part of a later answer.
    BufReader::new(process.stdout.as_mut().unwrap())
        .read_line(&mut answer)
        .unwrap();
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("Python ended ({error}): {answer}"))
}
