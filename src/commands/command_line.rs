//! Commands as they are typed. Those in messages have the files with which this call named its cluster: beside another cluster,
//! `firelay update --done` alone would change that one.

use std::{borrow::Cow, path::Path, sync::OnceLock};

use super::failure::shell_word;
use crate::cli::{IdentityArg, Inputs, OUT, SPEC, SecretsVerb, SpecArgs, Verb};

/// The files of this call. Nothing where all have their usual names.
static FILES: OnceLock<Files> = OnceLock::new();

/// Verbs that read or change the files of a cluster.
const VERBS: [&str; 4] = ["render", "update", "plan", "secrets rotate"];
/// It has fewer flags than the others.
const FOUNDED: &str = "founded";
/// `update --done` reads no values of the spec.
const DONE: &str = " --done";

/// Arguments of commands, each after a blank.
#[derive(Debug)]
struct Files {
    /// The specs.
    specs: String,
    /// Spec, values, bundle, output directory and record.
    all: String,
    /// The same without values.
    done: String,
    /// Those that `founded` takes.
    founded: String,
}

/// Keeps the files of a call, for its messages.
pub fn keep(verb: &Verb) {
    let recover;
    let named = match verb {
        Verb::Render(own) => Some((&own.inputs, own.out.as_path(), own.state.file.as_deref())),
        Verb::Plan(own) => Some((&own.inputs, own.out.as_path(), own.state.file.as_deref())),
        Verb::Update(own) => Some((&own.inputs, own.out.as_path(), own.state.file.as_deref())),
        Verb::Recover(own) => {
            recover = own.inputs();
            Some((&recover, own.out.as_path(), own.state.as_deref()))
        }
        Verb::Certs(own) => Some((&own.inputs, own.out.as_path(), own.state.as_deref())),
        Verb::Secrets(SecretsVerb::Rotate(own)) => Some((&own.inputs, own.out.as_path(), own.state.as_deref())),
        _ => None,
    };
    if let Some((inputs, out, state)) = named {
        FILES.get_or_init(|| Files::of(inputs, out, state));
    }
}

/// A message, whose commands are as they have to be typed.
pub fn in_commands(text: &str) -> Cow<'_, str> {
    match FILES.get().filter(|files| !files.all.is_empty()) {
        Some(files) => Cow::Owned(files.in_commands(text)),
        None => Cow::Borrowed(text),
    }
}

impl Files {
    fn of(inputs: &Inputs, out: &Path, state: Option<&Path>) -> Self {
        let arguments = |inputs: &Inputs, out: &Path, state: Option<&Path>| {
            let command = command_of_tree("", inputs, out, state);
            command.trim_start_matches("firelay ").to_owned()
        };
        let usual = Path::new(OUT);
        let mut all = inputs.clone();
        all.spec
            .specs
            .retain(|spec| spec != Path::new(SPEC) || inputs.spec.specs.len() > 1);
        let specs = Inputs {
            spec: SpecArgs {
                specs: all.spec.specs.clone(),
                ..SpecArgs::default()
            },
            secrets: None,
            identity: IdentityArg::default(),
        };
        let founded = Inputs {
            secrets: inputs.secrets.clone(),
            ..specs.clone()
        };
        Self {
            specs: arguments(&specs, usual, None),
            all: arguments(&all, out, state),
            done: arguments(&without_values(&all), out, state),
            founded: arguments(&founded, usual, state),
        }
    }

    fn in_commands(&self, text: &str) -> String {
        let mut parts = text.split("firelay ");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |done, rest| done + "firelay " + &self.completed(rest))
    }

    /// The text after `firelay `, with the files behind the verb.
    fn completed(&self, rest: &str) -> String {
        let founded = rest.starts_with(FOUNDED).then_some(FOUNDED.len());
        let verb = VERBS.iter().find(|verb| rest.starts_with(**verb));
        let Some(end) = founded.or(verb.map(|verb| length(verb, rest))) else {
            return rest.to_owned();
        };
        let (verb, arguments) = rest.split_at(end);
        let files = match founded {
            Some(_) => &self.founded,
            None if arguments.starts_with(DONE) => &self.done,
            None => &self.all,
        };
        match arguments.starts_with(|next: char| next.is_alphanumeric() || next == '-') || self.has_files(arguments) {
            true => rest.to_owned(),
            false => format!("{verb}{files}{arguments}"),
        }
    }

    /// Whether a command names files already.
    fn has_files(&self, arguments: &str) -> bool {
        const FLAGS: [&str; 7] = ["secrets", "identity", "profiles", "set", "env", "out", "state"];
        let word = arguments.split(' ').nth(1).unwrap_or_default();
        let flag = word.strip_prefix("--").unwrap_or_default();
        arguments.starts_with(' ')
            && (FLAGS.contains(&flag)
                || word.contains(".yaml")
                || !self.specs.is_empty() && arguments.starts_with(&self.specs))
    }
}

