//! The ends of credentials as a calendar (iCalendar, RFC 5545).

use time::{OffsetDateTime, UtcOffset, macros::format_description};

use super::credential::{Credential, Group, groups};
use crate::{encoding::sha256_hex, record::listed, secrets::Bundle};

/// Most octets of a line without its end (section 3.1).
const LINE: usize = 75;
/// Days before the end on which calendars remind.
const REMINDERS: [u8; 2] = [30, 7];

/// A calendar with an event for each group of credentials that end.
pub fn render(bundle: &Bundle, credentials: &[Credential], now: OffsetDateTime) -> String {
    let mut lines = vec![
        "BEGIN:VCALENDAR".to_owned(),
        "VERSION:2.0".to_owned(),
        "PRODID:-//firelay//certs//EN".to_owned(),
        format!("NAME:{}", escaped(&format!("Certificates of {}", bundle.cluster))),
    ];
    for group in groups(credentials) {
        if let Some(end) = group.first.expires {
            lines.extend(event(bundle, &group, end, now));
        }
    }
    lines.push("END:VCALENDAR".to_owned());
    lines.iter().map(|line| folded(line)).collect()
}

fn event(bundle: &Bundle, group: &Group<'_>, end: OffsetDateTime, now: OffsetDateTime) -> Vec<String> {
    let first = group.first;
    let on = match group.machines.is_empty() {
        true => String::new(),
        false => format!(" on {}", listed(&group.machines)),
    };
    let summary = escaped(&format!("{}: {}{on} ends", bundle.cluster, first.title));
    let subject = first.subject.as_deref().filter(|_| group.machines.len() < 2);
    let subject = subject.map_or_else(String::new, |subject| format!("Subject: {subject}\n"));
    let text = format!("{subject}It is {}. If it ends: {}.", first.renewal.text(), first.stops);
    let mut lines = vec![
        "BEGIN:VEVENT".to_owned(),
        format!("UID:{}", identifier(bundle, group)),
        format!("DTSTAMP:{}", moment(now)),
        format!("DTSTART:{}", moment(end)),
        format!("SUMMARY:{summary}"),
        format!("DESCRIPTION:{}", escaped(&text)),
        "TRANSP:TRANSPARENT".to_owned(),
    ];
    if !first.renewal.is_automatic() {
        lines.extend(REMINDERS.iter().flat_map(|days| alarm(*days, &summary)));
    }
    lines.push("END:VEVENT".to_owned());
    lines
}

fn alarm(days: u8, summary: &str) -> [String; 5] {
    [
        "BEGIN:VALARM".to_owned(),
        "ACTION:DISPLAY".to_owned(),
        format!("DESCRIPTION:{summary}"),
        format!("TRIGGER:-P{days}D"),
        "END:VALARM".to_owned(),
    ]
}

/// The same for a later certificate of the same machines, so that a renewal moves the event.
fn identifier(bundle: &Bundle, group: &Group<'_>) -> String {
    let machine = group.machines.first().unwrap_or(&"");
    let parts = [&bundle.kubernetes.certificate, &group.first.title, *machine];
    let digest = sha256_hex(parts.join("\0").as_bytes());
    format!("{}@firelay", &digest[..32])
}

/// Section 3.3.5, form 2.
fn moment(time: OffsetDateTime) -> String {
    let form = format_description!("[year][month][day]T[hour][minute][second]Z");
    let text = time.to_offset(UtcOffset::UTC).format(form);
    text.expect("every time has these numbers")
}

/// A value of type TEXT (section 3.3.11).
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | ';' | ',' => escaped.extend(['\\', character]),
            '\n' => escaped.push_str("\\n"),
            character => escaped.push(character),
        }
    }
    escaped
}

/// The line with its end; a long one goes on in lines that begin with a space (section 3.1).
fn folded(line: &str) -> String {
    let mut folded = String::with_capacity(line.len() + 2);
    let mut octets = 0;
    for character in line.chars() {
        if octets + character.len_utf8() > LINE {
            folded.push_str("\r\n ");
            octets = 1;
        }
        folded.push(character);
        octets += character.len_utf8();
    }
    folded + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_folded_between_characters() {
        let line = format!("SUMMARY:{}", "ä".repeat(100));
        let folded = folded(&line);
        let lines: Vec<_> = folded.trim_end().split("\r\n").collect();
        assert!(lines.iter().all(|line| line.len() <= LINE), "{lines:?}");
        assert!(lines.len() == 3 && lines[1..].iter().all(|line| line.starts_with(' ')));
        assert_eq!(folded.replace("\r\n ", ""), line + "\r\n");
    }

    #[test]
    fn separators_and_line_ends_are_escaped() {
        assert_eq!(escaped("a, b; c\\d\ne"), "a\\, b\\; c\\\\d\\ne");
    }
}
