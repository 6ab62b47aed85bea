use super::*;

#[test]
fn passwords_are_hidden_in_every_form() {
    for (line, expected) in [
        (
            "auth: { username: a, password: hunter2, x: 1 }",
            "auth: { username: a, password: *******, x: 1 }",
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
