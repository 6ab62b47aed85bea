//! Documents in template engines: the sequences that they would interpret, and that escaping is reversible.

use std::fs;
use std::process::Command;

use hcl::eval::{Context, Evaluate};
use hcl::template::Template;

use super::desk::Desk;
use super::support::{Example, documents, examples, output, pipe, rendered, said, succeed};

/// Sequences with a meaning in template engines.
const TERRAFORM: [&str; 2] = ["${", "%{"];
const JINJA: [&str; 3] = ["{{", "{%", "{#"];

/// The founder and the last worker of every example.
fn texts() -> Vec<(String, String)> {
    let of = |example: Example| {
        let mut documents = documents(rendered(&example.name));
        documents.sort();
        let ends = [documents.first().cloned(), documents.last().cloned()];
        let read =
            move |(node, path): (String, _)| (format!("{}/{node}", example.name), fs::read_to_string(path).unwrap());
        ends.into_iter().flatten().map(read).collect::<Vec<_>>()
    };
    examples().into_iter().flat_map(of).collect()
}

#[test]
fn every_document_returns_from_both_engines_byte_for_byte() {
    let (mut terraform, mut jinja) = (0, 0);
    for (name, text) in texts() {
        terraform += usize::from(TERRAFORM.iter().any(|word| text.contains(word)));
        jinja += usize::from(JINJA.iter().any(|word| text.contains(word)));
        assert!(!text.starts_with("## template:"), "{name} asks cloud-init for Jinja");
        let escaped = firelay::delivery::escape(&text, firelay::delivery::Engine::Terraform);
        assert_eq!(hcl(&escaped), text, "{name}");
        let escaped = firelay::delivery::escape(&text, firelay::delivery::Engine::Jinja);
        assert_eq!(cloud_init(&escaped), text, "{name}");
    }
    // Documents contain a lot of shell: without escaping, Terraform refuses nearly all of cloud-init. They contain no
    // Jinja; a user's manifest may.
    assert!(terraform > 10 && jinja == 0, "{terraform} {jinja}");
}

#[test]
fn hard_texts_return_too() {
    let rows = ["$", "$$", "$$$", "%", "%%", "$%", "%$", "$%$", "%%$$"];
    let mut text: String = rows
        .iter()
        .map(|row| format!("{row}{{a}} {row} {row}{row}{{~ {row}{{{{b}}}}\n"))
        .collect();
    text.push_str(
        "{{{ {{{{ {% raw %} {% endraw %} {# no #} {{- x -}} }} %} #} { { \" \\ \\n 'q' # line\n## comment\n\tü€𝄞\n\n",
    );
    let escape = |engine| firelay::delivery::escape(&text, engine);
    assert_eq!(hcl(&escape(firelay::delivery::Engine::Terraform)), text);
    assert_eq!(cloud_init(&escape(firelay::delivery::Engine::Jinja)), text);
}

/// The value that templatefile() returns.
fn hcl(text: &str) -> String {
    let template: Template = text.parse().unwrap_or_else(|error| panic!("{error}"));
    template
        .evaluate(&Context::new())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The text that cloud-init's Jinja renders.
fn cloud_init(text: &str) -> String {
    let script = "import sys\nfrom cloudinit import templater\n\
                  sys.stdout.write(templater.render_string('## template: jinja\\n' + sys.stdin.buffer.read().decode(), {}))";
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-X", "utf8", "-c", script]);
    let output = pipe(&mut python, "cloud-init", text.as_bytes());
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn render_escapes_what_it_prints() {
    let desk = Desk::of("single-node");
    let plain = desk.run(&["render", "--node", "home1", "--out", "-"]).stdout;
    assert!(
        TERRAFORM.iter().any(|word| plain.contains(word)),
        "a document that is handed over as text"
    );
    let escaped = desk.run(&["render", "--node", "home1", "--out", "-", "--for", "terraform"]);
    assert_ne!(escaped.stdout, plain);
    assert_eq!(hcl(&escaped.stdout), plain);
    let escaped = desk.run(&["render", "--node", "home1", "--out", "-", "--for", "jinja"]);
    assert_eq!(cloud_init(&escaped.stdout), plain);
    let tree = desk.run(&["render", "--for", "jinja"]);
    assert_eq!(tree.code, 2, "{tree:?}");
    assert!(tree.stderr.contains("write --out - as well"), "{tree:?}");
    assert!(!desk.at("out").exists());
}

#[test]
fn base64_is_safe_for_both() {
    let desk = Desk::of("ha-ubuntu");
    let plain = desk.run(&["render", "--node", "cp1", "--out", "-"]).stdout;
    assert!(plain.len() > 10_000);
    for engine in ["terraform", "jinja"] {
        assert_eq!(
            desk.run(&["render", "--node", "cp1", "--out", "-", "--for", engine])
                .stdout,
            plain
        );
    }
}

/// An installed Terraform confirms the result.
#[test]
#[ignore = "wants Terraform on the machine: `just terraform`"]
fn terraform_itself_returns_the_text() {
    let desk = Desk::of("single-node");
    let plain = desk.run(&["render", "--node", "home1", "--out", "-"]).stdout;
    let escaped = desk
        .run(&["render", "--node", "home1", "--out", "-", "--for", "terraform"])
        .stdout;
    let hard = "$${a} %${b} $$$${c} %%{d} $%{e}\n";
    desk.write(
        "escaped.tftpl",
        &(escaped + &firelay::delivery::escape(hard, firelay::delivery::Engine::Terraform)),
    );
    desk.write(
        "main.tf",
        "output \"text\" {\n  value = base64encode(templatefile(\"escaped.tftpl\", {}))\n}\n",
    );
    let terraform = |arguments: &[&str]| {
        let mut command = Command::new("terraform");
        command
            .args(arguments)
            .current_dir(desk.at("."))
            .env_remove("TF_CLI_CONFIG_FILE");
        command
    };
    succeed(&mut terraform(&["init", "-no-color"]), "terraform");
    succeed(&mut terraform(&["apply", "-no-color", "-auto-approve"]), "terraform");
    let found = output(&mut terraform(&["output", "-raw", "text"]), "terraform").stdout;
    let decoded = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, found).unwrap();
    assert_eq!(String::from_utf8(decoded).unwrap(), plain + hard);
}