/// The length of a verb, with the keys that `secrets rotate` takes first.
fn length(verb: &str, rest: &str) -> usize {
    if verb != "secrets rotate" {
        return verb.len();
    }
    let keys = rest[verb.len()..].strip_prefix(' ').unwrap_or_default();
    let word = keys.find(|next: char| !next.is_ascii_lowercase() && next != '-');
    verb.len() + 1 + word.unwrap_or(keys.len())
}

/// A verb for the same spec and bundle, as it is typed. A value that the user has set may be secret: its key alone is shown.
pub fn command(verb: &str, inputs: &Inputs) -> String {
    let spec = &inputs.spec;
    let mut command = format!("firelay {verb}");
    let mut add = |flag: &str, word: &Path| command.extend([flag, &shell_word(word)]);
    spec.specs.iter().for_each(|path| add(" ", path));
    spec.set.iter().for_each(|set| add(" --set ", Path::new(&shown(set))));
    let profiles = spec.profiles.directory.iter();
    profiles.for_each(|path| add(" --profiles ", path));
    inputs.secrets.iter().for_each(|path| add(" --secrets ", path));
    inputs.identity.files.iter().for_each(|path| add(" --identity ", path));
    command + if spec.env { " --env" } else { "" }
}

/// `PATH=…`. Versions are no secret.
fn shown(set: &str) -> String {
    match set.split_once('=') {
        Some((path, _)) if path.ends_with("version") => set.to_owned(),
        Some((path, _)) => format!("{path}=…"),
        None => "…".to_owned(),
    }
}

/// A verb for the same spec, bundle, tree and record, as it is typed.
pub fn command_of_tree(verb: &str, inputs: &Inputs, out: &Path, state: Option<&Path>) -> String {
    let out = Some(out).filter(|out| *out != Path::new(OUT));
    let flags = [("out", out), ("state", state)];
    let flags = flags.iter().filter_map(|(flag, path)| Some((flag, path.as_ref()?)));
    flags.fold(command(verb, inputs), |command, (flag, path)| {
        format!("{command} --{flag} {}", shell_word(path))
    })
}

/// `firelay update --done`.
pub fn done_command(inputs: &Inputs, out: &Path, state: Option<&Path>) -> String {
    command_of_tree("update", &without_values(inputs), out, state) + DONE
}

/// `firelay publish`, of a tree.
pub fn publish_command(out: &Path) -> String {
    match out == Path::new(OUT) {
        true => "firelay publish".to_owned(),
        false => format!("firelay publish --out {}", shell_word(out)),
    }
}

fn without_values(inputs: &Inputs) -> Inputs {
    let mut inputs = inputs.clone();
    inputs.spec.set.clear();
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_get_files_and_sentences_stay() {
        let files = Files {
            specs: " prod.yaml".to_owned(),
            all: " prod.yaml --set 'a=…' --out tree".to_owned(),
            done: " prod.yaml --out tree".to_owned(),
            founded: " prod.yaml".to_owned(),
        };
        for (text, expected) in [
            ("firelay update --done", "firelay update prod.yaml --out tree --done"),
            (
                "`firelay update` in place of `firelay render`",
                "`firelay update prod.yaml --set 'a=…' --out tree` in place of `firelay render prod.yaml --set 'a=…' --out tree`",
            ),
            ("say so: firelay founded", "say so: firelay founded prod.yaml"),
            (
                "firelay secrets rotate ca --new-key-trusted",
                "firelay secrets rotate ca prod.yaml --set 'a=…' --out tree --new-key-trusted",
            ),
            (
                "firelay update prod.yaml --out tree, then",
                "firelay update prod.yaml --out tree, then",
            ),
            ("firelay update --set a=b", "firelay update --set a=b"),
            (
                "firelay render ../before/cluster.yaml",
                "firelay render ../before/cluster.yaml",
            ),
            ("firelay updates machines", "firelay updates machines"),
            ("firelay explain FL1102", "firelay explain FL1102"),
        ] {
            assert_eq!(files.in_commands(text), expected);
        }
    }
}
