use super::*;

#[test]
fn passwords_are_hidden_in_every_form() {
    for (line, expected) in [
        (
            "login: { username: a, password: hunter2, x: 1 }",
            "login: { username: a, password: *******, x: 1 }",
        ),
        ("{ password: hunter2 }", "{ password: ******* }"),
        ("password: \"a, b\" # note", "password: ****** # note"),
        ("password: a, b # note", "password: **** # note"),
        ("\"password\" : x", "\"password\" : *"),
        ("password:", "password:"),
        ("a: https://u:p/w@h/x, b: y@z", "a: https://*****@h/x, b: y@z"),
        ("access.users[a].passwordHash=x y", "access.users[a].passwordHash=***"),
        ("a: { token: 'it''s', b: c }", "a: { token: *******, b: c }"),
        ("a: don't, password: x", "a: don't, password: *"),
    ] {
        assert_eq!(masked(line), expected);
        assert_eq!(veiled(line), expected);
    }
}

#[test]
fn texts_of_the_user_are_hidden_to_their_end() {
    let text = "\
files:
  - path: /etc/a
    content: |
      one
        two

      three: 3
    mode: \"0600\"
  - { path: /etc/b, content: \"x
      y\", mode: \"0644\" }
  - { path: /etc/c, content: z, mode: \"0644\" }
commands:
  first:
  - one
  - |
    two
  before: [three, 'four']
  after: five
    six
kubernetes: { version: 1.36.4 }
";
    let expected = "\
files:
  - path: /etc/a
    content: |
      ***
        ***

      ********
    mode: \"0600\"
  - { path: /etc/b, content: **
********, mode: \"0644\" }
  - { path: /etc/c, content: *, mode: \"0644\" }
commands:
  first:
  - ***
  - |
    ***
  before: ***************
  after: ****
    ***
kubernetes: { version: 1.36.4 }
";
    assert_eq!(veiled(text), expected);
}

#[test]
fn of_commands_and_data_keys_are_shown() {
    for (text, expected) in [
        (
            "commands: { first: [a], x: { y: z } }",
            "commands: { first: ***, x: ******** }",
        ),
        ("commands: [a, b]", "commands: ******"),
        ("commands:\n  - a\n", "commands:\n  - *\n"),
        (
            "merge: { stringData: { a: b }, kind: c }",
            "merge: { stringData: { a: * }, kind: c }",
        ),
        (
            "merge:\n  data:\n    a: b\n    c: |\n      d\n  kind: e\n",
            "merge:\n  data:\n    a: *\n    c: |\n      *\n  kind: e\n",
        ),
        (
            "Service: { Environment: A=b, Restart: no }",
            "Service: { Environment: ***, Restart: no }",
        ),
        (
            "Service:\n  Environment: [A=b]\n  Restart: no",
            "Service:\n  Environment: *****\n  Restart: no",
        ),
        (
            "extraEnvs: [{ name: A, value: b }]\nextraArgs: [{ name: c, value: d }]",
            "extraEnvs: [{ name: A, value: * }]\nextraArgs: [{ name: c, value: d }]",
        ),
        (
            "extraEnvs:\n- name: A\n  value: b\nx: { value: c }",
            "extraEnvs:\n- name: A\n  value: *\nx: { value: c }",
        ),
        (
            "json: [{ op: add, path: /stringData/a, value: b }]",
            "json: [{ op: add, path: /stringData/a, value: * }]",
        ),
    ] {
        assert_eq!(veiled(text), expected);
    }
}

#[test]
fn assignments_are_hidden_to_the_next() {
    let text = "files[/a].content=x\nA=y\nname=z\ncommands.first=[a]\nkubernetes.apiServer.extraEnvs[A].value=b";
    let expected = "files[/a].content=*\n***\nname=z\ncommands.first=***\nkubernetes.apiServer.extraEnvs[A].value=*";
    assert_eq!(veiled(text), expected);
}

#[test]
fn what_is_no_yaml_is_hidden_as_far_as_it_may_go() {
    assert_eq!(veiled("content: [a,\n  b\nname: c: d"), "content: ***\n  *\nname: c: d");
    assert_eq!(veiled("content: \"a\n  b\n"), "content: **\n  *\n");
    assert_eq!(veiled("\u{fffc}\u{10594}':"), "\u{fffc}\u{10594}':");
    assert_eq!(veiled("commands:\n\tfirst: a: b"), "commands:\n\tfirst: ****");
}

#[test]
fn in_a_rendered_file_content_is_a_word() {
    let text = "data: { content: a }\nuser: { token: b }\nextraEnvs: [{ value: c }]\n";
    assert_eq!(
        masked(text),
        "data: { content: a }\nuser: { token: * }\nextraEnvs: [{ value: * }]\n"
    );
    assert!(is_secret(&["users", "0", "user", "token"]));
    assert!(is_secret(&["apiServer", "extraEnvs", "0", "value"]));
    assert!(is_secret(&["stringData", "a"]));
    assert!(!is_secret(&["apiServer", "extraArgs", "0", "value"]));
}

#[test]
fn below_a_login_and_a_client_certificate_all_is_hidden() {
    for (text, expected) in [
        (
            "auth: { username: a, password: hunter2, x: 1 }",
            "auth: { username: *, password: *******, x: * }",
        ),
        ("- auth: \"u:hunter2\"\n  url: x", "- auth: ***********\n  url: x"),
        ("auth: hunter2 # a\nurl: x", "auth: ******* # a\nurl: x"),
        (
            "auth:\n  - u: hunter2\n  - hunter3\nurl: x",
            "auth:\n  - u: *******\n  - *******\nurl: x",
        ),
        (
            "{ url: x, client: {certificate: nope, key: \"-----BEGIN X-----\\nhunter2\"} }",
            "{ url: x, client: {certificate: ****, key: ****************************} }",
        ),
        (
            "client:\n  certificate: a\n  key: |\n    b\nurl: x",
            "client:\n  certificate: *\n  key: |\n    *\nurl: x",
        ),
        (
            "r[x].client={certificate: x, key: hunter2}\nurl=x",
            "r[x].client=******************************\nurl=x",
        ),
        ("r[x].client.key=hunter2", "r[x].client.key=*******"),
        ("r[x].auth=u:hunter2", "r[x].auth=*********"),
        // What is below the headers is hidden, their names are not.
        (
            "auth: { headers: { X-A: b }, query: c }",
            "auth: { headers: { X-A: * }, query: * }",
        ),
        (
            "auth:\n  headers:\n    X-A: b\n  query: c",
            "auth:\n  headers:\n    X-A: *\n  query: *",
        ),
    ] {
        assert_eq!(veiled(text), expected);
    }
    assert_eq!(masked("client: { certificate: a }"), "client: { certificate: a }");
    assert!(!is_secret(&["client", "certificate"]));
}

#[test]
fn keys_are_hidden_by_how_they_look() {
    let line = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+/Ab";
    let stars = "*".repeat(line.len());
    for (text, expected) in [
        (
            format!("key: |\n-----BEGIN EC PRIVATE KEY-----\n{line}\nAb12==\n-----END EC PRIVATE KEY-----\nurl: x"),
            format!("key: |\n-----BEGIN EC PRIVATE KEY-----\n{stars}\n******\n-----END EC PRIVATE KEY-----\nurl: x"),
        ),
        (
            "a: \"-----BEGIN KEY-----\\nhunter2\\n-----END KEY-----\\n\", b: c".to_owned(),
            "a: \"-----BEGIN KEY-----***********-----END KEY-----\\n\", b: c".to_owned(),
        ),
        // Without an end, or with half a mark.
        (
            "-----BEGIN KEY-----\n  hunter2\n  Ab/+=\nurl: x".to_owned(),
            "-----BEGIN KEY-----\n*********\n*******\nurl: x".to_owned(),
        ),
        (
            "-----BEGIN KEY---hunter2\nurl: x".to_owned(),
            "-----BEGIN**************\nurl: x".to_owned(),
        ),
        (
            "-----BEGIN A-----\na: b\n-----BEGIN B-----\nc: d\n-----END B-----".to_owned(),
            "-----BEGIN A-----\na: b\n-----BEGIN B-----\n****\n-----END B-----".to_owned(),
        ),
        (format!("  {line}\n"), format!("  {stars}\n")),
        (format!("- \"{line}\\n\"\r\n"), format!("- \"{stars}\\n\"\r\n")),
    ] {
        assert_eq!(veiled(&text), expected);
        assert_eq!(masked(&text), expected);
    }
}

#[test]
fn passwords_before_a_host_are_hidden() {
    for (line, expected) in [
        ("mirror: u:hunter2@h/x", "mirror: *********@h/x"),
        ("{mirror: \"u:hun@ter2@h/x\"}", "{mirror: \"**********@h/x\"}"),
        ("artifacts.mirror=u:hun=ter2@h/x", "artifacts.mirror=**********@h/x"),
        ("- url: //u:hunter2@h/x", "- url: //*********@h/x"),
        ("mirror: https://u:hunter2 @h/x", "mirror: https://**********@h/x"),
        ("mirror: https://u:hun ter2@h/x", "mirror: https://**********@h/x"),
        ("mirror: https://u:123 @h/x", "mirror: https://******@h/x"),
    ] {
        assert_eq!(veiled(line), expected);
        assert_eq!(masked(line), expected);
    }
}

#[test]
fn what_only_resembles_a_secret_is_shown() {
    for line in [
        "image: registry.example.com:5000/a/b:1.2@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "- ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPh4Se8Mzv34rkyVs2FEMnnx3wuU9T me@desk",
        "- /usr/local/share/firelay/manifests/of/mine/alone",
        "mirror: http://h:8080/x, mail: me@example.com",
        "- git@example.com:me/cluster",
        "url: https://example.com:8443/a # ask me@example.com",
        "\u{a0}@",
        "kubernetes: { version: 1.36.4 }",
    ] {
        assert_eq!(veiled(line), line);
    }
}
