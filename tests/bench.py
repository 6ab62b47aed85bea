"""The measurements of tests/bench. `user + system` is the time of all cores together, and hardly depends on what else runs.

Each call runs several times. The fastest counts: what else runs on a machine only adds time.
"""
import json, os, re, resource, shutil, subprocess, sys, tempfile, time

WRITE = "--write" in sys.argv
MACHINES = int(next((word for word in sys.argv[1:] if word.isdigit()), 5000))
CURVE = [int(word) for word in os.environ.get("BENCH_CURVE", "100 1000 5000 20000").split()]
CORES = len(os.sched_getaffinity(0))
RUNS = 3

# A real kubeadm creates a key and its certificate in 3.2 ms. OpenSSL took 51 ms, in two processes, on a machine of that kind. On another
# machine, or a busy one, both slow down alike.
KUBEADM, OPENSSL = 0.0032, 0.051
# A worker has two pairs: the kubelet's client and serving certificates.
PAIRS = 2

SPEC = """apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: bench
kubernetes: { version: 1.36.4 }
endpoint: { host: api.bench.example.com }
network: { pods: [10.128.0.0/9], services: [10.96.0.0/12] }
os: ubuntu-24.04
platform: aws
nodes:
  - { name: "cp{1..3}", roles: [control-plane], addresses: [172.16.0.11-172.16.0.13] }
"""


def spec(machines):
    worker = "  - {{ name: w{0}, roles: [worker], addresses: [172.{1}.{2}.{3}] }}\n"
    rows = (worker.format(at, 17 + at // 62500, at // 250 % 250, at % 250 + 1) for at in range(machines - 3))
    return SPEC + "".join(rows)


if sys.argv[1] == "--spec":
    sys.exit(print(spec(MACHINES), end=""))
FIRELAY, PROFILE = os.path.abspath(sys.argv[1]), sys.argv[2]


def run(name, arguments, cwd):
    """Wall-clock seconds, CPU seconds, and peak memory of one call."""
    start = time.monotonic()
    process = subprocess.Popen([FIRELAY, *arguments], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(error.decode())
    wall, cpu = time.monotonic() - start, usage.ru_utime + usage.ru_stime
    return {"what": name, "wall": wall, "cpu": cpu, "memory": usage.ru_maxrss / 1024}


def openssl():
    """CPU seconds for a P-256 key, its request and its certificate; the mean of 50."""
    pair = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -subj /CN=n -out r && openssl x509 -req -in r -CA ca.crt -CAkey ca.key -CAcreateserial -out c"
    authority = "openssl ecparam -name prime256v1 -genkey -noout -out ca.key && openssl req -x509 -key ca.key -subj /CN=ca -out ca.crt"
    with tempfile.TemporaryDirectory() as directory:
        def shell(script):
            subprocess.run(script, shell=True, cwd=directory, check=True, capture_output=True)

        shell(authority)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(50):
            shell(pair)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 50


def in_cluster(machines, calls):
    """The measurements of some calls in a directory with a spec and a bundle."""
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "cluster.yaml"), "w") as file:
            file.write(spec(machines))
        run("", ["secrets", "new"], directory)
        for name, arguments in calls:
            rows = []
            for at in range(RUNS):
                prepare(name, at, directory)
                rows.append(run(name, [word.format(5 + at) for word in arguments], directory))
            yield min(rows, key=lambda row: row["wall"])


def prepare(name, at, directory):
    """Prepares the directory for a run of a call."""
    if name == "render":
        shutil.rmtree(os.path.join(directory, "out"), ignore_errors=True)
        for record in (path for path in os.listdir(directory) if path.endswith(".state.yaml")):
            os.remove(os.path.join(directory, record))
    if name == "plan without a change" and at == 0:
        run("", ["render", "--founded"], directory)
    if name == "render --node":
        change_address(directory, f"w{5 + at}", f"172.31.1.{at + 1}")
    if name == "one more machine":
        with open(os.path.join(directory, "cluster.yaml"), "a") as file:
            file.write(f"  - {{ name: more{at}, roles: [worker], addresses: [172.31.0.{at + 1}] }}\n")


def change_address(directory, machine, address):
    """Gives a machine another address, so that its document is another one."""
    path = os.path.join(directory, "cluster.yaml")
    with open(path) as file:
        text = file.read()
    changed = re.sub(rf"(name: {machine}, .*addresses: \[)[^]]*", rf"\g<1>{address}", text)
    assert changed != text, machine
    with open(path, "w") as file:
        file.write(changed)


def line(row, pace):
    target = f"{row['target']:>7.2f}" if "target" in row else f"{'':>7}"
    print(f"{row['what']:<32} {row['wall']:>7.2f} {row['cpu']:>7.2f} {row['cpu'] / CORES / pace:>9.3f} {row['memory']:>7.0f} {target}", flush=True)


def svg(curve):
    """A plot of CPU milliseconds per machine, over the number of machines (logarithmic)."""
    import math
    most = max(point["each"] for point in curve) * 1.25
    x = lambda machines: 60 + 400 * (math.log10(machines) - 2) / (math.log10(CURVE[-1]) - 2)
    y = lambda value: 220 - 190 * value / most
    points = " ".join(f"{x(point['machines']):.0f},{y(point['each']):.0f}" for point in curve)
    dots = "".join(
        f'<circle cx="{x(point["machines"]):.0f}" cy="{y(point["each"]):.0f}" r="4"/>'
        f'<text x="{x(point["machines"]):.0f}" y="{y(point["each"]) - 10:.0f}">{point["each"]:.2f}</text>'
        f'<text x="{x(point["machines"]):.0f}" y="240">{point["machines"]:,}</text>' for point in curve)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 270" font-family="sans-serif" font-size="12" text-anchor="middle">'
            f'<rect width="520" height="270" fill="white"/><path d="M60 20V220H480" fill="none" stroke="black"/>'
            f'<polyline points="{points}" fill="none" stroke="steelblue" stroke-width="2"/><g fill="black">{dots}'
            f'<text x="270" y="260">machines</text><text x="270" y="14">milliseconds of all cores for each machine of a render</text></g></svg>\n')


