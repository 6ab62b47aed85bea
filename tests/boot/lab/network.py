"""The network of the machines: a bridge, DHCP, DNS, time, a load balancer, and the recorder of the fakes."""

import http.client
import socket
import ssl
import struct
import subprocess
import threading
import time

from . import ADDRESSES, HOST, run, until


SERVERS = ("cp1", "cp2", "cp3", "cp4")
# The servers whose /readyz last answered 200.
READY = set()


def start(directory, record, time=True, script=None):
    for command in (
        "ip link set lo up",
        "ip link add br0 type bridge",
        f"ip address add {HOST}/24 dev br0",
        "ip link set br0 up",
    ):
        run(*command.split())
    leases = [f"--dhcp-host=52:54:00:77:00:{address.split('.')[3]},{address},{name},12h" for name, address in ADDRESSES.items()]
    dnsmasq = ["dnsmasq", "--keep-in-foreground", "--user=root", "--conf-file=/dev/null", "--interface=br0", "--bind-interfaces"]
    dnsmasq += ["--no-resolv", "--no-hosts", f"--address=/api.lab/{HOST}", "--dhcp-range=10.77.0.100,10.77.0.200,12h"]
    # Two stories that start together would use the same PID file in /run, and one of them would have no DHCP.
    dnsmasq += [f"--pid-file={directory}/dnsmasq.pid", f"--dhcp-leasefile={directory}/leases", f"--dhcp-option=option:ntp-server,{HOST}", *leases]
    # iPXE accepts a URL as the name of a boot file (DHCP option 67).
    dnsmasq += [f"--dhcp-boot={script}"] if script else []
    server = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *dnsmasq], stderr=open(directory / "dnsmasq.log", "w"))
    until(lambda: server.poll() is not None or answers(HOST, 53), "answer from dnsmasq", 30)
    assert server.poll() is None, f"dnsmasq ended: {(directory / 'dnsmasq.log').read_text()}"
    listener = socket.create_server((HOST, 6443), backlog=100)
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    for name in SERVERS:
        threading.Thread(target=check, args=(name,), daemon=True).start()
    threading.Thread(target=listen, args=(directory, record), daemon=True).start()
    if time:
        tell_time()


def answers(host, port):
    try:
        socket.create_connection((host, port), timeout=1).close()
        return True
    except OSError:
        return False


def accept(listener):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=balance, args=(client,), daemon=True).start()


def check(name):
    """The health check that firelay requires of a load balancer: a joining server may accept connections and then stop."""
    while True:
        (READY.add if is_ready(name) else READY.discard)(name)
        time.sleep(5)


def is_ready(name):
    connection = http.client.HTTPSConnection(ADDRESSES[name], 6443, context=ssl._create_unverified_context(), timeout=3)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def balance(client):
    """A network load balancer: the first ready control plane; if none is ready, the first that accepts."""
    for name in sorted(SERVERS, key=lambda name: name not in READY):
        try:
            server = socket.create_connection((ADDRESSES[name], 6443), timeout=1)
            break
        except OSError:
            continue
    else:
        client.close()
        return
    server.settimeout(None)
    threading.Thread(target=copy, args=(client, server), daemon=True).start()
    copy(server, client)


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def listen(directory, record):
    """Records every line of a fake as (seconds, node, text), with this machine's clock."""
    names = {address: name for name, address in ADDRESSES.items()}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire, open(directory / "record", "w", buffering=1) as file:
        wire.bind((HOST, 9999))
        while True:
            text, (address, _) = wire.recvfrom(65536)
            entry = (time.monotonic(), names.get(address, address), text.decode(errors="replace"))
            record.append(entry)
            file.write(f"{entry[0]:.1f} {entry[1]} {entry[2]}\n")


def tell_time():
    threading.Thread(target=clock, daemon=True).start()


def clock():
    """An NTP server (RFC 5905, figure 8) of stratum 1 with this machine's clock."""
    ntp = lambda seconds: struct.pack("!Q", int((seconds + 2_208_988_800) * 2**32))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.bind((HOST, 123))
        while True:
            asked, peer = wire.recvfrom(256)
            now = ntp(time.time())
            head = struct.pack("!BBbbII4s", 0x24, 1, 6, -20, 0, 0, b"LOCL")
            wire.sendto(head + now + asked[40:48] + now + now, peer)
