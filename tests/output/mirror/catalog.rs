//! `catalog update` against a server with files of checksums in each project's own form, and against tables of Kubespray and kops.

use std::{fs, path::Path};

use super::site::{Page, Site};
use crate::support::{self, firelay};

const VERSION: &str = "1.36.99";

/// The user's own profiles, whose catalog names the server of this test.
struct Own {
    site: Site,
    directory: tempfile::TempDir,
}

fn sum(digit: char) -> String {
    digit.to_string().repeat(64)
}

impl Own {
    fn new() -> Self {
        let site = Site::plain();
        let directory = tempfile::tempdir().unwrap();
        let names = ["kubeadm", "kubectl", "kubelet"];
        let binaries = names.map(|name| {
            format!(
                "\"{name}\":{{\"checksums\":\"{}/v{{version}}/{{arch}}/{name}.sha256\"}}",
                site.url
            )
        });
        let rest = format!(
            "\"runc\":{{\"checksums\":\"{0}/runc.sha256sum\"}},\"etcd\":{{\"checksums\":\"{0}/SHA256SUMS\"}},\"gvisor\":{{\"checksums\":\"{0}/{{machine}}/gvisor.tar.bz2.sha512\"}}",
            site.url
        );
        fs::create_dir(directory.path().join("own")).unwrap();
        fs::write(
            directory.path().join("own/catalog.yaml"),
            format!("{{\"artifacts\":{{{},{rest}}}}}\n", binaries.join(",")),
        )
        .unwrap();
        for (at, name) in names.iter().enumerate() {
            for arch in ["amd64", "arm64"] {
                let text = sum(char::from(b'1' + u8::try_from(at).unwrap()));
                site.page(&format!("/v{VERSION}/{arch}/{name}.sha256"), &text);
            }
        }
        Self { site, directory }
    }

    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = firelay(&["catalog", "update"]);
        let done = command
            .args(arguments)
            .args(["--profiles", "own"])
            .current_dir(self.directory.path())
            .output()
            .unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code().unwrap(), String::from_utf8(said).unwrap())
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.directory.path().join(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.directory.path().join(path), text).unwrap();
    }
}

impl Site {
    fn page(&self, path: &str, text: &str) {
        let page = Page {
            bytes: text.as_bytes().to_vec(),
            ..Page::default()
        };
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }
}

/// A release that came after firelay renders documents as any other.
#[test]
fn a_new_release_of_kubernetes_is_added_and_rendered() {
    let own = Own::new();
    let kubernetes = format!("kubernetes={VERSION}");
    let (code, said) = own.run(&[&kubernetes]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("wrote own: give --profiles own to the other verbs"),
        "{said}"
    );
    let catalog = own.read("own/catalog.yaml");
    for arch in ["amd64", "arm64"] {
        let source = format!("{}/v{VERSION}/{arch}/kubelet.sha256, 20", own.site.url);
        assert!(catalog.contains(&source), "{catalog}");
    }
    let out = own.directory.path().join("out");
    let mut render = firelay(&[
        "render",
        "--new-secrets",
        "--profiles",
        "own",
        "--secrets",
        "secrets.yaml",
    ]);
    render.arg(support::example("ha-ubuntu").spec).arg("--out").arg(&out);
    render.args([
        "--state",
        "state.yaml",
        "--set",
        &format!("kubernetes.version={VERSION}"),
    ]);
    support::succeed(render.current_dir(own.directory.path()), "firelay");
    let files = &support::read_tree(&out)["worker-1"];
    let artifacts = &files["/etc/firelay/artifacts"].1;
    assert!(
        artifacts.contains(&format!(
            "kubelet {} binary https://dl.k8s.io/release/v{VERSION}/bin/linux/amd64/kubelet",
            sum('3')
        )),
        "{artifacts}"
    );
    // A second run finds nothing new, and a digest that changed is refused.
    let (code, said) = own.run(&[&kubernetes]);
    assert!(code == 0 && said.ends_with("nothing is new\n"), "{said}");
    assert_eq!(own.read("own/catalog.yaml"), catalog);
    own.site.page(&format!("/v{VERSION}/amd64/kubelet.sha256"), &sum('f'));
    let (code, said) = own.run(&[&kubernetes]);
    assert!(
        code == 1
            && said.contains(&format!("the catalog has {}", sum('3')))
            && said.contains("one of them was changed"),
        "{said}"
    );
    assert_eq!(own.read("own/catalog.yaml"), catalog);
}

