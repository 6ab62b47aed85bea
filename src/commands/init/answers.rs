//! What a starter is made of, the questions for it, and the checks of the answers, which are those of any spec.

use serde::Serialize;

use crate::{
    cli::InitAnswers,
    commands::failure::Failure,
    diagnostic::{Diagnostic, Severity, Source},
    plan,
    profile::Profiles,
    schema, template,
};

/// A cluster in a few words.
#[derive(Clone, Debug, Serialize)]
pub struct Answers {
    name: String,
    kubernetes: String,
    os: String,
    platform: String,
    host: Option<String>,
    provider: Option<String>,
    address: Option<String>,
    control_planes: Vec<Machine>,
    workers: Vec<Machine>,
    ssh_keys: Vec<String>,
}

/// `NAME=ADDRESS`, either with a range.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Machine {
    name: String,
    addresses: Vec<String>,
}

/// One question, in the order in which they are asked.
pub struct Question {
    /// The flag's name, for what is said about its value.
    pub name: &'static str,
    /// What is asked.
    pub words: &'static str,
    /// The answer if there is none.
    pub usual: fn(&Answers) -> String,
    /// What the flags say.
    pub flag: fn(&InitAnswers) -> Option<String>,
    take: fn(&mut Answers, &str) -> Result<(), String>,
}

const CONTROL_PLANES: &str = "cp1=10.0.0.11 cp2=10.0.0.12 cp3=10.0.0.13";
const WORKERS: &str = "worker-{1..3}=10.0.0.21-10.0.0.23";
const NONE: &str = "none";

/// All questions.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "--name",
        words: "Name of the cluster:",
        usual: |answers| answers.name.clone(),
        flag: |flags| flags.name.clone(),
        take: |answers, text| set(&mut answers.name, text),
    },
    Question {
        name: "--kubernetes",
        words: "Version of Kubernetes:",
        usual: |answers| answers.kubernetes.clone(),
        flag: |flags| flags.kubernetes.clone(),
        take: |answers, text| set(&mut answers.kubernetes, text),
    },
    Question {
        name: "--os",
        words: "System of the machines (debian-13, ubuntu-24.04, rocky-9, flatcar, …):",
        usual: |answers| answers.os.clone(),
        flag: |flags| flags.os.clone(),
        take: |answers, text| set(&mut answers.os, text),
    },
    Question {
        name: "--platform",
        words: "Where they run (aws, gce, azure, openstack, vsphere, metal, nocloud):",
        usual: |answers| answers.platform.clone(),
        flag: |flags| flags.platform.clone(),
        take: |answers, text| set(&mut answers.platform, text),
    },
    Question {
        name: "--control-plane",
        words: "Control planes, 1, 3 or 5, as NAME=ADDRESS with blanks between; ranges are cp{1..3}=10.0.0.11-10.0.0.13:",
        usual: |_| CONTROL_PLANES.to_owned(),
        flag: |flags| joined(&flags.control_planes),
        take: |answers, text| machines(text).map(|machines| answers.control_planes = machines),
    },
    Question {
        name: "--worker",
        words: "Workers, likewise; `none` if pods run on the control planes:",
        usual: |answers| if answers.is_usual() { WORKERS } else { NONE }.to_owned(),
        flag: |flags| {
            let none = || (!flags.control_planes.is_empty()).then(|| NONE.to_owned());
            joined(&flags.workers).or_else(none)
        },
        take: |answers, text| machines(text).map(|machines| answers.workers = machines),
    },
    Question {
        name: "--endpoint-provider",
        words: "Who leads to the API servers: `external` (your load balancer), `local` (a proxy on each worker), or \
                `kubeVip=ADDRESS` (an address of their network that no machine has):",
        usual: |_| "external".to_owned(),
        flag: |flags| flags.endpoint_provider.clone(),
        take: |answers, text| {
            let (provider, address) = text.split_once('=').unwrap_or((text, ""));
            answers.provider = Some(provider.to_owned()).filter(|name| name != "external");
            answers.address = Some(address.to_owned()).filter(|address| !address.is_empty());
            Ok(())
        },
    },
    Question {
        name: "--endpoint",
        words: "Name under which everybody reaches the API:",
        usual: Answers::host,
        flag: |flags| flags.endpoint.clone(),
        take: |answers, text| {
            answers.host = Some(text.to_owned());
            Ok(())
        },
    },
    Question {
        name: "--ssh-key",
        words: "Public SSH key of who may log in, or `none`:",
        usual: |_| NONE.to_owned(),
        flag: |flags| (!flags.ssh_keys.is_empty()).then(|| flags.ssh_keys.join("\n")),
        take: |answers, text| {
            let keys = text.lines().filter(|key| *key != NONE);
            answers.ssh_keys = keys.map(str::to_owned).collect();
            Ok(())
        },
    },
];

fn set(to: &mut String, text: &str) -> Result<(), String> {
    text.clone_into(to);
    Ok(())
}

fn joined(machines: &[String]) -> Option<String> {
    (!machines.is_empty()).then(|| machines.join(" "))
}

