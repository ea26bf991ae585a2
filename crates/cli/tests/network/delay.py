"""Joins two machines by a wire whose round trip takes so many milliseconds, in user space: delay.py NEAR FAR

NEAR and FAR are interfaces that are made here; FAR is to be moved to the other end. What comes in at one leaves at the other half
of the time later. The last line of standard input has the time, and the bytes a second that the wire carries each way.
"""
import collections
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 1, 0x1000
# So exactly the system wakes sleepers; the rest is waited awake.
AWAKE = 0.0002


def interface(name):
    number = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(number, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return number


ends = [interface(name) for name in sys.argv[1:3]]
print("ready", flush=True)


def told():
    line = sys.stdin.readline()
    if not line:
        sys.exit()  # The lab is over.
    milliseconds, rate = map(float, line.split())
    return milliseconds / 2e3, rate


half, rate = told()
# Packets on their way to each end, with the time that they are due at.
under_way = {end: collections.deque() for end in ends}
# When the last byte towards each end is on the wire.
passed = dict.fromkeys(ends, 0.0)
while True:
    due = min((packets[0][0] for packets in under_way.values() if packets), default=None)
    wait = None if due is None else max(0, due - time.monotonic() - AWAKE)
    readable = select.select([*ends, sys.stdin], [], [], wait)[0]
    if sys.stdin in readable:
        readable.remove(sys.stdin)
        half, rate = told()
    for end in readable:
        other = ends[1 - ends.index(end)]
        try:
            while True:
                packet = os.read(end, 1 << 16)
                passed[other] = max(passed[other], time.monotonic()) + len(packet) / rate
                under_way[other].append((passed[other] + half, packet))
        except BlockingIOError:
            pass
    for end, packets in under_way.items():
        while packets and packets[0][0] <= time.monotonic():
            packet = packets.popleft()[1]
            try:
                os.write(end, packet)
            except OSError:
                # An end that is not up yet takes none.
                pass
