//! Ends that many documents have in common: each is inflated once and searched once.

use std::sync::{Arc, PoisonError, RwLock};

use firelay_base::shared_end::{SharedEnd, SharedEnds};

use crate::contents::Contents;

/// Ends that are recognised in texts. There are few, and each takes a comparison.
const MOST: usize = 64;

/// An end that was searched.
pub(crate) struct End {
    pub(crate) of: Arc<SharedEnd>,
    pub(crate) contents: Contents,
    /// How many bytes were unpacked from it.
    pub(crate) unpacked: usize,
}

/// The ends of documents.
#[derive(Default)]
pub(crate) struct Ends {
    streams: SharedEnds,
    known: RwLock<Vec<Arc<End>>>,
}

impl Ends {
    /// The content of one gzip stream, whose end is kept as far as `search` allows it.
    pub(crate) fn inflated(
        &self,
        packed: &[u8],
        most: usize,
        search: impl FnOnce(&Arc<SharedEnd>) -> Option<End>,
    ) -> Option<Vec<u8>> {
        let halves = self.streams.gunzip(packed, most)?;
        if self.has_room_for(halves.end.text()) {
            self.keep(search(&halves.end));
        }
        Some(halves.text)
    }

    /// Keeps the end of a text that is not compressed, as far as `search` allows it.
    pub(crate) fn know(&self, text: &[u8], search: impl FnOnce(&Arc<SharedEnd>) -> Option<End>) {
        if self.has_room_for(text) {
            self.keep(search(&Arc::new(SharedEnd::new(text.to_vec()))));
        }
    }

    fn keep(&self, end: Option<End>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(end.map(Arc::new));
    }

