//! A live system that installs its machine: `systems.NAME.disk` of Flatcar. The program of the installation stands in: it refuses what
//! flatcar-install refuses, and writes no disk.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{
    client::get,
    is_nothing,
    site::{Running, Site},
    support::{self, firelay, succeed},
    text,
};

const SPEC: &str = "
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: far
kubernetes: { version: 1.36.4 }
endpoint: { host: api.example.com }
platform: metal
os: flatcar
delivery:
  pxe: { url: 'http://10.0.0.5:8080', matchbox: 'http://10.0.0.6:8080', systems: { flatcar: { disk: /dev/sda, image: flatcar } } }
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11], mac: '52:54:00:77:00:0b' }
";

const CP1: &str = "52-54-00-77-00-0b";

/// `-y` ends before the image is fetched; a disk that is not there, and an image that cannot be had, are refused.
const FLATCAR_INSTALL: &str = r#"#!/bin/sh
echo "flatcar-install $*" >>"$AT/record"
[ -e "$AT/disk" ] || { echo "Target block device (/dev/sda) is not a full disk." >&2; exit 1; }
[ "$1" != -y ] || { echo Settings:; exit 0; }
[ -e "$AT/image" ] || { echo "Image URL unavailable" >&2; exit 1; }
cp "$4" "$AT/installed.ign"
"#;

/// What a live system of a machine has: its kernel command line and its programs.
struct Live<'a> {
    site: &'a Site,
    server: &'a Running,
    who: &'a str,
}

impl Live<'_> {
    /// The live system after Ignition, which gets its document as often as it wants it.
    fn boot(&self) -> PathBuf {
        let at = self.site.at("live");
        fs::create_dir_all(&at).unwrap();
        let document = text(&get(self.server.http(), &format!("/m/{}/install.ign", self.who)));
        program(&at.join("install"), &script_of(self.site, &document));
        program(&at.join("flatcar-install"), FLATCAR_INSTALL);
        program(
            &at.join("systemctl"),
            "#!/bin/sh\necho \"systemctl $*\" >>\"$AT/record\"\n",
        );
        at
    }

    /// Runs the program of the unit, with this URL on the kernel command line.
    fn install(&self, url: &str) -> bool {
        let at = self.site.at("live");
        let url = url.replace("http://10.0.0.5:8080", &format!("http://{}", self.server.http()));
        fs::write(
            at.join("cmdline"),
            format!(
                "flatcar.first_boot=1 ignition.config.url={} quiet\n",
                url.replace("${who}", self.who)
            ),
        )
        .unwrap();
        let script = "mount --bind \"$AT/cmdline\" /proc/cmdline; mount -t tmpfs none /run; mkdir -p \"$AT/run\"; \
                      mkdir /run/firelay; mount --bind \"$AT/run\" /run/firelay; exec \"$AT/install\"";
        let mut live = Command::new("unshare");
        live.args(["--mount", "--propagation", "private", "bash", "-c", script]);
        let path = format!("{}:{}", at.display(), std::env::var("PATH").unwrap());
        live.env("AT", &at).env("PATH", path).status().unwrap().success()
    }

    fn record(&self) -> String {
        fs::read_to_string(self.site.at("live/record")).unwrap()
    }
}