fn machines(text: &str) -> Result<Vec<Machine>, String> {
    let machine = |word: &str| match word.split_once('=') {
        Some((name, addresses)) => Ok(Machine {
            name: name.to_owned(),
            addresses: addresses.split(',').map(str::to_owned).collect(),
        }),
        None => Err(format!("{word}: write a machine as NAME=ADDRESS")),
    };
    text.split_whitespace()
        .filter(|word| *word != NONE)
        .map(machine)
        .collect()
}

impl Answers {
    /// What is taken if nobody says anything.
    pub fn new(profiles: &Profiles) -> Self {
        let usual = Self::unasked(profiles);
        Self {
            workers: machines(WORKERS).unwrap_or_default(),
            ..usual
        }
    }

    /// What the first questions are judged with: of the machines that nobody has been asked for, those alone without
    /// which there is no cluster.
    pub fn unasked(profiles: &Profiles) -> Self {
        let newest = profiles.kubernetes.values().flat_map(|profile| &profile.versions).max();
        Self {
            name: "my-cluster".to_owned(),
            kubernetes: newest.map(ToString::to_string).unwrap_or_default(),
            os: "ubuntu-24.04".to_owned(),
            platform: "aws".to_owned(),
            host: None,
            provider: None,
            address: None,
            control_planes: machines(CONTROL_PLANES).unwrap_or_default(),
            workers: Vec::new(),
            ssh_keys: Vec::new(),
        }
    }

    fn is_usual(&self) -> bool {
        machines(CONTROL_PLANES).is_ok_and(|usual| usual == self.control_planes)
    }

    fn host(&self) -> String {
        let usual = || format!("api.{}.example.com", self.name);
        self.host.clone().unwrap_or_else(usual)
    }

    /// The answers with one more.
    pub fn with(&self, question: &Question, text: &str) -> Result<Self, String> {
        let mut answers = self.clone();
        (question.take)(&mut answers, text).map_err(|why| format!("{}: {why}", question.name))?;
        Ok(answers)
    }

    /// What is wrong with the spec of these answers.
    pub fn check(&self, profiles: &Profiles) -> Result<(), String> {
        let text = self.spec().map_err(|_| "these answers make no spec".to_owned())?;
        let findings = match plan::read(&Source::new("the spec", text).into(), profiles) {
            Ok(_) => return Ok(()),
            Err(findings) => findings,
        };
        let errors = findings.iter().filter(|finding| {
            // The usual host is made of the name, of which enough is said already.
            let follows = finding.code == "FL0114" && self.host.is_none();
            finding.severity == Severity::Error && !follows
        });
        let lines: Vec<_> = errors.map(sentence).collect();
        if lines.is_empty() {
            Ok(())
        } else {
            Err(lines.join("\n"))
        }
    }

    /// The spec, with comments.
    pub fn spec(&self) -> Result<String, Failure> {
        template::render("starter.yaml.j2", &self.page()).map_err(|error| Failure::io(&error))
    }

    fn page(&self) -> Page {
        let roles = if self.workers.is_empty() {
            "control-plane, worker"
        } else {
            "control-plane"
        };
        let machines = self.control_planes.iter().map(|machine| (machine, roles));
        let workers = self.workers.iter().map(|machine| (machine, "worker"));
        Page {
            name: scalar(&self.name),
            kubernetes: scalar(&self.kubernetes),
            os: scalar(&self.os),
            platform: scalar(&self.platform),
            host: scalar(&self.host()),
            provider: self.provider.as_deref().map(scalar),
            address: self.address.as_deref().map(scalar),
            ssh_keys: self.ssh_keys.iter().map(|key| scalar(key)).collect(),
            machines: machines
                .chain(workers)
                .map(|(machine, roles)| line(machine, roles))
                .collect(),
        }
    }
}

/// The words of the template, as YAML has them.
#[derive(Serialize)]
struct Page {
    name: String,
    kubernetes: String,
    os: String,
    platform: String,
    host: String,
    provider: Option<String>,
    address: Option<String>,
    ssh_keys: Vec<String>,
    machines: Vec<String>,
}

/// A text as YAML has it: `null` and `12` are texts only in quotes.
fn scalar(text: &str) -> String {
    schema::flow(&text.into())
}

fn line(machine: &Machine, roles: &str) -> String {
    let addresses: Vec<_> = machine.addresses.iter().map(|address| scalar(address)).collect();
    let (name, addresses) = (scalar(&machine.name), addresses.join(", "));
    format!("{{ name: {name}, roles: [{roles}], addresses: [{addresses}] }}")
}

/// A finding without its place, in one line.
fn sentence(finding: &Diagnostic) -> String {
    let label = Some(&finding.label).filter(|label| !label.is_empty());
    let label = label.map_or_else(String::new, |label| format!(": {label}"));
    let help = finding
        .help
        .as_ref()
        .map_or_else(String::new, |help| format!("\n  = help: {help}"));
    format!("{}{label}{help}", finding.message)
}
