//! cloud-init, in the subset that 22.4 to 26.2 read alike and without deprecation warnings.

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock},
};

use firelay_base::memo::Memo;
use serde::Serialize;

use super::{Compression, Document, Error, layout};
use crate::{
    encoding::{base64, gzip},
    node::{NODE_ENVIRONMENT, NodeFiles, NodeUser},
    profile::DocumentFormat,
};

/// `#cloud-config`.
///
/// There is no Jinja header, so that braces in manifests stay what they are. Modules run in the order `bootcmd`,
/// `write_files`, `set_hostname`, `users_groups`, `runcmd`
/// (cloud-init, config/cloud.cfg.tmpl).
#[derive(Clone, Copy, Debug)]
pub struct CloudInit;

impl Document for CloudInit {
    fn file_name(&self) -> &'static str {
        DocumentFormat::CloudInit.file_name()
    }

    fn render(&self, files: &NodeFiles, compression: Compression) -> Result<String, Error> {
        layout::check(files, &[])?;
        let document = text(files, compression)?;
        match compression {
            Compression::None => Ok(document),
            Compression::Inner => wrap(&document),
        }
    }

    /// The first item of `write_files` behind the file with everything in which machines of one kind differ. A text of a file is
    /// indented, so that no line of it is an item.
    fn shared_end(&self, document: &str) -> Option<usize> {
        let own = document.find(&format!("\n- path: {NODE_ENVIRONMENT}\n"))? + 1;
        let next = document[own..].find("\n- path: ")? + 1;
        Some(own + next)
    }
}

/// Bytes of most workers' documents.
const USUAL: usize = 32 << 10;

/// The text of [`CloudConfig`].
fn text(files: &NodeFiles, compression: Compression) -> Result<String, Error> {
    let mut text = String::with_capacity(USUAL);
    text.push_str("#cloud-config\n");
    if let Some(names) = Names::of(files) {
        text.push_str(&firelay_yaml::emit(&names)?);
    }
    text.push_str(&Head::of(files).text()?);
    for (number, (path, mode, content)) in files.contents().enumerate() {
        text.push_str(if number == 0 { "write_files:\n" } else { "" });
        text.push_str(&item(path, mode, content, compression)?);
    }
    let tail = Tail::of(files);
    if !tail.runcmd.is_empty() {
        text.push_str(&firelay_yaml::emit_shared(&tail)?);
    }
    Ok(text)
}

/// The text of an item of `write_files`. Machines share most files, and writing YAML takes longer than compressing it.
fn item(path: Cow<'_, str>, mode: u32, content: &str, compression: Compression) -> Result<Arc<String>, Error> {
    static ITEMS: LazyLock<Memo<String>> = LazyLock::new(Memo::default);
    let name = format!("{path} {mode:o} {compression:?}");
    ITEMS.try_of(&name, content.as_bytes(), || {
        let file = WriteFile::new(path, mode, content, compression);
        let is_plain = file.encoding.is_none() && is_plain_block(&file.content);
        let before = is_plain.then(|| before_content(&file.path, mode)).transpose()?;
        match before.flatten() {
            Some(before) => Ok(before + &indented(&file.content)),
            None => Ok(firelay_yaml::emit(&[file])?),
        }
    })
}

/// Whether the block scalar of a text is its lines, each indented. The text is ASCII, has two lines or more, begins with a visible
/// character, and ends with one and a newline.
fn is_plain_block(content: &str) -> bool {
    let lines = content.strip_suffix('\n').unwrap_or_default();
    let is_known = |byte: u8| matches!(byte, b'\n' | b' '..=b'~');
    let is_visible = |character: char| character.is_ascii_graphic();
    let has_visible_ends = lines.starts_with(is_visible) && lines.ends_with(is_visible);
    has_visible_ends && lines.contains('\n') && lines.bytes().all(is_known)
}

/// The lines of an item before its content.
fn before_content(path: &str, mode: u32) -> Result<Option<String>, Error> {
    const LINES: &str = "a\nb\n";
    let other = WriteFile::new(path.into(), mode, LINES, Compression::None);
    let item = firelay_yaml::emit_shared(&[other])?;
    Ok(item.strip_suffix(&indented(LINES)).map(str::to_owned))
}