fn program(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Renders the cluster, and gives the URL of the kernel command line.
fn rendered(site: &Site) -> String {
    fs::write(site.at("cluster.yaml"), SPEC).unwrap();
    let mut render = firelay(&["render", "--new-secrets"]);
    succeed(render.current_dir(site.at("")), "firelay");
    let script = fs::read_to_string(site.at(&format!("out/pxe/m/{CP1}/boot.ipxe"))).unwrap();
    let url = script
        .split_whitespace()
        .find_map(|word| word.strip_prefix("ignition.config.url="));
    url.unwrap_or_else(|| panic!("{script}")).to_owned()
}

/// The script in an Ignition document, after Ignition itself took the document.
fn script_of(site: &Site, document: &str) -> String {
    let path = site.at("install.ign");
    fs::write(&path, document).unwrap();
    assert_eq!(succeed(Command::new("ignition-validate").arg(&path), "ignition"), "");
    let value: Value = serde_json::from_str(document).unwrap();
    let unit = &value["systemd"]["units"][0];
    assert_eq!(
        (&unit["name"], &unit["enabled"]),
        (&"firelay-install.service".into(), &true.into())
    );
    let file = &value["storage"]["files"][0];
    assert_eq!(
        (&file["path"], &file["mode"]),
        (&"/opt/firelay/install".into(), &0o755.into())
    );
    let source = file["contents"]["source"].as_str().unwrap();
    String::from_utf8(support::data_url(source, None)).unwrap()
}

#[test]
fn the_document_goes_out_once_and_reaches_the_disk() {
    let site = Site::new();
    let url = rendered(&site);
    assert_eq!(url, "http://10.0.0.5:8080/m/${who}/install.ign");
    let server = site.serve_tree(&site.at("out"), &[]);
    let live = Live {
        site: &site,
        server: &server,
        who: CP1,
    };
    live.boot();
    let at = live.boot();
    let lint = ["--shell=bash", "--severity=style"];
    assert_eq!(
        succeed(
            Command::new("shellcheck").args(lint).arg(at.join("install")),
            "shellcheck"
        ),
        ""
    );
    // Without the disk the document is not requested; without the image it is kept.
    assert!(!live.install(&url));
    fs::write(at.join("disk"), "").unwrap();
    assert!(!live.install(&url));
    let own = format!("/m/{CP1}/config.ign");
    assert!(is_nothing(&get(server.http(), &own)));
    fs::write(at.join("image"), "").unwrap();
    assert!(live.install(&url));
    assert_eq!(
        fs::read(at.join("installed.ign")).unwrap(),
        fs::read(site.at("out/nodes/cp1/config.ign")).unwrap()
    );
    let last = "flatcar-install -d /dev/sda -i /run/firelay/config.ign -b http://10.0.0.5:8080/mirror/flatcar\nsystemctl reboot\n";
    assert!(live.record().ends_with(last), "{}", live.record());
    // A machine that boots from the network again gets no document, so its disk stays as it is.
    fs::remove_dir_all(at.join("run")).unwrap();
    assert!(!live.install(&url));
    assert!(
        live.record()
            .ends_with("systemctl reboot\nflatcar-install -y -d /dev/sda\n"),
        "{}",
        live.record()
    );
}

#[test]
fn matchbox_gives_the_installer_first_and_then_the_document() {
    let site = Site::new();
    rendered(&site);
    let file = |path: &str| fs::read(site.at("out/pxe/matchbox").join(path)).unwrap();
    let json = |path: &str| -> Value { serde_json::from_slice(&file(path)).unwrap() };
    let mac = "52:54:00:77:00:0b";
    let first = json("groups/cp1-install.json");
    assert_eq!(first["selector"], serde_json::json!({ "mac": mac }));
    let live = json("profiles/cp1-install.json");
    let argument = format!("ignition.config.url=http://10.0.0.6:8080/ignition?mac={CP1}");
    assert!(
        live["boot"]["args"].as_array().unwrap().contains(&argument.into()),
        "{live}"
    );
    assert_eq!(live["ignition_id"], "cp1-install.ign");
    let installer = String::from_utf8(file("ignition/cp1-install.ign")).unwrap();
    assert!(script_of(&site, &installer).contains("url+='&os=installed'"));
    // The installer asks for `os=installed`, which only the second group has.
    assert_eq!(
        json("groups/cp1.json")["selector"],
        serde_json::json!({ "mac": mac, "os": "installed" })
    );
    assert_eq!(json("profiles/cp1.json")["ignition_id"], "cp1.ign");
    assert_eq!(
        file("ignition/cp1.ign"),
        fs::read(site.at("out/nodes/cp1/config.ign")).unwrap()
    );
}

#[test]
fn a_token_leads_to_the_document_of_its_machine() {
    let site = Site::new();
    let url = rendered(&site);
    let (printed, _) = site.serve_tree(&site.at("out"), &["--tokens"]).stop();
    let token = printed.lines().find_map(|line| line.strip_prefix("cp1 ")).unwrap();
    let server = site.serve_tree(&site.at("out"), &["--tokens"]);
    let script = text(&get(server.http(), &format!("/m/{token}/boot.ipxe")));
    assert!(script.starts_with(&format!("#!ipxe\nset who {token}\n")), "{script}");
    let live = Live {
        site: &site,
        server: &server,
        who: token,
    };
    let at = live.boot();
    fs::write(at.join("disk"), "").unwrap();
    fs::write(at.join("image"), "").unwrap();
    assert!(live.install(&url));
    assert!(is_nothing(&get(server.http(), &format!("/m/{token}/config.ign"))));
}
