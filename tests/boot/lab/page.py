"""Commands of a page of the handbook, run by a story: the page and the story cannot part."""

import re

from . import ROOT


def blocks(page, title):
    """The commands of a section's code blocks, without comments."""
    text = (ROOT / "docs" / page).read_text()
    section = re.search(rf"(?ms)^##+ {re.escape(title)}\n(.*?)(?=^##+ |\Z)", text)
    assert section, f"docs/{page} has no section {title}"
    found = re.findall(r"(?ms)^```sh\n(.*?)^```", section.group(1))
    return [[line for line in re.sub(r" +#.*", "", block).splitlines() if line and not line.startswith("#")] for block in found]


def follow(lab, page, title, number, through, lines=slice(None)):
    """Runs a block, or some lines of it: `firelay` here, `kubectl` on the machine `through`, and `ssh NAME sudo` on that machine."""
    for line in blocks(page, title)[number][lines]:
        line = line.replace("worker-", "w")
        lab.say(f"{page}: {line}")
        words = line.split()
        if words[0] == "firelay":
            lab.firelay(*words[1:])
        elif words[0] == "kubectl":
            through.check(f"KUBECONFIG=/etc/kubernetes/admin.conf {line}")
        elif words[0] == "ssh":
            assert words[2] == "sudo", line
            machine, command = lab.machines[words[1]], " ".join(words[3:])
            if words[3] == "firelay-status":
                # An operator looks until all is well.
                lab.until(lambda: machine.sh(command)[0] == 0, f"success of {command} on {words[1]}", 300)
            else:
                machine.check(command)
        else:
            raise AssertionError(f"docs/{page}: who runs {line!r}?")
