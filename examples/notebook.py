# A first look at a study from Python (pip install pandas matplotlib). Each `# %%` begins a cell for editors that
# know them; run whole it prints three tables and leaves one picture:
#
#     halfpower export study.halfpower --format csv --output study.csv
#     python3 examples/notebook.py study.csv study.halfpower picture.png

# %% One row a run; docs/study-file.md says what the columns mean.
import json
import sqlite3
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

csv_file, study_file, picture = sys.argv[1:4]
runs = pd.read_csv(csv_file, dtype={"seed": str})
# Runs of other experiments have settings that no column tells; some cells were measured with more threads, too.
walks = runs[runs["experiment"].isna() | runs["experiment"].isin(["sequential", "random"])]
walks = walks[walks["threads"] == walks["threads"].min()]
plain = walks[(walks["pass"] == "plain") & (walks["errors"] == 0)]
print(f"{len(runs)} runs, {len(plain)} of them of the walks, plain and without errors\n")

# %% Throughput in MB/s, the mean over each cell's runs: block size down, depth across.
direct_reads = plain[(plain["pattern"] == "random") & (plain["cache"] == "device") & (plain["direction"] == "read")]
mbps = direct_reads.pivot_table(index="bs_bytes", columns="iodepth", values="mbps", aggfunc="mean")
print("Random direct reads, MB/s\n", mbps.round(0), "\n")

# %% How far do the runs of a cell lie apart? The cells to run again are those at the top.
settings = ["pattern", "cache", "direction", "bs_bytes", "iodepth"]
cells = plain.groupby(settings)["mbps"].agg(["count", "mean", "std"])
cells["spread"] = cells["std"] / cells["mean"]
print("Least repeatable cells\n", cells.sort_values("spread", ascending=False).head(5).round(3), "\n")

# %% Everything that has no column of its own is in the record's JSON: here the histogram of one run's latencies.
database = sqlite3.connect(f"file:{study_file}?mode=ro", uri=True)
workload, record = database.execute(
    "SELECT workload, record FROM record WHERE pass = 'plain' ORDER BY ios DESC LIMIT 1"
).fetchone()
latency = json.loads(record)["latency"]
print(f"{workload}\n{sum(latency['count'])} latencies in {len(latency['count'])} buckets\n")

# %% Throughput against block size, a line for each depth.
figure, axes = plt.subplots(figsize=(7, 4.5), constrained_layout=True)
for depth, column in mbps.items():
    line = column.dropna()
    axes.plot(line.index / 1024, line, marker="o", label=f"depth {depth}")
axes.set(xscale="log", yscale="log", xlabel="block size, KiB", ylabel="MB/s", title="Random direct reads")
axes.legend()
figure.savefig(picture, dpi=120)
print(f"picture: {picture}")
