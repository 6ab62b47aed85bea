//! Documents in the form that the spec wants, whatever their platform's own form.

use std::fs;

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    client::get,
    site::Site,
    support::{firelay, succeed},
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
  form: pointer
  pointer: { base: https://files.example.com/a }
  pxe: { url: 'http://10.0.0.5:8080', matchbox: 'http://10.0.0.6:8080', systems: { flatcar: { arguments: [root=LABEL=ROOT] } } }
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11], mac: '52:54:00:77:00:0b' }
  - { name: n1, roles: [worker], addresses: [10.0.0.21], mac: '52:54:00:77:00:15', os: debian-13, platform: nutanix }
  - { name: v1, roles: [worker], addresses: [10.0.0.22], mac: '52:54:00:77:00:16', platform: vsphere }
";

#[test]
fn who_is_to_get_a_pointer_gets_no_more() {
    let site = Site::new();
    fs::write(site.at("cluster.yaml"), SPEC).unwrap();
    let mut render = firelay(&["render", "--new-secrets"]);
    succeed(render.current_dir(site.at("")), "firelay");
    let file = |path: &str| fs::read(site.at("out").join(path)).unwrap();
    let cp1 = file("nodes/cp1/config.ign.pointer");
    assert_eq!(file("pxe/matchbox/ignition/cp1.ign"), cp1);
    let server = site.serve_tree(&site.at("out"), &[]);
    let served = |path: &str| get(server.http(), path).body;
    assert_eq!(served("/m/52-54-00-77-00-0b/config.ign"), cp1);
    let n1 = STANDARD.decode(file("nodes/n1/user-data.pointer.b64")).unwrap();
    assert_eq!(served("/m/52-54-00-77-00-15/user-data"), n1);
    let v1 = STANDARD.decode(file("nodes/v1/config.ign.pointer.gz.b64")).unwrap();
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&v1[..]), &mut text).unwrap();
    assert_eq!(served("/m/52-54-00-77-00-16/config.ign"), text);
    for (stub, path) in [(cp1, "cp1/config.ign"), (n1, "n1/user-data"), (text, "v1/config.ign")] {
        assert!(stub.len() * 3 < file(&format!("nodes/{path}")).len(), "{path}");
    }
}
