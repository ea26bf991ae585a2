// Draws the map of hosts and runs: each host's rate as a percentage of the median of the others in the same run.
// Findings enter, traces and a layout leave, as in charts.js.

'use strict';

(() => {
  // Deviation from the peers' rate, in percent, from which a cell has the last colour.
  const REACH = 50;

  function hosts(of, key, look) {
    const { hosts: all, map } = of.findings.fleet;
    const names = all.map((host) => host.name);
    const runs = map.map((run, at) => String(at + 1));
    const z = all.map((host, row) => map.map((run) => run.percent_of_peers[row]));
    const told = all.map((host, row) => map.map((run) =>
      `<b>${host.name}</b><br>${run.workload}<br>${run.percent_of_peers[row]}% of its peers' rate`));
    const rows = Math.min(Math.max(all.length * 18, 120), 900);
    const data = [{ type: 'heatmap', x: runs, y: names, z, zmin: 100 - REACH, zmax: 100 + REACH, tells: told,
      gap: all.length <= 64, colorscale: [[0, look.accent], [0.5, look.low], [1, look.ink]] }];
    const y = { ...Charts.nameAxis(names), reversed: true, quiet: all.length > 64 };
    const chart = Charts.layout(look, { ...Charts.nameAxis(runs), quiet: true, title: 'runs, in their order' }, y, '');
    chart.strip = { title: '% of peers', colours: [look.accent, look.low, look.ink], labels: ['≤50', '75', '100', '125', '≥150'] };
    chart.height = rows + 80;
    return { data, layout: chart };
  }

  Charts.kinds.hosts = hosts;
})();
