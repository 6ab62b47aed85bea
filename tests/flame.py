"""A flame graph of the output of `perf script`: see tests/profile."""
import collections, html, re, sys

WIDTH, ROW, LEAST = 1400, 16, 0.6


def stacks(path):
    """Stacks, the outermost function first."""
    for sample in open(path).read().split("\n\n"):
        frames = [line.split(None, 1)[1] for line in sample.splitlines()[1:] if len(line.split(None, 1)) == 2]
        if frames:
            yield [re.sub(r"::h[0-9a-f]{16}$", "", frame) for frame in reversed(frames)]


def tree():
    return {"count": 0, "below": collections.defaultdict(tree)}


root, own = tree(), collections.Counter()
for stack in stacks(sys.argv[1]):
    node = root
    node["count"] += 1
    own[stack[-1]] += 1
    for frame in stack:
        node = node["below"][frame]
        node["count"] += 1
if not root["count"]:
    sys.exit("perf wrote no stack")

boxes, deepest = [], 0


def draw(node, left, depth):
    global deepest
    for name, child in sorted(node["below"].items()):
        width = WIDTH * child["count"] / root["count"]
        if width >= LEAST:
            deepest = max(deepest, depth)
            share = f"{100 * child['count'] / root['count']:.1f} %"
            text = html.escape(name[: int(width / 7)]) if width > 30 else ""
            color = f"hsl({sum(map(ord, name)) % 50 + 10} 80% 65%)"
            boxes.append(f'<g><title>{html.escape(name)}, {share}</title><rect x="{left:.1f}" y="{depth * ROW}" width="{width:.1f}" height="{ROW - 1}" '
                         f'fill="{color}"/><text x="{left + 2:.1f}" y="{depth * ROW + 12}">{text}</text></g>')
            draw(child, left, depth + 1)
        left += width


draw(root, 0, 0)
with open(sys.argv[2], "w") as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {(deepest + 1) * ROW}" font-family="monospace" font-size="11">{"".join(boxes)}</svg>\n')
for name, count in own.most_common(10):
    print(f"{100 * count / root['count']:5.1f} %  {name}")
print(f"{sys.argv[2]}: open it in a browser")
