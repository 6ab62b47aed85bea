//! Text that is not structured output: shell, systemd units, TOML, manifests and the report, from `templates/**/*.j2`.
//!
//! Minijinja with strict undefined values. Templates of HTML (`*.html.j2`) escape every value; in all others, input passes the
//! filter of the surrounding language: `sh`, `unit`, `toml` or `json`. Only text, numbers and booleans (`true`, `false`) can be written without
//! one; an absent value, a list or a map is an error. The first line break after a block tag and the blanks before one
//! are dropped, the last line break of a file is kept. `{#` opens a comment, so shell's `${#name}` has to be written
//! differently.

use std::{net::IpAddr, sync::LazyLock};

use include_dir::{Dir, File, include_dir};
use ipnet::IpNet;
use minijinja::{
    AutoEscape, Environment, ErrorKind, HtmlEscape, UndefinedBehavior, Value,
    syntax::SyntaxConfig,
    value::{Serde, ValueKind},
};
use serde::Serialize;

use crate::encoding::base64;

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");

static ENVIRONMENT: LazyLock<Result<Environment<'static>, minijinja::Error>> = LazyLock::new(environment);

/// An invalid template, or a context without a value that it uses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("template {template}, line {line}: {reason}")]
pub struct Error {
    /// Path below `templates/`.
    pub template: String,
    /// Line in the template, 0 when the mistake is in none.
    pub line: usize,
    /// The mistake.
    pub reason: String,
}

/// Renders `templates/NAME` (`cni/flannel/flannel.yaml.j2`).
pub fn render<S: Serialize>(name: &str, context: &S) -> Result<String, Error> {
    let environment = ENVIRONMENT.as_ref().map_err(|error| explain(name, error))?;
    let template = environment.get_template(name).map_err(|error| explain(name, &error))?;
    template
        .render(Value::from(Serde(context)))
        .map_err(|error| explain(name, &error))
}

/// The text of a file below `templates/` as it is written.
pub(crate) fn source(path: &str) -> Option<&'static str> {
    TEMPLATES.get_file(path)?.contents_utf8()
}

/// The names of the folders in a folder below `templates/`, in order.
pub(crate) fn folders(path: &str) -> Vec<&'static str> {
    let dirs = TEMPLATES.get_dir(path).map(Dir::dirs).into_iter().flatten();
    let mut names: Vec<_> = dirs.filter_map(|dir| dir.path().file_name()?.to_str()).collect();
    names.sort_unstable();
    names
}

/// Whether an expression of a declaration holds (`p.mode == 'vxlan'`). `of` names the declaration.
pub(crate) fn holds(of: &str, expression: &str, context: &serde_json::Value) -> Result<bool, Error> {
    evaluated(of, expression, context).map(|value| value.is_true())
}

/// A text of a declaration filled in: the value itself where it is `{{ EXPRESSION }}` and nothing else, `None` for one
/// that is undefined, else text.
pub(crate) fn filled(of: &str, text: &str, context: &serde_json::Value) -> Result<Option<serde_json::Value>, Error> {
    let inner = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    if let Some(expression) = inner.filter(|inner| !inner.contains("{{")) {
        let value = evaluated(of, expression.trim(), context)?;
        return Ok((!value.is_undefined()).then(|| serde_json::to_value(&value).unwrap_or_default()));
    }
    let environment = ENVIRONMENT.as_ref().map_err(|error| explain(of, error))?;
    let rendered = environment.render_str(text, Value::from(Serde(context)));
    rendered
        .map(|text| Some(text.into()))
        .map_err(|error| explain(of, &error))
}

fn evaluated(of: &str, expression: &str, context: &serde_json::Value) -> Result<Value, Error> {
    let environment = ENVIRONMENT.as_ref().map_err(|error| explain(of, error))?;
    let compiled = environment.compile_expression(expression);
    compiled
        .and_then(|expression| expression.eval(Value::from(Serde(context))))
        .map_err(|error| Error {
            reason: format!("{}, in `{expression}`", explain(of, &error).reason),
            ..explain(of, &error)
        })
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = bare();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    environment.set_syntax(syntax);
    for file in templates(&TEMPLATES) {
        if let (Some(name), Some(text)) = (file.path().to_str(), file.contents_utf8()) {
            environment.add_template(name, text)?;
        }
    }
    Ok(environment)
}

