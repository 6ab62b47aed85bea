//! Machines of one class: their documents are equal but for each machine's own name, address, values of labels, certificates and keys. The
//! checks of a class read none of these, so a document without findings speaks for its class.

use std::{
    collections::HashSet,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
};

use aws_lc_rs::digest::{Context, SHA256};
use firelay_base::shared_end::SharedEnd;
use memchr::memmem;

use super::{Finding, Format, Machine, cluster::variable};

/// The places of a machine's own values: the line before if it matters, and the line up to the value. Elsewhere the same text may
/// mean something else, such as a user or a volume.
const PLACES: [(&str, &str); 10] = [
    ("", "hostname: "),
    ("", "fqdn: "),
    ("    nodeRegistration:\n", "      name: "),
    ("      - name: node-ip\n", "        value: "),
    (LABELS, "        value: "),
    ("", "    FL_NODE="),
    ("", "    FL_ADDRESSES="),
    ("", "    FL_LOCAL="),
    ("", "    FL_URL_ADDRESS="),
    ("", "    FL_PIN="),
];

/// The line before the labels of a Node.
const LABELS: &str = "      - name: node-labels\n";

/// A body of PEM is on one line and longer.
const SHORTEST: usize = 60;

/// Marks in the digest for values that are left out. No text in UTF-8 has these bytes.
const ADDRESS: &[u8] = b"\xff1";
const NAME: &[u8] = b"\xff2";
const BODY: &[u8] = b"\xff3";

/// Before the keys of labels.
const KEYS: &[u8] = b"\xff5";

/// Before the digest of a shared end.
const END: &[u8] = b"\xff4";

/// Classes without a finding.
#[derive(Debug, Default)]
pub(super) struct Proven {
    classes: Mutex<HashSet<Vec<u8>>>,
    /// The ends of documents; there are few.
    ends: Mutex<Vec<Arc<End>>>,
}

/// A shared end of documents, and what a class needs to know about it.
#[derive(Debug)]
struct End {
    of: Arc<SharedEnd>,
    text: String,
    digest: Vec<u8>,
    /// Its values at the places where machines may have their own.
    values: Vec<String>,
}

impl Proven {
    /// The findings of checks whose result is the same for all machines of a class.
    pub(super) fn of(&self, machine: &Machine, check: impl FnOnce() -> Vec<Finding>) -> Vec<Finding> {
        let proven = || self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let class = self.class(machine);
        if class.as_ref().is_some_and(|class| proven().contains(class)) {
            return Vec::new();
        }
        let findings = check();
        proven().extend(class.filter(|_| findings.is_empty()));
        findings
    }

    /// The digest of all but a machine's own values; `None` for a machine that is checked alone.
    fn class(&self, machine: &Machine) -> Option<Vec<u8>> {
        let [layer] = machine.layers.as_slice() else {
            return None;
        };
        let is_whole = layer.format == Some(Format::CloudInit) && machine.faults.is_empty();
        let bytes = machine.innermost.as_ref().filter(|_| is_whole)?;
        let address = variable(machine, "FL_ADDRESSES").unwrap_or_default();
        let title = format!("{:?} {} {}\n", machine.roles, machine.pool, machine.platform);
        let whole = std::str::from_utf8(bytes).ok()?;
        let own = own_values(&machine.name, address, labels(whole));
        let end = machine.end.as_ref().and_then(|end| self.end(end));
        let shared = end.filter(|end| end.is_without(&own) && bytes.ends_with(end.text.as_bytes()));
        let border = bytes.len() - shared.as_ref().map_or(0, |end| end.text.len());
        let text = whole.get(..border)?;
        let end = shared.as_ref().map(|end| end.digest.as_slice());
        Some(digest(&title, text, end, &own))
    }

    /// The facts about a shared end; `None` if it is to be read with what is before it.
    fn end(&self, of: &Arc<SharedEnd>) -> Option<Arc<End>> {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = ends.iter().find(|end| Arc::ptr_eq(&end.of, of)) {
            return Some(end.clone());
        }
        let end = Arc::new(End::new(of)?);
        ends.push(end.clone());
        Some(end)
    }
}

impl End {
    /// It begins with an item of a list. This is no body of PEM, whatever is before it.
    fn new(of: &Arc<SharedEnd>) -> Option<Self> {
        let text = { std::str::from_utf8(of.text()).ok() }.filter(|text| text.starts_with("- "))?;
        let value = |line| PLACES.iter().find_map(|(_, place)| str::strip_prefix(line, place));
        Some(Self {
            of: of.clone(),
            text: text.to_owned(),
            digest: digest("", text, None, &[]),
            values: text.lines().filter_map(value).map(str::to_owned).collect(),
        })
    }

