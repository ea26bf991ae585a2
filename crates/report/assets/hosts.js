// Draws the map of hosts and runs: each host's rate as a percentage of the median of the others in the same run.
// Findings enter, plotly's traces and layout leave, as in charts.js.

'use strict';

(() => {
  const { HOVER } = Charts;
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
    const data = [{ type: 'heatmap', x: runs, y: names, z, zmin: 100 - REACH, zmax: 100 + REACH, customdata: told,
      hovertemplate: HOVER, hoverongaps: false, xgap: all.length > 64 ? 0 : 1, ygap: all.length > 64 ? 0 : 1,
      colorscale: [[0, look.accent], [0.5, look.low], [1, look.ink]],
      colorbar: { title: { text: '% of peers', side: 'right', font: { size: 12, color: look.soft } }, thickness: 10,
        tickvals: [50, 75, 100, 125, 150], ticktext: ['≤50', '75', '100', '125', '≥150'], tickfont: { color: look.ink } } }];
    const y = { type: 'category', autorange: 'reversed', automargin: true, gridcolor: look.line,
      ticks: '', showticklabels: all.length <= 64 };
    const chart = Charts.layout(look, { type: 'category', showticklabels: false, ticks: '', title: { text: 'runs, in their order',
      font: { size: 12, color: look.soft } } }, y, '');
    chart.height = rows + 80;
    return { data, layout: chart };
  }

  Charts.kinds.hosts = hosts;
})();