fn bare() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match name.ends_with(".html.j2") {
        true => AutoEscape::Html,
        false => AutoEscape::None,
    });
    environment.set_formatter(|out, state, value| {
        let text = text(value)?;
        match matches!(state.auto_escape(), AutoEscape::Html) && !value.is_safe() {
            true => Ok(out.write_str(&html(&text))?),
            false => Ok(out.write_str(&text)?),
        }
    });
    environment.add_filter("sh", |value: &Value| text(value).and_then(|text| sh(&text)));
    environment.add_filter("unit", |value: &Value| text(value).map(|text| unit(&text)));
    environment.add_filter("toml", |value: &Value| text(value).map(|text| toml(&text)));
    environment.add_filter("json", json);
    environment.add_filter("code", |value: &Value| text(value).map(|text| code(&text)));
    environment.add_filter("breakable", |value: &Value| text(value).map(|text| breakable(&text)));
    environment.add_filter("b64", |value: &Value| text(value).map(base64));
    environment.add_test("inside", inside);
    environment
}

/// Whether a range contains an address or range; false for text that is neither.
fn inside(value: &str, range: &str) -> bool {
    let net = |text: &str| {
        text.parse::<IpNet>()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
    };
    matches!((net(value), range.parse::<IpNet>()), (Ok(inner), Ok(outer)) if outer.contains(&inner))
}

fn templates<'a>(dir: &'a Dir<'a>) -> Vec<&'a File<'a>> {
    let own = dir
        .files()
        .filter(|file| file.path().extension().is_some_and(|it| it == "j2"));
    own.chain(dir.dirs().flat_map(templates)).collect()
}

fn explain(name: &str, error: &minijinja::Error) -> Error {
    let reason = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    Error {
        template: error.name().unwrap_or(name).to_owned(),
        line: error.line().unwrap_or(0),
        reason,
    }
}

fn refuse(reason: String) -> minijinja::Error {
    minijinja::Error::new(ErrorKind::InvalidOperation, reason)
}

/// A scalar as text: Python's `None`, `True` and `[…]`, which Minijinja writes, are a silent mistake everywhere here.
fn text(value: &Value) -> Result<String, minijinja::Error> {
    match value.kind() {
        ValueKind::Bool => Ok(value.is_true().to_string()),
        ValueKind::String | ValueKind::Number => Ok(value.to_string()),
        kind => Err(refuse(format!(
            "text, a number or a boolean can be written here, not {kind}"
        ))),
    }
}

/// One word of a POSIX shell (XCU 2.2.2, single quotes). A word without special characters is not quoted: quotes cost
/// bytes.
pub fn sh(text: &str) -> Result<String, minijinja::Error> {
    if text.contains('\0') {
        return Err(refuse("a shell word cannot hold NUL".to_owned()));
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:@,+-".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

/// One word of a systemd unit with specifiers escaped (systemd.syntax(7), "Quoting"; systemd.unit(5), "Specifiers").
/// `$` still expands in `ExecStart=`.
fn unit(text: &str) -> String {
    let mut word = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => word.extend(['\\', char]),
            '%' => word.push_str("%%"),
            '\0'..='\x1f' | '\x7f' => word.push_str(&format!("\\x{:02x}", u32::from(char))),
            _ => word.push(char),
        }
    }
    word + "\""
}

/// A TOML basic string (TOML 1.0, "String").
fn toml(text: &str) -> String {
    let mut string = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => string.extend(['\\', char]),
            '\0'..='\x1f' | '\x7f' => string.push_str(&format!("\\u{:04X}", u32::from(char))),
            _ => string.push(char),
        }
    }
    string + "\""
}

/// Text as HTML. A slash needs no escape: no value stands in a script or an unquoted attribute.
fn html(text: &str) -> String {
    HtmlEscape(text).to_string().replace("&#x2f;", "/")
}

/// HTML in which texts between backticks are `<code>`.
fn code(text: &str) -> Value {
    let escaped = html(text);
    let mut html = String::new();
    for (number, part) in escaped.split('`').enumerate() {
        let tag = ["", "</code>", "<code>"][if number == 0 { 0 } else { 1 + number % 2 }];
        html += tag;
        html += part;
    }
    if escaped.matches('`').count() % 2 == 1 {
        html += "</code>";
    }
    Value::from_safe_string(html)
}

/// HTML that may be broken after each dot, as in names of files and hosts.
fn breakable(text: &str) -> Value {
    Value::from_safe_string(html(text).replace('.', ".<wbr>"))
}

