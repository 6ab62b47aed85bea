"""crictl info, ps and stop, of the containers that the kubelet's stand-in started."""

import os
import re
import sys

import pods


def main():
    words = sys.argv[1:]
    if "info" in words:
        # The real one queries containerd's CRI service; ctr also queries containerd.
        os.execvp("sh", ["sh", "-c", "exec ctr plugins ls id==cri >/dev/null"])
    elif "ps" in words:
        name = words[words.index("--name") + 1]
        print("\n".join(pods.container(pod) for pod, (_, state) in sorted(pods.found().items()) if state == "active" and re.search(name, pod)))
    elif "stop" in words:
        # The kubelet starts a container of a static pod again.
        pods.restart(pods.of_container(words[-1]))
    else:
        sys.exit(f"not known here: {words}")