pair = openssl()
scale = pair / OPENSSL
pace = PAIRS * MACHINES * KUBEADM * scale
print(f"profile {PROFILE}, {CORES} cores; OpenSSL {1000 * pair:.1f} ms for a pair; kubeadm's pace for {MACHINES} machines {pace:.1f} s")
print(f"{'of ' + format(MACHINES, ',') + ' machines':<32} {'wall s':>7} {'cpu s':>7} {'of pace':>9} {'MiB':>7} {'target s':>7}")
calls = [("render", ["render"]), ("verify", ["verify"]), ("audit", ["audit", "--secrets", "firelay.secrets.yaml"]), ("size", ["size", "out"]),
         ("graph", ["graph"]), ("check", ["check"]), ("render --node", ["render", "--node", "w{}"]), ("one more machine", ["render"]),
         ("plan without a change", ["plan"]), ("plan where all change", ["plan", "--set", "timezone=Europe/Berlin"])]
calls = [(name, arguments) for name, arguments in calls if name in os.environ.get("BENCH_CALLS", name).split(",")]
targets = {"render": pace / 16, "check": 0.3 * scale, "render --node": 0.5 * scale, "one more machine": 0.5 * scale, "plan without a change": 1, "plan where all change": 1}
rows = []
for row in in_cluster(MACHINES, calls):
    rows.append(row)
    row["target"] = targets.get(row["what"], rows[0]["wall"] / 2)
    line(row, pace)
curve = []
for machines in CURVE if WRITE else []:
    row = next(in_cluster(machines, calls[:1]))
    curve.append({"machines": machines, "each": 1000 * row["cpu"] / machines, "memory": row["memory"]})
    print(f"{machines:>7} machines: {curve[-1]['each']:.2f} ms each, {row['memory']:.0f} MiB", flush=True)
if WRITE:
    report = {"profile": PROFILE, "cores": CORES, "machines": MACHINES, "opensslPair": pair, "kubeadmPace": pace, "calls": rows, "curve": curve}
    rounded = json.loads(json.dumps(report), parse_float=lambda text: round(float(text), 4))
    with open("docs/performance.json", "w") as file:
        file.write(json.dumps(rounded, indent=2) + "\n")
    with open("docs/performance.svg", "w") as file:
        file.write(svg(curve))