/// JSON that is also a YAML flow node, for YAML 1.1 (PyYAML) and 1.2: characters that these treat as line breaks or
/// refuse are escaped. Characters beyond the BMP are not: a surrogate pair is JSON but no YAML.
fn json(value: &Value) -> Result<String, minijinja::Error> {
    if value.is_undefined() {
        return Err(minijinja::Error::from(ErrorKind::UndefinedError));
    }
    let json = serde_json::to_string(value).map_err(|error| refuse(error.to_string()))?;
    let mut safe = String::with_capacity(json.len());
    for char in json.chars() {
        match u32::from(char) {
            code @ 0x7f..=0xffff => safe.push_str(&format!("\\u{code:04x}")),
            _ => safe.push(char),
        }
    }
    Ok(safe)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{collections::BTreeMap, process::Command};

    use super::*;

    const NASTY: &str = "it's \"50%\" of $HOME `id` \\ a\nb\tc ä\u{85}\u{2028}\u{7f} \u{1f525}: # - {x}";

    fn with(template: &str, value: &str) -> Result<String, minijinja::Error> {
        bare().render_str(template, Value::from(Serde(BTreeMap::from([("v", value)]))))
    }

    #[test]
    fn every_template_parses() {
        assert!(environment().is_ok(), "{:?}", environment().err());
    }

    #[test]
    fn a_shell_gives_the_word_back() {
        let script = format!("printf %s {}", with("{{ v | sh }}", NASTY).unwrap());
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), NASTY);
        assert!(with("{{ v | sh }}", "a\0b").is_err());
    }

    #[test]
    fn pyyaml_and_json_give_the_string_back() {
        let json = with("{{ v | json }}", NASTY).unwrap();
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), NASTY);
        let script = "import json, sys, yaml\nprint(json.dumps(yaml.safe_load('v: ' + sys.argv[1])['v']))";
        let output = Command::new("python3").args(["-c", script, &json]).output().unwrap();
        assert_eq!(serde_json::from_slice::<String>(&output.stdout).unwrap(), NASTY);
    }

    #[test]
    fn toml_gives_the_string_back() {
        let toml = format!("v = {}", with("{{ v | toml }}", NASTY).unwrap());
        let script = "import json, sys, tomllib\nprint(json.dumps(tomllib.loads(sys.argv[1])['v']))";
        let output = Command::new("python3").args(["-c", script, &toml]).output().unwrap();
        assert_eq!(serde_json::from_slice::<String>(&output.stdout).unwrap(), NASTY);
    }

    #[test]
    fn a_unit_word_has_no_live_specifier_and_no_line_break() {
        assert_eq!(
            with("{{ v | unit }}", "a \"b\" 5% \\\nc").unwrap(),
            r#""a \"b\" 5%% \\\x0ac""#
        );
    }

    #[test]
    fn what_is_missing_or_not_text_is_an_error() {
        for template in [
            "{{ w }}",
            "{{ w | sh }}",
            "{{ w | json }}",
            "{{ [1] | sh }}",
            "{{ [1] }}",
            "{{ none }}",
        ] {
            assert!(with(template, "x").is_err(), "{template}");
        }
        let written = with(
            "{{ 5 | sh }} {{ true | toml }} {{ [1, v] | json }} {{ 5 }} {{ false }} {{ v }}",
            "x",
        );
        assert_eq!(written.unwrap(), r#"5 "true" [1,"x"] 5 false x"#);
    }

    #[test]
    fn html_is_escaped_and_nothing_else() {
        let mut environment = bare();
        let context = || Value::from(Serde(BTreeMap::from([("v", "<b/>&\"")])));
        for (name, text) in [
            ("a.html.j2", "&lt;b/&gt;&amp;&quot; <b/>&\""),
            ("a.j2", "<b/>&\" <b/>&\""),
        ] {
            environment.add_template(name, "{{ v }} {{ v | safe }}").unwrap();
            assert_eq!(environment.get_template(name).unwrap().render(context()).unwrap(), text);
        }
    }

    #[test]
    fn texts_between_backticks_are_code() {
        let mut environment = bare();
        environment.add_template("a.html.j2", "{{ v | code }}").unwrap();
        let template = environment.get_template("a.html.j2").unwrap();
        for (text, html) in [
            ("run `a<b` now", "run <code>a&lt;b</code> now"),
            ("`a` and `b`", "<code>a</code> and <code>b</code>"),
            ("odd `a", "odd <code>a</code>"),
        ] {
            let context = Value::from(Serde(BTreeMap::from([("v", text)])));
            assert_eq!(template.render(context).unwrap(), html);
        }
    }

    #[test]
    fn an_unknown_template_is_named() {
        let error = render("no/such.j2", &()).unwrap_err();
        assert_eq!(error.template, "no/such.j2");
    }
}
