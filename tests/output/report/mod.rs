//! The page of `report` and the drawing of `graph` in a real browser: text is drawn and nothing overlaps, the filter works, dark
//! mode and narrow screens work, and the page loads nothing.

mod browser;
mod refused;
mod serve;

use std::{fs, path::Path};

use serde_json::{Value, json};

use self::browser::Browser;
use super::support::{self, example, firelay, said};

/// Overlapping texts, texts that leave their box or the picture, and arrows across texts, of all drawings.
const OVERLAPS: &str = r#"
const faults = [];
const touch = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
// Of two drawings of the cluster, one is for narrow windows. Every drawing is inside the window.
const drawn = [...document.querySelectorAll("svg.drawing, svg:root")].filter((svg) => svg.getBoundingClientRect().width > 0);
if (drawn.length !== 1) faults.push(`${drawn.length} drawings`);
for (const svg of drawn) {
  const whole = svg.getBoundingClientRect();
  if (svg.classList.contains("narrow") ? whole.right > innerWidth : svg.classList.contains("broad") && innerWidth < 700) faults.push("wider than the window");
  const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect(), text]);
  if (texts.length < 5) faults.push("too few texts");
  const boxes = [...svg.querySelectorAll("rect[rx]")].map((box) => box.getBoundingClientRect());
  texts.forEach(([one, at, text], number) => {
    const size = parseFloat(getComputedStyle(text).fontSize) * whole.width / svg.viewBox.baseVal.width;
    if (at.width < one.trim().length * size * 0.4) faults.push(`not drawn: ${one}`);
    if (svg.classList.contains("drawing") && one.endsWith("…")) faults.push(`cut: ${one}`);
    if (at.left < whole.left || at.right > whole.right + 0.5 || at.bottom > whole.bottom + 0.5) faults.push(`outside: ${one}`);
    for (const [other, place] of texts.slice(number + 1)) if (touch(at, place)) faults.push(`${one} / ${other}`);
    const inside = boxes.filter((box) => touch({ left: at.left, right: at.left + 2, top: at.top, bottom: at.bottom }, box));
    for (const box of inside) if (at.right > box.right + 0.5 || at.bottom > box.bottom + 0.5) faults.push(`leaves its box: ${one}`);
    if (svg.classList.contains("drawing")) for (const arrow of svg.querySelectorAll("path.arrow"))
      if (touch(at, arrow.getBoundingClientRect())) faults.push(`arrow across: ${one}`);
  });
}
return faults;
"#;

/// Labels of bars and axes that leave their piece or the picture, or touch each other.
const LABELS: &str = r#"
const faults = [];
for (const svg of document.querySelectorAll("svg.bar, svg.axis")) {
  const whole = svg.getBoundingClientRect();
  let end = -Infinity;
  if (whole.width === 0 || svg.closest("thead") && innerWidth < 700) continue;
  for (const text of svg.querySelectorAll("text")) {
    const at = text.getBoundingClientRect();
    const piece = svg.classList.contains("axis") ? whole : text.previousElementSibling.getBoundingClientRect();
    if (at.width === 0 || at.left < piece.left - 0.5 || at.right > piece.right + 0.5 || at.left < end + 2) faults.push(text.textContent);
    end = at.right;
  }
}
return document.querySelector("svg.axis text") && document.querySelector("svg.bar text") ? faults : ["no labels"];
"#;