/// The lines of a block scalar in an item.
fn indented(lines: &str) -> String {
    const INDENTATION: &str = "    ";
    let mut text = String::with_capacity(lines.len() + lines.len() / 8 + INDENTATION.len());
    for line in lines.split_inclusive('\n') {
        text.push_str(INDENTATION);
        text.push_str(line);
    }
    text
}

/// A MIME message whose only part is the gzipped document: plain text for the platform, and unpacked by cloud-init itself
/// (user_data.UserDataProcessor, DECOMP_TYPES). It is half as long as `gz+b64` of each file apart, since certificates and
/// small files gain nothing by themselves.
fn wrap(document: &str) -> Result<String, Error> {
    // The part's text goes through Python's `email.message`, which turns what is not ASCII into escapes.
    if let Some(line) = document.lines().find(|line| !line.is_ascii()) {
        return Err(Error::NotAscii(line.trim().to_owned()));
    }
    Ok(format!(
        "Content-Type: application/gzip\nMIME-Version: 1.0\nContent-Transfer-Encoding: base64\n\n{}\n",
        base64(gzip(document.as_bytes()))
    ))
}

type Command = Vec<String>;

/// The whole document.
#[derive(Serialize)]
pub(super) struct CloudConfig<'a> {
    #[serde(flatten)]
    names: Option<Names<'a>>,
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    write_files: Vec<WriteFile<'a>>,
    #[serde(flatten)]
    tail: Tail,
}

/// The machine's own name.
#[derive(Serialize)]
struct Names<'a> {
    /// Both names are equal: without `fqdn` the distributions of the Red Hat family use the platform's name
    /// (Distro.prefer_fqdn).
    hostname: &'a str,
    fqdn: &'a str,
    /// Installers may leave `true` in /etc/cloud/cloud.cfg.d.
    preserve_hostname: bool,
}

/// Keys before `write_files` that many machines share.
#[derive(Serialize)]
struct Head<'a> {
    /// Some images and vendor data set `true`; then every boot rewrites /etc/hosts, without the endpoint.
    manage_etc_hosts: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ssh_authorized_keys: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    users: Vec<User<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bootcmd: Vec<Command>,
}

impl<'a> CloudConfig<'a> {
    /// The whole of it, with texts as they are.
    pub(super) fn new(files: &'a NodeFiles) -> Self {
        Self {
            names: Names::of(files),
            head: Head::of(files),
            write_files: write_files(files),
            tail: Tail::of(files),
        }
    }
}

impl<'a> Names<'a> {
    fn of(files: &'a NodeFiles) -> Option<Self> {
        let hostname = files.hostname.as_deref()?;
        Some(Self {
            hostname,
            fqdn: hostname,
            preserve_hostname: false,
        })
    }
}

impl<'a> Head<'a> {
    fn of(files: &'a NodeFiles) -> Self {
        Self {
            manage_etc_hosts: false,
            ssh_authorized_keys: &files.ssh_authorized_keys,
            users: users(&files.users),
            bootcmd: boot_commands(files),
        }
    }

    /// A password's hash is not kept in memory.
    fn text(&self) -> Result<Arc<String>, Error> {
        let has_hash = |user: &User<'_>| matches!(user, User::Further(user) if user.hashed_passwd.is_some());
        Ok(match self.users.iter().any(has_hash) {
            true => firelay_yaml::emit(self)?.into(),
            false => firelay_yaml::emit_shared(self)?,
        })
    }
}

/// All after the files.
#[derive(Serialize)]
struct Tail {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runcmd: Vec<Command>,
}

