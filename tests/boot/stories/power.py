"""Power cuts inside every step and after every mark, one after the other on the same disk: founder, joining control plane, worker, etcd member."""

import concurrent.futures
import os
import re
import time

from lab.cluster import clusters, members, settled

SCENARIOS = ["founder", "etcd", "join", "worker", "whole"]
# Seconds into a step. Tests cut only at the first of them, `--thorough` at all.
MOMENTS = (1.5, 0.3, 4, 0.8, 9)[: int(os.environ.get("FIRELAY_LAB_MOMENTS", "1"))]
PLACES = "/etc/kubernetes /etc/firelay /etc/etcd /etc/containerd /etc/systemd/system /var/lib/kubelet /var/lib/firelay/*.* /usr/local"
# Marks are empty files, and so is the list of image archives.
EMPTY = f"find {PLACES} -type f -empty -not -name '*.done' -not -name images 2>/dev/null"


def tell(lab):
    lab.render(lab.spec(["cp3", "w2", "etcd1"]), secrets="others.secrets.yaml", out="others")
    cp1, cp2, _, w1 = lab.cluster(["cp1", "cp2", "cp3", "w1"])
    etcd1 = lab.machine("etcd1")
    etcd1.document = lab.directory / "others/nodes/etcd1"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        both(pool.submit(cut_through, lab, "founder", cp1), pool.submit(cut_through, lab, "etcd", etcd1))
        etcd1.cut()
        both(pool.submit(cut_through, lab, "join", cp2), pool.submit(cut_through, lab, "worker", w1))
    with lab.scenario("whole", "after all cuts there is one cluster, and a last boot of every machine finds it complete"):
        for machine in (cp1, cp2, w1):
            machine.again()
        for machine in (cp1, cp2, w1):
            settled(machine, rebooted=True)
            assert not machine.lines(), machine.lines()
        lab.until(lambda: members(cp1) == ["cp1", "cp2"], "two voting members", 120)
        assert len(clusters([cp1, cp2])) == 1


def both(*stories):
    for story in stories:
        story.result()


def cut_through(lab, number, machine):
    """Makes each cut once, on the way that remains after the last cut; then the machine must become ready."""
    with lab.scenario(number, f"{machine.name}: a power cut after each mark and inside each step; it converges, and no file is empty"):
        done = set()
        machine.boot(delay=1)
        while cut := next_cut(machine, done):
            lab.say(f"{machine.name}: {cut[0]}, {cut[1]}")
            machine.again(delay=1)
        lab.until(lambda: complete(machine), f"the end of {machine.name}'s chain", 600)
        found = machine.sh(EMPTY)[1]
        assert not found, f"{machine.name} has empty files: {found}"
        lab.say(f"{machine.name}: {len(done)} moments: {'; '.join(sorted(f'{step} {moment}' for step, moment in done))}")


def next_cut(machine, done):
    """Waits for the next cut that this machine has not had yet. None after the last."""
    begun = time.monotonic()
    end, quiet, at = begun + 900, begun + 30, 0
    while ("end", "after its mark") not in done:
        assert time.monotonic() < end, f"{machine.name}: no further step in 900 s: {machine.console()[-2000:]}"
        lines = steps(machine)
        if at == len(lines):
            time.sleep(0.05)
            # On a busy host the last cut comes after the end of the chain, which prints nothing at the next boot.
            if not lines and time.monotonic() > quiet:
                if complete(machine):
                    return None
                quiet += 10
            continue
        step = lines[at]
        for moment in ("after the mark before it", *MOMENTS) if step != "end" else ["after its mark"]:
            if (step, moment) not in done:
                done.add((step, moment))
                if not isinstance(moment, float | int) or lasts(machine, at, moment):
                    return step, moment if isinstance(moment, str) else f"{moment} s into it"
        at += 1
    return None


def complete(machine):
    return machine.sh("test -e /var/lib/firelay/complete")[0] == 0


def steps(machine):
    """The steps in the console output, in order; `end` is the report of a ready node."""
    found = re.findall(r"firelay: node=\S+ step=(\S+) state=(running|ready)", machine.console())
    return ["end" if state == "ready" else step for step, state in found]


def lasts(machine, at, seconds):
    """Whether the step still runs after this time. Returns at once when it ends earlier, so that the next cut is in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if len(steps(machine)) > at + 1:
            return False
        time.sleep(0.05)
    return len(steps(machine)) == at + 1