/// Pairs of text and ground that are hard to read: WCAG 2.2, 1.4.3.
const CONTRAST: &str = r#"
const channel = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const light = (color) => {
  const [r, g, b] = color.match(/[\d.]+/g).map((value) => channel(Number(value) / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = getComputedStyle(at).backgroundColor;
    if (color !== "rgba(0, 0, 0, 0)") return color;
  }
  return "rgb(255, 255, 255)";
};
const faults = [];
for (const element of document.querySelectorAll("body *:not(svg *):not(script)")) {
  if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) || !element.checkVisibility()) continue;
  const [one, other] = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => b - a);
  const ratio = (one + 0.05) / (other + 0.05);
  if (ratio < 4.5) faults.push(`${element.className} ${element.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
}
return faults;
"#;

/// Parts of the page that are wider than the screen, or cut off.
const OVERFLOW: &str = r#"
const faults = [];
if (document.documentElement.scrollWidth > innerWidth) faults.push(`${document.documentElement.scrollWidth} of ${innerWidth}`);
for (const element of document.querySelectorAll("h1, h2, h3, p, li, td, th, dd, dt, caption, label, summary")) {
  const at = element.getBoundingClientRect();
  if (element.closest(".scroll, [hidden], thead") || at.width === 0) continue;
  if (at.right > innerWidth + 0.5) faults.push(`${element.tagName} ${element.textContent.trim().slice(0, 40)}`);
}
return faults;
"#;

/// Words of tiles that are broken where nobody would write a hyphen.
const BROKEN_WORDS: &str = r#"
const faults = [];
const texts = document.createTreeWalker(document.querySelector(".facts"), NodeFilter.SHOW_TEXT);
for (let node = texts.nextNode(); node; node = texts.nextNode())
  for (const word of node.textContent.matchAll(/[^\s-]+/g)) {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    if (range.getClientRects().length > 1) faults.push(word[0]);
  }
return faults;
"#;

const NOTHING: [&str; 0] = [];

/// A page of an example's spec or tree.
fn page(name: &str, arguments: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let example = example(name);
    example.lay_folder(directory.path());
    fs::copy(&example.spec, directory.path().join("cluster.yaml")).unwrap();
    example.lay_bundle(&directory.path().join("firelay.secrets.yaml"));
    let mut command = firelay(&[&["report", "--out", "page.html"], arguments].concat());
    let output = command.current_dir(directory.path()).output().unwrap();
    assert!(output.status.success(), "{name}: {}", said(&output));
    directory
}

fn open(browser: &Browser, directory: &Path) {
    browser.open(&format!("file://{}", directory.join("page.html").display()));
}

fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect()
}

#[test]
fn every_picture_of_a_cluster_is_drawn_and_nothing_overlaps() {
    let browser = Browser::start();
    for example in support::examples() {
        let directory = page(&example.name, &[support::rendered(&example.name).to_str().unwrap()]);
        open(&browser, directory.path());
        for probe in [OVERLAPS, LABELS, OVERFLOW] {
            assert_eq!(strings(&browser.run(probe)), NOTHING, "{}", example.name);
        }
    }
}

#[test]
fn the_probe_sees_what_it_is_for() {
    let browser = Browser::start();
    let directory = page("ha-ubuntu", &[support::rendered("ha-ubuntu").to_str().unwrap()]);
    for (change, found) in [
        ("texts[1].setAttribute('y', texts[0].getAttribute('y'))", " / "),
        ("texts[0].textContent = 'x'.repeat(200)", "leaves its box"),
        ("texts[0].setAttribute('x', -50)", "outside"),
        ("texts[0].setAttribute('display', 'none')", "not drawn"),
    ] {
        open(&browser, directory.path());
        browser.run(&format!(
            "const texts = document.querySelectorAll('.drawing text'); {change}"
        ));
        let faults = browser.run(OVERLAPS);
        assert!(
            strings(&faults).iter().any(|fault| fault.contains(found)),
            "{change}: {faults}"
        );
    }
    open(&browser, directory.path());
    browser.run(
        "document.querySelector('.facts').style.width = '3000px'; document.querySelector('h1').style.color = '#bbb'",
    );
    assert_ne!(strings(&browser.run(OVERFLOW)), NOTHING);
    browser.run("document.querySelector('.bar text').textContent = 'x'.repeat(99)");
    assert_ne!(strings(&browser.run(LABELS)), NOTHING);
    assert_ne!(strings(&browser.run(CONTRAST)), NOTHING);
    open(&browser, directory.path());
    browser.run("document.querySelector('.drawing text').textContent += '…'; document.querySelector('.facts').style.width = '8rem'; document.querySelector('.facts a').textContent = 'kube'.repeat(9)");
    assert_ne!(strings(&browser.run(OVERLAPS)), NOTHING);
    assert_ne!(strings(&browser.run(BROKEN_WORDS)), NOTHING);
}

#[test]
fn every_drawing_of_the_boot_order_is_drawn_and_nothing_overlaps() {
    let browser = Browser::start();
    let folder = support::golden::folder().join("graph");
    let drawings = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let drawings =
        drawings.chain(["first-boot.svg", "first-boot-steps.svg"].map(|name| support::root().join("docs").join(name)));
    for drawing in drawings.filter(|path| path.extension().is_some_and(|end| end == "svg")) {
        browser.open(&format!("file://{}", drawing.display()));
        assert_eq!(strings(&browser.run(OVERLAPS)), NOTHING, "{}", drawing.display());
    }
}

#[test]
fn the_page_works_light_and_dark_wide_and_narrow_and_in_print() {
    let browser = Browser::start();
    let directory = page("external-etcd", &[]);
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        for width in [360, 720, 1200] {
            browser.width(width);
            open(&browser, directory.path());
            let place = format!("{scheme} {width}");
            assert_eq!(browser.run("return innerWidth"), json!(width), "{place}");
            for probe in [OVERLAPS, LABELS, CONTRAST, OVERFLOW, BROKEN_WORDS] {
                assert_eq!(strings(&browser.run(probe)), NOTHING, "{place}");
            }
        }
        grounds.push(browser.run("return getComputedStyle(document.body).backgroundColor"));
    }
    assert_eq!(grounds, ["rgb(255, 255, 255)", "rgb(20, 24, 29)"]);
    browser.scheme("light");
    let closed = "return [...document.querySelectorAll('details')].filter((part) => !part.open).length";
    assert_eq!(browser.run(closed), 2);
    assert!(browser.print().starts_with("JVBERi"), "a PDF");
    assert_eq!(browser.run(closed), 0, "print shows everything");
}

#[test]
fn the_filter_finds_machines_in_ranges() {
    let browser = Browser::start();
    let directory = page("ha-ubuntu", &[]);
    open(&browser, directory.path());
    let shown = |text: &str| {
        let script = format!(
            "const field = document.getElementById('filter'); field.value = {text:?}; field.dispatchEvent(new Event('input'));
             return [...document.querySelectorAll('#cluster tbody [data-names]:not([data-names=\"\"])')].map((row) => row.checkVisibility())"
        );
        browser.run(&script)
    };
    assert_eq!(shown(""), json!([true, true]));
    assert_eq!(shown("worker-2"), json!([false, true]), "worker-1..3 has it");
    assert_eq!(shown("worker-4"), json!([false, false]));
    assert_eq!(shown("control-PLANE"), json!([true, false]));
    let told = browser.run("return document.getElementById('count').textContent");
    let (found, all) = told.as_str().unwrap().split_once(" of ").unwrap();
    assert!(found.parse::<usize>().unwrap() >= 1 && all.ends_with(" rows"), "{told}");
    assert_eq!(shown(""), json!([true, true]));
}

#[test]
fn keyboard_and_screen_reader_reach_everything() {
    let browser = Browser::start();
    let directory = page("ha-ubuntu", &[]);
    open(&browser, directory.path());
    browser.press_tab();
    let focused = "const at = document.activeElement; return [at.className, at.getBoundingClientRect().left >= 0, getComputedStyle(at).outlineStyle]";
    assert_eq!(browser.run(focused), json!(["skip", true, "solid"]));
    browser.press_tab();
    let link = "const at = document.activeElement; return [at.hash, getComputedStyle(at).outlineStyle]";
    assert_eq!(browser.run(link), json!(["#cluster", "solid"]));
    let nodes = browser.accessibility();
    let of = |role: &str| {
        nodes
            .iter()
            .filter(|(own, _)| own == role)
            .map(|(_, name)| name.as_str())
            .collect::<Vec<_>>()
    };
    for role in ["banner", "navigation", "main", "search", "contentinfo", "searchbox"] {
        assert_eq!(of(role).len(), 1, "{role}");
    }
    for role in ["table", "image", "region", "link", "heading", "searchbox"] {
        let names = of(role);
        assert!(
            !names.is_empty() && names.iter().all(|name| !name.is_empty()),
            "{role}: {names:?}"
        );
    }
}

#[test]
fn the_page_loads_nothing_and_runs_no_other_script() {
    let browser = Browser::start();
    let directory = page("mixed", &[]);
    let path = directory.path().join("page.html");
    let text = fs::read_to_string(&path).unwrap();
    for loading in ["src=", "href=\"http", "url(http", "@import", "<link", "<iframe"] {
        assert!(!text.contains(loading), "{loading}");
    }
    open(&browser, directory.path());
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length"), 0);
    assert_eq!(
        browser.run("return document.getElementById('search').hidden"),
        false,
        "its own script runs"
    );
    let foreign = text.replace("</main>", "<script>document.title = 'foreign'</script></main>");
    fs::write(
        &path,
        foreign.replace("<main ", "<main onclick=\"1\" style=\"display:none\" "),
    )
    .unwrap();
    open(&browser, directory.path());
    assert_eq!(browser.run("return document.title"), "mixed: firelay report");
    assert_eq!(
        browser.run("return getComputedStyle(document.querySelector('main')).display"),
        "block"
    );
}