    /// The known end that a text has.
    pub(crate) fn of(&self, text: &[u8]) -> Option<Arc<End>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|end| text.ends_with(end.of.text())).cloned()
    }

    /// The known end with this text.
    pub(crate) fn same(&self, text: &[u8]) -> Option<Arc<SharedEnd>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|end| end.of.text() == text).map(|end| end.of.clone())
    }

    fn has_room_for(&self, new: &[u8]) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        // Most ends are the same allocation as a known one.
        let is_same = |known: &[u8]| std::ptr::eq(known, new) || known == new;
        known.len() < MOST && !known.iter().any(|end| is_same(end.of.text()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use firelay_base::{
        encoding::{base64, gzip, gzip_with_end, hex},
        secret,
    };

    use crate::{
        Alike, Catalogue, KnownSecret,
        contents::Contents,
        secret::{Exposure, Holder},
    };

    /// A secret of the catalogue.
    const VALUE: [u8; 32] = *b"\x01\x8d\x42\xf9\x9a\x33\x71\xc0\x5e\x17\xbb\x60\x2f\x94\xda\x08\xe1\x7c\x36\xa5\xcf\x4b\x90\x1d\x6e\xf3\x28\x87\x55\xba\x0c\xd4";

    fn catalogue() -> Catalogue {
        catalogue_of(Holder::Machine("w1".to_owned()))
    }

    /// A catalogue with the secret of a holder.
    fn catalogue_of(holder: Holder) -> Catalogue {
        let value = secret::Secret::new(VALUE.to_vec());
        Catalogue::new(vec![KnownSecret::new(Exposure::Administers, "a", holder, value)])
    }

    fn end() -> String {
        let item = |at: usize| format!("- path: /etc/{at}\n  content: |\n    {}\n", (at * 7919) % 10_007);
        (0..300).map(item).collect()
    }

    fn lines(made: &[&str]) -> Vec<secret::Secret<String>> {
        made.iter()
            .map(|line| secret::Secret::new((*line).to_owned()))
            .collect()
    }

    fn own(at: usize) -> String {
        format!(
            "#cloud-config\nhostname: w{at}\nwrite_files:\n- path: /etc/firelay/node.env\n  content: |\n    FL_NODE=w{at}\n"
        )
    }

    /// As a document is delivered, and how it is read.
    fn packed(own: &str, end: &str) -> [Vec<u8>; 2] {
        let text = format!("{own}{end}");
        let packed = gzip_with_end(text.as_bytes(), own.len());
        [base64(packed).into_bytes(), text.into_bytes()]
    }

    /// A catalogue that knows an end.
    fn knowing(end: &str) -> Catalogue {
        let catalogue = catalogue();
        for at in 0..4 {
            Contents::read(&catalogue, &packed(&own(at), end)[0]);
        }
        assert!(catalogue.ends.of(packed(&own(5), end)[1].as_slice()).is_some());
        catalogue
    }

    fn found(catalogue: &Catalogue, bytes: &[u8]) -> (usize, String) {
        told(&Contents::read(catalogue, bytes))
    }

    fn told(contents: &Contents) -> (usize, String) {
        (contents.known.len() + contents.marks.len(), format!("{contents:?}"))
    }

    #[test]
    fn what_is_in_one_of_many_documents_is_found() {
        let (end, secret) = (end(), base64(VALUE));
        let (catalogue, learning) = (knowing(&end), self::catalogue());
        let with = |text: &str| format!("{text}- path: /etc/own\n  content: |\n    {secret}\n");
        let (start, rest) = end.split_at(end.find("- path: /etc/150\n").unwrap());
        let escaped: String = hex(secret.as_bytes())
            .as_bytes()
            .chunks(2)
            .fold(String::new(), |text, digits| {
                text + "\\x" + std::str::from_utf8(digits).unwrap()
            });
        let cases = [
            (own(7), end.clone(), 0),
            (with(&own(7)), end.clone(), 1),
            (own(7), with(&end), 1),
            (own(7), with(start) + rest, 1),
            (own(7) + &format!("    {escaped}\n"), end.clone(), 1),
            (own(7) + "    token: 0a1b2c.0123456789abcdeg\n", end.clone(), 1),
            (own(7), format!("{start}- \"://a:b@c\"\n{rest}"), 1),
            // The secret begins before the end, which may be shared.
            (
                own(7) + &format!("    {}\n", &secret[..20]),
                format!("    {}\n{end}", &secret[20..]),
                1,
            ),
        ];
        for (own, end, wanted) in cases {
            for document in packed(&own, &end) {
                let fresh = found(&self::catalogue(), &document);
                assert_eq!(fresh.0, wanted, "{own}");
                for _ in 0..3 {
                    assert_eq!(found(&catalogue, &document), fresh);
                }
            }
            let (border, text) = (own.len(), own + &end);
            let fresh = found(&self::catalogue(), text.as_bytes());
            for catalogue in [&learning, &catalogue, &learning] {
                let beside = Contents::read_beside(catalogue, Vec::new, (Some(border), None), text.as_bytes());
                assert_eq!(told(&beside), fresh, "{text}");
            }
        }
        assert!(learning.ends.of(end.as_bytes()).is_some());
    }

    #[test]
    fn lines_that_were_just_made_are_searched_for_known_secrets_alone() {
        let (line, guessed) = (base64(VALUE), "token: 0a1b2c.0123456789abcdeg");
        let read = |made: &[&str], text: &str| {
            told(&Contents::read_beside(
                &catalogue(),
                || lines(made),
                (None, None),
                text.as_bytes(),
            ))
            .0
        };
        let text = |line: &str| format!("{}    {line}\n    a line\n    {line}\n", own(7));
        assert_eq!(read(&[], &text(guessed)), 1);
        assert_eq!(read(&[guessed, guessed], &text(guessed)), 0);
        // One of the two lines is not said to be made.
        assert_eq!(read(&[guessed], &text(guessed)), 1);
        assert_eq!(read(&[&line, &line], &text(&line)), 1);
        // A line is recognised as a whole: the first one begins alike.
        let (first, second) = ("a".repeat(40) + "b", "a".repeat(40) + "c");
        let both = format!("    {first}\n    {second} {guessed}\n");
        assert_eq!(read(&[&format!("{second} {guessed}")], &both), 0);
    }

    #[test]
    fn guesses_hold_for_files_that_are_alike_and_known_secrets_for_one() {
        let (alike, catalogue, line) = (Alike::default(), catalogue(), base64([7; 40]));
        let read = |own: &str, end: &str, made: &[&str]| {
            let (border, text) = (own.len(), own.to_owned() + end);
            let beside = (Some(border), Some(&alike));
            told(&Contents::read_beside(
                &catalogue,
                || lines(made),
                beside,
                text.as_bytes(),
            ))
            .0
        };
        let (end, token) = (end(), "    token: 0a1b2c.0123456789abcdeg\n");
        let document = |at: usize, more: &str| format!("{}    {line}\n{more}", own(at));
        assert_eq!(read(&document(1, token), &end, &[&line]), 1);
        // Found in the first one.
        assert_eq!(read(&document(2, ""), &end, &[&line]), 1);
        let known = base64(VALUE);
        assert_eq!(read(&document(2, &format!("    {known}\n")), &end, &[&line]), 2);
        // Another end, and a secret across the border.
        assert_eq!(read(&document(2, ""), &(end.clone() + "- a\n"), &[&line]), 0);
        let (begin, rest) = known.split_at(20);
        let across = Alike::default();
        let rest = format!("{rest}\n{end}");
        for (own, found) in [("", 0), (begin, 1)] {
            let (border, text) = (document(3, own).len(), document(3, own) + &rest);
            let beside = (Some(border), Some(&across));
            assert_eq!(
                told(&Contents::read_beside(
                    &catalogue,
                    || lines(&[&line]),
                    beside,
                    text.as_bytes()
                ))
                .0,
                found
            );
        }
    }

    /// Searches a first file and a second one that is alike, and returns the findings in the second. Its own part holds nothing.
    fn after(first: &str, end: &str, made: &str, catalogue: &Catalogue) -> (usize, String) {
        let alike = Alike::default();
        let line = base64([7; 40]);
        let mut found = (0, String::new());
        for (own, made) in [(first, made), (&format!("    {line}\n"), line.as_str())] {
            let text = format!("{own}{end}");
            let beside = (Some(own.len()), Some(&alike));
            found = told(&Contents::read_beside(
                catalogue,
                || lines(&[made]),
                beside,
                text.as_bytes(),
            ));
        }
        found
    }

    #[test]
    fn guesses_are_kept_of_a_first_file_without_secrets_of_its_own() {
        let (end, line) = (end(), base64([7; 40]));
        let guess = |more: &str| format!("    {line}\n    token: 0a1b2c.0123456789abcdeg\n{more}");
        let with_secret = guess(&format!("    {}\n", hex(&VALUE)));
        assert_eq!(after(&guess(""), &end, &line, &catalogue()).0, 1);
        // It may be the machine's own, and a line that was made is not there.
        assert_eq!(after(&with_secret, &end, &line, &catalogue()).0, 0);
        assert_eq!(after(&guess(""), &end, "another line", &catalogue()).0, 0);
    }

    #[test]
    fn a_known_secret_of_a_first_file_is_not_said_of_the_others() {
        let (nobody, line) = (catalogue_of(Holder::Nobody), base64([7; 40]));
        let first = format!("    {line}\n    {}\n", hex(&VALUE));
        assert_eq!(after(&first, &end(), &line, &nobody).0, 0);
        // One in the shared end is, and one in something packed that they share.
        let with_end = format!("{}    {}\n", end(), base64(VALUE));
        for first in [first.as_str(), &format!("    {line}\n")] {
            assert_eq!(after(first, &with_end, &line, &nobody).0, 1);
        }
        // The second file lacks what is packed: it is said to have it, because the first one has nothing else.
        let packed = base64(gzip(format!("a long text around it: {}", base64(VALUE)).as_bytes()));
        let with_packed = format!("    {line}\n    {packed}\n");
        assert_eq!(after(&with_packed, &end(), &line, &nobody).0, 1);
        // A file that has it as it is says nothing of the others, not even what is packed.
        let with_both = format!("{with_packed}    {}\n", hex(&VALUE));
        assert_eq!(after(&with_both, &end(), &line, &nobody).0, 0);
        let packed_end = format!("{}    {packed}\n", end());
        assert_eq!(after(&first, &packed_end, &line, &nobody).0, 1);
    }

    #[test]
    fn a_secret_is_said_to_be_where_it_is_first() {
        let (nobody, line) = (catalogue_of(Holder::Nobody), base64([7; 40]));
        let packed = base64(gzip(format!("a long text around it: {}", base64(VALUE)).as_bytes()));
        let plain = format!("    {}\n", base64(VALUE));
        let own = format!("    {line}\n    {packed}\n{}{plain}", end());
        let alike = Alike::default();
        let read = || {
            let text = own.clone() + &end();
            let beside = (Some(own.len()), Some(&alike));
            told(&Contents::read_beside(
                &nobody,
                || lines(&[&line]),
                beside,
                text.as_bytes(),
            ))
        };
        let first = read();
        assert!(first.1.contains("gzip in it"), "{}", first.1);
        assert_eq!(read(), first);
    }

    #[test]
    fn a_secret_in_a_shared_end_is_found_on_each_machine() {
        let end = end() + &format!("- path: /etc/own\n  content: |\n    {}\n", base64(VALUE));
        let catalogue = knowing(&end);
        for document in (0..5).flat_map(|at| packed(&own(at), &end)) {
            let found = found(&catalogue, &document);
            assert_eq!((found.0, &found), (1, &self::found(&self::catalogue(), &document)));
        }
    }

    #[test]
    fn a_damaged_stream_is_searched_as_before() {
        let end = end();
        let catalogue = knowing(&end);
        let stream = gzip_with_end((own(7) + &end).as_bytes(), own(7).len());
        for at in (0..stream.len()).step_by(13) {
            let mut other = stream.clone();
            other[at] ^= 4;
            assert_eq!(found(&catalogue, &other), found(&self::catalogue(), &other), "{at}");
        }
        let whole = gzip((own(7) + &end).as_bytes());
        assert_eq!(found(&catalogue, &whole), found(&self::catalogue(), &whole));
    }
}
