"""Takes a share of one processor before everybody else: burner.py PROCESSOR PERCENT"""
import os
import sys
import time

PERIOD = 0.002
LATEST = 0.02
processor, percent = int(sys.argv[1]), float(sys.argv[2])
os.sched_setaffinity(0, {processor})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
print("ready", flush=True)
# What counts is what the processor was really taken for: who wakes up late, burns for longer.
begin, charged = time.monotonic(), time.thread_time()
while True:
    charged += PERIOD * percent / 100
    while time.thread_time() < charged:
        pass
    begin += PERIOD
    # A machine that stood still owes nobody anything: what is long past is not burned after it.
    begin = max(begin, time.monotonic() - LATEST)
    time.sleep(max(0, begin - time.monotonic()))