#[test]
fn files_of_checksums_are_read_as_projects_write_them() {
    let own = Own::new();
    let runc = format!(
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{}  runc.amd64\n{}  runc.arm64\n",
        sum('a'),
        sum('b')
    );
    own.site.page("/runc.sha256sum", &runc);
    let etcd = format!(
        "{}  etcd-v3.6.99-linux-amd64.tar.gz\n{}  etcd-v3.6.99-linux-arm64.tar.gz\n",
        sum('c'),
        sum('d')
    );
    own.site.page("/SHA256SUMS", &etcd);
    for (machine, digit) in [("x86_64", 'e'), ("aarch64", 'f')] {
        let text = format!("{}{}  gvisor.tar.bz2\n", sum(digit), sum(digit));
        own.site.page(&format!("/{machine}/gvisor.tar.bz2.sha512"), &text);
    }
    let (code, said) = own.run(&["runc=1.4.99", "etcd=v3.6.99", "gvisor=20990101.0.0", "--output", "json"]);
    assert_eq!(code, 0, "{said}");
    let found: serde_json::Value = serde_json::from_str(&said).unwrap();
    let digests: Vec<_> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|own| {
            let algorithm = if own["name"] == "gvisor" { "sha512" } else { "sha256" };
            own[algorithm].as_str().unwrap()[..1].to_owned()
        })
        .collect();
    assert_eq!(digests, ["a", "b", "c", "d", "e", "f"]);
}

/// The digests of firelay's own catalog are those tables', as Kubespray and kops publish them.
#[test]
fn tables_of_kubespray_and_kops_are_read_without_network() {
    let own = Own::new();
    let sum = sum('e');
    let mut kubespray = "---\ncrictl_checksums:\n  amd64:\n    1.36.9: sha256:abc\n".to_owned();
    for name in ["kubeadm", "kubectl", "kubelet"] {
        kubespray += &format!(
            "{name}_checksums:\n  arm64:\n    {VERSION}: sha256:{sum}\n  amd64:\n    {VERSION}: sha256:{sum}\n"
        );
    }
    own.write("checksums.yml", &kubespray);
    let (code, said) = own.run(&[&format!("kubernetes={VERSION}"), "--from", "checksums.yml"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = own.run(&["crictl=1.36.9", "--from", "checksums.yml"]);
    assert!(
        code == 1 && said.contains("crictl 1.36.9 for amd64: checksums.yml does not have it"),
        "{said}"
    );
    let kops = format!(
        "filestores:\n- base: https://github.com/containerd/containerd/releases/download/\nfiles:\n\
         - name: v2.3.99/containerd-2.3.99-linux-amd64.tar.gz\n  sha256: {sum}\n"
    );
    own.write("kops.yaml", &kops);
    let (code, said) = own.run(&["containerd=2.3.99", "--from", "kops.yaml", "--arch", "amd64"]);
    assert_eq!(code, 0, "{said}");
    assert!(own.read("own/catalog.yaml").contains("2.3.99"), "{said}");
}

#[test]
fn wrong_input_is_said_and_nothing_is_written() {
    let own = Own::new();
    own.write("table.yaml", "a: b\n");
    let before = own.read("own/catalog.yaml");
    for (arguments, code, message) in [
        (&["kubelet"][..], 2, "kubelet is no release: write NAME=VERSION"),
        (
            &["kubelt=1.36.9"],
            2,
            "the catalog has no kubelt\n  = help: it has kubernetes, cni-plugins,",
        ),
        (&["kubernetes=1.99.0"], 2, "firelay has no profile of Kubernetes 1.99"),
        (&["kubernetes=1.36.98"], 1, "the server answers 404"),
        (
            &["kubelet=1.36.9", "--from", "table.yaml"],
            2,
            "table.yaml is neither Kubespray's checksums.yml nor asset data of kops",
        ),
        (
            &["kubelet=1.36.9", "--from", "missing.yaml"],
            1,
            "cannot read missing.yaml",
        ),
        (&["kubelet=1.36.9", "--arch", "mips"], 2, "amd64 or arm64"),
        (&[], 2, "NAME=VERSION"),
    ] {
        let (ended, said) = own.run(arguments);
        assert!(ended == code && said.contains(message), "{arguments:?}: {ended} {said}");
    }
    let mut in_new = firelay(&["catalog", "update", "kubelt=1.36.9", "--profiles", "new"]);
    let done = in_new.current_dir(own.directory.path()).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(!own.directory.path().join("new").exists());
    own.site.page("/runc.sha256sum", "<html>rate limited</html>");
    let (code, said) = own.run(&["runc=1.4.99"]);
    assert!(
        code == 1
            && said.contains("/runc.sha256sum has no digest of runc.amd64")
            && said.contains("nothing was written"),
        "{said}"
    );
    assert_eq!(own.read("own/catalog.yaml"), before);
    assert!(!Path::new(&own.directory.path().join("own/kubernetes")).exists());
    own.write("own/catalog.yaml", &format!("# mine\n{before}"));
    let (code, said) = own.run(&[&format!("kubernetes={VERSION}")]);
    assert!(
        code == 2 && said.contains("own/catalog.yaml:1 is a comment, which would be lost"),
        "{said}"
    );
}