impl Tail {
    fn of(files: &NodeFiles) -> Self {
        Self {
            runcmd: run_commands(files),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum User<'a> {
    /// The image's own user, who would be dropped if the list did not contain him.
    Default(&'static str),
    Further(FurtherUser<'a>),
}

#[derive(Serialize)]
struct FurtherUser<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    gecos: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    homedir: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    primary_group: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [String],
    shell: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock_passwd: Option<bool>,
    /// `passwd` would not be set on a user that the image has.
    #[serde(skip_serializing_if = "Option::is_none")]
    hashed_passwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sudo: Option<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ssh_authorized_keys: &'a [String],
}

/// Without a hash passwords stay locked: that is cloud-init's default.
fn users(users: &[NodeUser]) -> Vec<User<'_>> {
    if users.is_empty() {
        return Vec::new();
    }
    let further = users.iter().map(|user| {
        User::Further(FurtherUser {
            name: &user.name,
            gecos: user.gecos.as_deref(),
            homedir: user.home_dir.as_deref(),
            primary_group: user.primary_group.as_deref(),
            groups: &user.groups,
            shell: &user.shell,
            lock_passwd: user.password_hash.as_ref().map(|_| false),
            hashed_passwd: user.password_hash.as_ref().map(|hash| hash.expose().as_str()),
            sudo: user.sudo.then_some("ALL=(ALL) NOPASSWD:ALL"),
            ssh_authorized_keys: &user.ssh_authorized_keys,
        })
    });
    std::iter::once(User::Default("default")).chain(further).collect()
}

/// The boot chain's mark that the whole document is on disk (templates/boot/driver.j2).
const LAID: &str = "/var/lib/firelay/laid";

/// Work before the files are written: directories that are not 0755, since `write_files` makes parents 0755, and masks,
/// since one may start at any time. This runs at every boot, so each command may be repeated.
fn boot_commands(files: &NodeFiles) -> Vec<Command> {
    let masks = (!files.masked_units.is_empty()).then(|| command(&["systemctl", "mask"], &files.masked_units));
    let directories = files.directories.chunk_by(|a, b| a.mode == b.mode).map(|chunk| {
        let mode = octal(chunk[0].mode);
        let install = ["install", "-d", "-m", &mode, "-o", "root", "-g", "root"];
        command(&install, chunk.iter().map(|directory| &directory.path))
    });
    let again = files.units.iter().any(|unit| unit.enabled).then(lay_again);
    again.into_iter().chain(masks).chain(directories).collect()
}

/// After a power cut files may be empty, or `runcmd` may not have run, and cloud-init would not repeat it: each module
/// is marked as done before it runs (helpers.FileSemaphores). Until a mark confirms that the whole document is on disk,
/// the modules of this boot run as on the first one: they read their marks only when it is their turn. cloud-init's
/// instance data, and the document itself, are on disk before that.
fn lay_again() -> Command {
    let script = format!("[ -e {LAID} ] || {{ sync; rm -f /var/lib/cloud/instance/sem/config_*; }}");
    command(&["sh", "-c"], [script])
}

/// Work at the end of the first boot. Links are created here and not at every boot: a node may turn them to
/// something newer, as the kubelet does with its client certificate.
fn run_commands(files: &NodeFiles) -> Vec<Command> {
    let mut commands = Vec::new();
    let parents = link_parents(files);
    if !parents.is_empty() {
        commands.push(command(&["mkdir", "-p"], parents));
    }
    for link in &files.links {
        commands.push(command(&["ln", "-sfn"], [&link.target, &link.path]));
    }
    if !files.masked_units.is_empty() {
        commands.push(command(&["systemctl", "stop"], &files.masked_units));
    }
    let enabled: Vec<_> = files
        .units
        .iter()
        .filter(|unit| unit.enabled)
        .map(|unit| &unit.name)
        .collect();
    if !enabled.is_empty() {
        commands.push(command(&["sync"], [""; 0]));
        commands.push(command(&["systemctl", "enable", "--now", "--no-block"], enabled));
    }
    commands
}

/// Parents of links that nothing else creates.
fn link_parents(files: &NodeFiles) -> Vec<&str> {
    let made = |parent: &str| {
        files.directories.iter().any(|directory| directory.path == parent)
            || files
                .files
                .iter()
                .any(|file| layout::ancestors(&file.path).any(|above| above == parent))
    };
    let mut parents: Vec<_> = files
        .links
        .iter()
        .filter_map(|link| layout::ancestors(&link.path).next())
        .collect();
    parents.retain(|parent| !made(parent));
    parents.dedup();
    parents
}

fn command<T: AsRef<str>>(words: &[&str], arguments: impl IntoIterator<Item = T>) -> Command {
    let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
    words.iter().map(|word| (*word).to_owned()).chain(arguments).collect()
}

/// The owner is left out: root:root is the default (cc_write_files).
#[derive(Serialize)]
struct WriteFile<'a> {
    path: Cow<'a, str>,
    /// Octal, as a string: a number would be used unchanged. Without it a file gets 0644 (cc_write_files,
    /// DEFAULT_PERMS).
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    content: Cow<'a, str>,
}

impl<'a> WriteFile<'a> {
    fn new(path: Cow<'a, str>, mode: u32, content: &'a str, compression: Compression) -> Self {
        let (encoding, content) = encode(content, compression);
        Self {
            path,
            permissions: (mode != 0o644).then(|| octal(mode)),
            encoding,
            content,
        }
    }
}

fn write_files(files: &NodeFiles) -> Vec<WriteFile<'_>> {
    let item = |(path, mode, content)| WriteFile::new(path, mode, content, Compression::None);
    let contents = files.contents().map(|(path, mode, content)| (path, mode, &**content));
    contents.map(item).collect()
}

fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

/// `encoding` and `content` of a file (cc_write_files): literal where every character comes through, else base64.
fn encode(content: &str, compression: Compression) -> (Option<&'static str>, Cow<'_, str>) {
    match compression {
        Compression::Inner if !content.is_ascii() => (Some("gz+b64"), base64(gzip(content.as_bytes())).into()),
        _ if is_literal(content) => (None, content.into()),
        _ => (Some("b64"), base64(content).into()),
    }
}

/// Whether a YAML 1.1 block scalar preserves every character (YAML 1.1 §4.1: other characters are not printable, and
/// parsers normalise the line breaks NEL, LS, PS and CR). `mime-version:` in the first 4 KiB makes cloud-init parse the
/// whole document as a MIME message (user_data.convert_string).
fn is_literal(content: &str) -> bool {
    let printable = |character| {
        matches!(character, '\t' | '\n' | ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
    };
    let is_plain = |byte| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    // Nearly every text is ASCII, and bytes are looked at much faster than characters.
    (content.bytes().all(is_plain) || content.chars().all(printable)) && !mentions_mime_version(content)
}

fn mentions_mime_version(content: &str) -> bool {
    const MARK: &[u8] = b"mime-version:";
    let bytes = content.as_bytes();
    let is_mark = |at: usize| {
        bytes
            .get(at..at + MARK.len())
            .is_some_and(|mark| mark.eq_ignore_ascii_case(MARK))
    };
    let mut colons = bytes.iter().enumerate().filter(|(_, byte)| **byte == b':');
    // The colon ends the mark and is rarer than its letters.
    colons.any(|(at, _)| (at + 1).checked_sub(MARK.len()).is_some_and(is_mark))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// An item equals the emitter's text, whichever byte of the content changes.
    #[test]
    fn an_item_is_that_of_the_emitter() {
        let content = "#!/bin/sh\n# a: b\n\n  c 'd' \"e\"\n- f\n";
        let bytes = [
            ' ', '\n', '\t', '\r', '#', ':', '-', '|', '\'', '"', '\\', '\u{e9}', '\u{7f}',
        ];
        let mut plain = 0;
        let (none, inner) = (Compression::None, Compression::Inner);
        let files = [
            ("/etc/a", 0o600, none),
            ("/etc/a", 0o644, inner),
            ("/etc/a: b", 0o755, none),
        ];
        let mut compare = |content: &str| {
            for (path, mode, compression) in files {
                let file = WriteFile::new(path.into(), mode, content, compression);
                let item = item(path.into(), mode, content, compression).unwrap();
                plain += usize::from(file.encoding.is_none() && is_plain_block(content));
                assert_eq!(*item, firelay_yaml::emit(&[file]).unwrap(), "{content:?}");
            }
        };
        for at in 0..content.len() {
            let (before, rest) = (&content[..at], &content[at + 1..]);
            compare(&format!("{before}{rest}"));
            compare(before);
            for byte in bytes {
                compare(&format!("{before}{byte}{rest}"));
                compare(&format!("{before}{byte}{}", &content[at..]));
            }
        }
        assert!(plain > 900, "{plain}");
    }
}
