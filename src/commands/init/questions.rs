//! The questions for a starter.

use std::path::PathBuf;

use super::answers::{Answers, CONTROL_PLANES, NONE, WORKERS, default_plugin, machines, pairs};
use crate::{cli::InitAnswers, commands::input, profile::Profiles};

/// One question, in the order of asking.
pub struct Question {
    /// The flag's name, for messages about its value.
    pub name: &'static str,
    pub words: fn(&Answers, &Profiles) -> String,
    /// Whether it is asked after these answers.
    pub asked: fn(&Answers, &Profiles) -> bool,
    pub usual: fn(&Answers) -> String,
    pub flag: fn(&InitAnswers) -> Option<String>,
    pub(super) take: Take,
}

/// How an answer is stored.
pub enum Take {
    /// It is stored unchanged.
    Word(fn(&mut Answers) -> &mut String),
    Read(fn(&mut Answers, &str) -> Result<(), String>),
}

impl Question {
    /// The answers with one more, or the reason why it is none.
    pub fn answer(&self, answers: &Answers, text: &str) -> Result<Answers, String> {
        let mut answers = answers.clone();
        match self.take {
            Take::Word(word) => text.clone_into(word(&mut answers)),
            Take::Read(read) => read(&mut answers, text)?,
        }
        Ok(answers)
    }
}

pub const QUESTIONS: &[Question] = &[
    Question {
        name: "--name",
        words: |_, _| "Name of the cluster:".to_owned(),
        asked: always,
        usual: |answers| answers.name.clone(),
        flag: |flags| flags.name.clone(),
        take: Take::Word(|answers| &mut answers.name),
    },
    Question {
        name: "--kubernetes",
        words: |_, _| "Version of Kubernetes:".to_owned(),
        asked: always,
        usual: |answers| answers.kubernetes.clone(),
        flag: |flags| flags.kubernetes.clone(),
        take: Take::Word(|answers| &mut answers.kubernetes),
    },
    Question {
        name: "--os",
        words: |_, profiles| {
            format!(
                "System of the machines ({}, …):",
                profiles.suggested_systems().join(", ")
            )
        },
        asked: always,
        usual: |answers| answers.os.clone(),
        flag: |flags| flags.os.clone(),
        take: Take::Word(|answers| &mut answers.os),
    },
    Question {
        name: "--platform",
        words: |_, profiles| format!("Where they run ({}):", profiles.suggested_platforms().join(", ")),
        asked: always,
        usual: |answers| answers.platform.clone(),
        flag: |flags| flags.platform.clone(),
        take: Take::Word(|answers| &mut answers.platform),
    },
    Question {
        name: "--nodes",
        words: |_, _| {
            "CSV file with the machines (columns name, role, address, and if needed mac, uuid, labels); `none` if you \
                name them here:"
                .to_owned()
        },
        asked: always,
        usual: |_| NONE.to_owned(),
        flag: |flags| flags.nodes.as_ref().map(|path| path.display().to_string()),
        take: Take::Read(|answers, text| {
            if text != NONE {
                let path = PathBuf::from(text);
                let unread = |why| format!("{text}: {why}; write the path of the CSV file, or `none`");
                input::read_include(&path).map_err(unread)?;
                answers.inventory = Some(path);
                (answers.control_planes, answers.workers) = (Vec::new(), Vec::new());
            }
            Ok(())
        }),
    },
    Question {
        name: "--control-plane",
        words: |_, _| {
            "Control planes, 1, 3 or 5, as NAME=ADDRESS with blanks between; ranges are cp{1..3}=10.0.0.11-10.0.0.13:"
                .to_owned()
        },
        asked: by_hand,
        usual: |_| CONTROL_PLANES.to_owned(),
        flag: |flags| joined(&flags.control_planes),
        take: Take::Read(|answers, text| machines(text).map(|machines| answers.control_planes = machines)),
    },
    Question {
        name: "--worker",
        words: |_, _| "Workers, likewise; `none` if pods run on the control planes:".to_owned(),
        asked: by_hand,
        usual: |answers| if answers.is_usual() { WORKERS } else { NONE }.to_owned(),
        flag: |flags| {
            let none = || (!flags.control_planes.is_empty()).then(|| NONE.to_owned());
            joined(&flags.workers).or_else(none)
        },
        take: Take::Read(|answers, text| {
            answers.workers = pairs(text, "write a machine as NAME=ADDRESS, or `none`")?;
            Ok(())
        }),
    },
    Question {
        name: "--mac",
        words: |_, _| {
            "MAC addresses of their boot interfaces, as NAME=MAC with blanks between; those of a range with commas \
                between; `none` if you write them later:"
                .to_owned()
        },
        // Elsewhere no program reads them.
        asked: |answers, profiles| by_hand(answers, profiles) && answers.boots_from_network(profiles),
        usual: |_| NONE.to_owned(),
        flag: |flags| joined(&flags.macs),
        take: Take::Read(|answers, text| {
            answers.macs = pairs(text, "write a MAC address as NAME=MAC")?;
            answers.check_macs()
        }),
    },
    Question {
        name: "--endpoint-provider",
        words: |_, _| {
            "Provider of the endpoint: `external` (your load balancer), `local` (a proxy on each worker), or \
                `kubeVip=ADDRESS` (an address of their network that no machine has):"
                .to_owned()
        },
        asked: always,
        usual: |_| "external".to_owned(),
        flag: |flags| flags.endpoint_provider.clone(),
        take: Take::Read(|answers, text| {
            let (provider, address) = text.split_once('=').unwrap_or((text, ""));
            if provider == "kubeVip" && address.is_empty() {
                return Err("kube-vip needs an address: write it as kubeVip=10.0.0.100".to_owned());
            }
            answers.provider = Some(provider.to_owned()).filter(|name| name != "external");
            answers.address = Some(address.to_owned()).filter(|address| !address.is_empty());
            Ok(())
        }),
    },
    Question {
        name: "--endpoint",
        words: |_, _| "Name under which everybody reaches the API:".to_owned(),
        asked: always,
        usual: Answers::host,
        flag: |flags| flags.endpoint.clone(),
        take: Take::Read(|answers, text| {
            answers.host = Some(text.to_owned());
            Ok(())
        }),
    },
    Question {
        name: "--cni",
        words: |answers, profiles| answers.plugins(profiles),
        asked: always,
        usual: |_| default_plugin().to_owned(),
        flag: |flags| flags.cni.clone(),
        take: Take::Read(|answers, text| {
            answers.cni = Some(text.to_owned()).filter(|text| text != default_plugin());
            Ok(())
        }),
    },
    Question {
        name: "--ssh-key",
        words: |_, _| "Public SSH key of who may log in, or `none`:".to_owned(),
        asked: always,
        usual: |_| NONE.to_owned(),
        flag: |flags| (!flags.ssh_keys.is_empty()).then(|| flags.ssh_keys.join("\n")),
        take: Take::Read(|answers, text| {
            let keys = text.lines().filter(|key| *key != NONE);
            answers.ssh_keys = keys.map(str::to_owned).collect();
            Ok(())
        }),
    },
];

fn always(_: &Answers, _: &Profiles) -> bool {
    true
}

/// The machines are named one by one.
fn by_hand(answers: &Answers, _: &Profiles) -> bool {
    answers.inventory.is_none()
}

fn joined(machines: &[String]) -> Option<String> {
    (!machines.is_empty()).then(|| machines.join(" "))
}
