"""Takes a share of one processor before everybody else: burner.py PROCESSOR PERCENT"""
import os
import sys
import time

PERIOD = 0.01
processor, percent = int(sys.argv[1]), float(sys.argv[2])
os.sched_setaffinity(0, {processor})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
print("ready", flush=True)
begin = time.monotonic()
while True:
    while time.monotonic() < begin + PERIOD * percent / 100:
        pass
    begin += PERIOD
    time.sleep(max(0, begin - time.monotonic()))
