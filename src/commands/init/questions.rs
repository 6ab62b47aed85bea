//! The questions for a starter.

use super::answers::{Answers, CONTROL_PLANES, NONE, WORKERS, machines};
use crate::{cli::InitAnswers, profile::Profiles};

/// One question, in the order of asking.
pub struct Question {
    /// The flag's name, for messages about its value.
    pub name: &'static str,
    /// The question.
    pub words: fn(&Profiles) -> String,
    /// The default answer.
    pub usual: fn(&Answers) -> String,
    /// The answer of the flags.
    pub flag: fn(&InitAnswers) -> Option<String>,
    pub(super) take: Take,
}

/// How an answer is stored.
pub enum Take {
    /// It is stored unchanged.
    Word(fn(&mut Answers) -> &mut String),
    /// It is parsed.
    Read(fn(&mut Answers, &str) -> Result<(), String>),
}

impl Question {
    /// The answers with one more.
    pub fn answer(&self, answers: &Answers, text: &str) -> Result<Answers, String> {
        let mut answers = answers.clone();
        match self.take {
            Take::Word(word) => text.clone_into(word(&mut answers)),
            Take::Read(read) => read(&mut answers, text).map_err(|why| format!("{}: {why}", self.name))?,
        }
        Ok(answers)
    }
}

/// All questions.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "--name",
        words: |_| "Name of the cluster:".to_owned(),
        usual: |answers| answers.name.clone(),
        flag: |flags| flags.name.clone(),
        take: Take::Word(|answers| &mut answers.name),
    },
    Question {
        name: "--kubernetes",
        words: |_| "Version of Kubernetes:".to_owned(),
        usual: |answers| answers.kubernetes.clone(),
        flag: |flags| flags.kubernetes.clone(),
        take: Take::Word(|answers| &mut answers.kubernetes),
    },
    Question {
        name: "--os",
        words: |profiles| {
            format!(
                "System of the machines ({}, …):",
                profiles.suggested_systems().join(", ")
            )
        },
        usual: |answers| answers.os.clone(),
        flag: |flags| flags.os.clone(),
        take: Take::Word(|answers| &mut answers.os),
    },
    Question {
        name: "--platform",
        words: |profiles| format!("Where they run ({}):", profiles.suggested_platforms().join(", ")),
        usual: |answers| answers.platform.clone(),
        flag: |flags| flags.platform.clone(),
        take: Take::Word(|answers| &mut answers.platform),
    },
    Question {
        name: "--control-plane",
        words: |_| {
            "Control planes, 1, 3 or 5, as NAME=ADDRESS with blanks between; ranges are cp{1..3}=10.0.0.11-10.0.0.13:"
                .to_owned()
        },
        usual: |_| CONTROL_PLANES.to_owned(),
        flag: |flags| joined(&flags.control_planes),
        take: Take::Read(|answers, text| machines(text).map(|machines| answers.control_planes = machines)),
    },
    Question {
        name: "--worker",
        words: |_| "Workers, likewise; `none` if pods run on the control planes:".to_owned(),
        usual: |answers| if answers.is_usual() { WORKERS } else { NONE }.to_owned(),
        flag: |flags| {
            let none = || (!flags.control_planes.is_empty()).then(|| NONE.to_owned());
            joined(&flags.workers).or_else(none)
        },
        take: Take::Read(|answers, text| machines(text).map(|machines| answers.workers = machines)),
    },
    Question {
        name: "--endpoint-provider",
        words: |_| {
            "Provider of the endpoint: `external` (your load balancer), `local` (a proxy on each worker), or \
                `kubeVip=ADDRESS` (an address of their network that no machine has):"
                .to_owned()
        },
        usual: |_| "external".to_owned(),
        flag: |flags| flags.endpoint_provider.clone(),
        take: Take::Read(|answers, text| {
            let (provider, address) = text.split_once('=').unwrap_or((text, ""));
            answers.provider = Some(provider.to_owned()).filter(|name| name != "external");
            answers.address = Some(address.to_owned()).filter(|address| !address.is_empty());
            Ok(())
        }),
    },
    Question {
        name: "--endpoint",
        words: |_| "Name under which everybody reaches the API:".to_owned(),
        usual: Answers::host,
        flag: |flags| flags.endpoint.clone(),
        take: Take::Read(|answers, text| {
            answers.host = Some(text.to_owned());
            Ok(())
        }),
    },
    Question {
        name: "--ssh-key",
        words: |_| "Public SSH key of who may log in, or `none`:".to_owned(),
        usual: |_| NONE.to_owned(),
        flag: |flags| (!flags.ssh_keys.is_empty()).then(|| flags.ssh_keys.join("\n")),
        take: Take::Read(|answers, text| {
            let keys = text.lines().filter(|key| *key != NONE);
            answers.ssh_keys = keys.map(str::to_owned).collect();
            Ok(())
        }),
    },
];

fn joined(machines: &[String]) -> Option<String> {
    (!machines.is_empty()).then(|| machines.join(" "))
}