    /// None of a machine's own values is at a place of one.
    fn is_without(&self, own: &[Own]) -> bool {
        !own.iter()
            .any(|(own, _)| self.values.iter().any(|value| value.contains(own)))
    }
}

/// The digest of a cloud-config without this name, this address and the values of these labels (`key=value,…`), and without the bodies of
/// PEM. Two machines with the same digest have documents that differ in nothing else.
pub fn digest_of_class(cloud_config: &str, name: &str, address: &str, labels: &str) -> Vec<u8> {
    digest("", cloud_config, None, &own_values(name, address, labels))
}

/// A value of one machine, and its mark.
type Own = (String, Vec<u8>);

fn digest(title: &str, text: &str, end: Option<&[u8]>, own: &[Own]) -> Vec<u8> {
    let mut digest = Context::new(&SHA256);
    digest.update(title.as_bytes());
    let (mut before, mut done, mut at) = ("", 0, 0);
    for line in text.split_inclusive('\n') {
        // Many lines at once: each call takes longer than a line.
        if let Some((start, mark, rest)) = marked(before, line, own) {
            digest.update(&text.as_bytes()[done..at + start.len()]);
            digest.update(mark);
            done = at + line.len() - rest.len();
        }
        (before, at) = (line, at + line.len());
    }
    digest.update(&text.as_bytes()[done..]);
    for part in end.map_or([b"".as_slice(); 2], |end| [END, end]) {
        digest.update(part);
    }
    digest.finish().as_ref().to_vec()
}

/// Name, address and labels with their marks, as far as every reader of YAML takes them for text: a name has a letter first, and more
/// than letters. An IPv6 address may be a number of YAML 1.1.
fn own_values(name: &str, address: &str, labels: &str) -> Vec<Own> {
    let marks = [NAME, ADDRESS].map(<[u8]>::to_vec);
    let known = own_texts(name, address).into_iter().zip(marks);
    let known = known.filter_map(|(value, mark)| Some((value?.to_owned(), mark)));
    known
        .chain(keys(labels).map(|keys| (labels.to_owned(), keys)))
        .collect()
}

/// A machine's name and address, as far as every reader of YAML takes them for text.
pub(super) fn own_texts<'t>(name: &'t str, address: &'t str) -> [Option<&'t str>; 2] {
    let is_address = address.parse::<Ipv4Addr>().is_ok();
    [is_text(name).then_some(name), is_address.then_some(address)]
}

/// The labels of a Node in its document.
fn labels(cloud_config: &str) -> &str {
    let at = memmem::find(cloud_config.as_bytes(), LABELS.as_bytes()).map(|at| at + LABELS.len());
    let rest = at.map_or("", |at| &cloud_config[at..]);
    let line = rest.lines().next().unwrap_or_default();
    line.trim_start().strip_prefix("value: ").map_or("", unquoted)
}

/// The mark of labels: their keys. None where a reader may take them for something else.
fn keys(labels: &str) -> Option<Vec<u8>> {
    let is_plain = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
    };
    let mut mark = KEYS.to_vec();
    for label in labels.split(',') {
        let (key, value) = label.split_once('=')?;
        if !key.starts_with(|first: char| first.is_ascii_alphabetic()) || !is_plain(key) || !is_plain(value) {
            return None;
        }
        mark.extend_from_slice(key.as_bytes());
        mark.push(b',');
    }
    Some(mark)
}

/// A scalar without quotes around it.
pub(super) fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

/// Every reader of YAML takes the name for text.
pub(super) fn is_text(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.ends_with(|last: char| last.is_ascii_alphanumeric())
        && name.bytes().all(is_plain)
        && !name.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// A line with a mark in place of a machine's own value or of a body of PEM.
fn marked<'l>(before: &str, line: &'l str, own: &'l [Own]) -> Option<Parts<'l>> {
    without_own(before, line, own).or_else(|| without_body(before, line))
}

type Parts<'l> = (&'l str, &'l [u8], &'l str);

fn without_own<'l>(before: &str, line: &'l str, own: &'l [Own]) -> Option<Parts<'l>> {
    let mut places = PLACES.iter().filter(|(above, _)| above.is_empty() || *above == before);
    let value = places.find_map(|(_, place)| line.strip_prefix(place))?;
    let plain = value.strip_suffix('\n')?;
    let word = unquoted(plain);
    let (_, mark) = own.iter().find(|(own, _)| own == word)?;
    let start = line.len() - value.len() + usize::from(word.len() != plain.len());
    Some((&line[..start], mark, &line[start + word.len()..]))
}

