//! Questions and answers on a terminal.

use std::io::{BufRead, Write};

use super::{
    answers::Answers,
    questions::{QUESTIONS, Question},
};
use crate::{commands::failure::Failure, profile::Profiles};

/// Asks every question until its answer is valid; an empty line selects the value in brackets.
pub fn hold(
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    profiles: &Profiles,
    start: Answers,
) -> Result<Answers, Failure> {
    let mut answers = start;
    writeln!(output, "An empty answer takes what stands in brackets.")?;
    for question in QUESTIONS {
        if !(question.asked)(&answers, profiles) {
            continue;
        }
        answers = ask(question, &answers, input, output, profiles)?;
    }
    Ok(answers)
}

/// A question of yes or no; an empty answer is yes.
pub fn confirm(input: &mut dyn BufRead, output: &mut dyn Write, words: &str) -> Result<bool, Failure> {
    loop {
        write!(output, "\n{words}\n[yes] ")?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        match line.trim() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => writeln!(output, "answer yes or no")?,
        }
    }
}

fn ask(
    question: &Question,
    answers: &Answers,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    profiles: &Profiles,
) -> Result<Answers, Failure> {
    let usual = (question.usual)(answers);
    // These may take seconds to find.
    let words = (question.words)(answers, profiles);
    loop {
        write!(output, "\n{words}\n[{usual}] ")?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Err(Failure::Usage("there was no answer; nothing is written".to_owned()));
        }
        let text = Some(line.trim()).filter(|text| !text.is_empty()).unwrap_or(&usual);
        let answered = question
            .answer(answers, text)
            .and_then(|answers| answers.check(profiles).map(|()| answers));
        match answered {
            Ok(answers) => return Ok(answers),
            Err(why) => writeln!(output, "{why}")?,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn talk(lines: &str) -> (Result<String, String>, String) {
        let profiles = Profiles::embedded().unwrap();
        let mut said = Vec::new();
        let held = hold(&mut lines.as_bytes(), &mut said, &profiles, Answers::unasked(&profiles));
        let spec = match held {
            Ok(answers) => Ok(answers.spec().unwrap()),
            Err(Failure::Usage(why)) => Err(why),
            Err(other) => panic!("{other:?}"),
        };
        (spec, String::from_utf8(said).unwrap())
    }

    #[test]
    fn empty_answers_give_what_no_flags_give() {
        let (spec, said) = talk(&"\n".repeat(QUESTIONS.len()));
        let profiles = Profiles::embedded().unwrap();
        assert_eq!(spec.unwrap(), Answers::new(&profiles).spec().unwrap());
        // The first platform's machines do not boot from the network, so MAC addresses are not asked for.
        assert_eq!(said.matches("\n[").count(), QUESTIONS.len() - 1);
        assert!(said.contains("fit the limit of aws with: "), "{said}");
    }

    #[test]
    fn each_answer_is_judged_at_once_and_asked_for_again() {
        let lines = [
            "My Lab", // no name
            "lab",
            "1.36", // no full version
            "",
            "ubunto-24.04", // mistyped
            "debian-13",
            "metal",
            "no-such.csv", // no file
            "none",
            "cp1=10.0.0.300",             // no address
            "cp1=10.0.0.1 cp2=10.0.0.2",  // an even number
            "cp1=10.0.0.1, cp2=10.0.0.2", // commas
            "cp{1..3}=10.0.0.1-10.0.0.3",
            "no",
            "w1",          // no address
            "w1=10.0.0.2", // a control plane's
            "none",
            "cp9=52:54:00:00:00:01",      // no machine
            "cp{1..3}=52:54:00:00:00:01", // one for three
            "cp{1..3}=52:54:00:00:00:01,52:54:00:00:00:02,52:54:00:00:00:03",
            "kubeVip",              // no address
            "kubeVip=10.0.0.10/24", // no address either
            "kubeVip=10.0.0.100",
            "",
            "claico", // mistyped
            "calico",
            "ssh-ed25519", // half a key
            "",
        ];
        let (spec, said) = talk(&(lines.join("\n") + "\n"));
        let spec = spec.unwrap();
        for text in [
            "name: lab\n",
            "os: debian-13\n",
            "platform: metal\n",
            "  host: api.lab.example.com\n",
            "  provider: kubeVip\n  address: 10.0.0.100\n",
            "  cni: calico #",
            "addresses: [10.0.0.1-10.0.0.3], macs: [\"52:54:00:00:00:01\", \"52:54:00:00:00:02\", \"52:54:00:00:00:03\"] }\n",
        ] {
            assert!(spec.contains(text), "{text}\n{spec}");
        }
        assert!(!said.contains("--"), "nobody gave a flag: {said}");
        for text in [
            "not a cluster name",
            "not a full version",
            "did you mean `ubuntu-24.04`?",
            "not a node address",
            "an even number of etcd members",
            "cp1=10.0.0.1, ends with a comma: write blanks between machines",
            "no: write a machine as NAME=ADDRESS, or `none`",
            "the address 10.0.0.2 is given twice",
            "write it as kubeVip=10.0.0.100",
            "not an address\n",
            "not a public SSH key",
            "no-such.csv: there is no such file",
            "no machine or range has this name",
            "one MAC address for several machines",
            "did you mean `calico`?",
        ] {
            assert!(said.contains(text), "{text}\n{said}");
        }
        assert_eq!(said.matches("\n[").count(), lines.len());
    }

    #[test]
    fn yes_is_the_usual_answer() {
        for (lines, expected) in [("\n", true), ("maybe\nno\n", false), ("yes\n", true), ("", false)] {
            let mut said = Vec::new();
            assert_eq!(confirm(&mut lines.as_bytes(), &mut said, "Really?").unwrap(), expected);
            assert!(String::from_utf8(said).unwrap().contains("Really?\n[yes] "));
        }
    }

    #[test]
    fn an_end_of_input_is_no_answer() {
        assert_eq!(talk("lab\n").0.unwrap_err(), "there was no answer; nothing is written");
    }
}