/// The line behind the first one of a block of PEM, with the same indentation: base64 of a SEQUENCE of DER.
fn without_body<'l>(before: &str, line: &'l str) -> Option<Parts<'l>> {
    let first = before.strip_suffix("-----\n")?;
    let indentation = first.len() - first.trim_start_matches(' ').len();
    let is_first = first[indentation..].starts_with("-----BEGIN ");
    let (start, body) = line.split_at_checked(indentation).filter(|_| is_first)?;
    let digits = body.strip_suffix('\n')?.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    let is_body = digits.len() >= SHORTEST && digits.starts_with('M') && digits.bytes().all(is_digit);
    (is_body && start.trim_start_matches(' ').is_empty()).then_some((start, BODY, "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(before: &str, line: &str) -> Vec<u8> {
        let own = own_values("w5", "172.17.0.6", "rack=r5,zone=");
        let (start, mark, end) = super::marked(before, line, &own).unwrap_or((line, b"", ""));
        [start.as_bytes(), mark, end.as_bytes()].concat()
    }

    #[test]
    fn only_own_values_at_their_places_are_left_out() {
        let own = [
            ("", "hostname: w5\n", b"hostname: \xff2\n".as_slice()),
            ("", "    FL_PIN=172.17.0.6\n", b"    FL_PIN=\xff1\n"),
            (
                "      - name: node-ip\n",
                "        value: \"172.17.0.6\"\n",
                b"        value: \"\xff1\"\n",
            ),
            (
                "    nodeRegistration:\n",
                "      name: 'w5'\n",
                b"      name: '\xff2'\n",
            ),
            (
                LABELS,
                "        value: rack=r5,zone=\n",
                b"        value: \xff5rack,zone,\n",
            ),
        ];
        for (before, line, digested) in own {
            assert_eq!(marked(before, line), digested);
        }
        let others = [
            ("", "apiVersion: w5\n"),
            ("", "hostname: w55\n"),
            ("", "hostname: w5 # a\n"),
            ("", "hostname: w5"),
            ("", "    FL_PIN=172.17.0.60\n"),
            ("users:\n", "- name: w5\n"),
            ("    metadata:\n", "      name: w5\n"),
            ("      - name: hostname-override\n", "        value: \"172.17.0.6\"\n"),
            ("      - name: feature-gates\n", "        value: rack=r5,zone=\n"),
            (LABELS, "        value: rack=r6,zone=\n"),
            ("    nodeRegistration:\n", "      name: \"w5'\n"),
        ];
        for (before, line) in others {
            assert_eq!(marked(before, line), line.as_bytes());
        }
    }

    #[test]
    fn a_body_is_left_out_below_its_first_line_alone() {
        let (first, body) = ("    -----BEGIN CERTIFICATE-----\n", "MIIB+/".repeat(10));
        assert_eq!(marked(first, &format!("    {body}=\n")), b"    \xff3\n");
        for (before, line) in [
            (first, format!("  {body}\n")),
            (first, format!("     {body}\n")),
            (first, format!("    {body} \n")),
            (first, format!("    {body}=/etc/a\n")),
            (first, "    reboot\n".to_owned()),
            (first, format!("    /{body}\n")),
            ("    a\n", format!("    {body}\n")),
        ] {
            assert_eq!(marked(before, &line), line.as_bytes());
        }
    }

    #[test]
    fn a_name_is_one_that_no_reader_takes_for_something_else() {
        assert!(["w5", "worker-a", "w5.example.com"].into_iter().all(is_text));
        let others = ["true", "5w", "1e3", "w5:", "w5-", "W5", "-w5", "~", ""];
        assert!(!others.into_iter().any(is_text));
    }

    #[test]
    fn labels_are_those_that_no_reader_takes_for_something_else() {
        let text = |value: &str| format!("a: b\n{LABELS}        value: {value}\n      - c\n");
        assert_eq!(
            labels(&text("rack=r7,example.com/zone=a")),
            "rack=r7,example.com/zone=a"
        );
        assert_eq!(labels("a: b\n"), "");
        assert_eq!(
            keys("rack=r7,example.com/zone="),
            Some(b"\xff5rack,example.com/zone,".to_vec())
        );
        for other in [
            "",
            "rack",
            "=",
            "1=2",
            "rack=a b",
            "rack=a: b",
            "rack=a #b",
            "rack=a,",
            "rack=é",
        ] {
            assert!(keys(other).is_none(), "{other}");
        }
    }
}
