// Draws an application that was watched, step by step: latency, operations in flight, bytes, and maps of latencies.
// Findings enter, traces and a layout leave, as in charts.js.

'use strict';

(() => {
  const { number, span, colour } = Charts;
  const watch = (of) => of.findings.watch;
  const ORDER = ['reads', 'writes', 'syncs'];

  // When a step was, such as `12 s` or `14 to 20 s`.
  function when(of, i) {
    const { from_s: from, step_s: step } = watch(of);
    return step > 1 ? `${from[i]} to ${from[i] + step} s` : `${from[i]} s`;
  }

  const middles = (of) => watch(of).from_s.map((from) => from + watch(of).step_s / 2);

  function timeAxis(of) {
    const { from_s: from, step_s: step } = watch(of);
    return { range: [0, from[from.length - 1] + step], title: 'seconds' };
  }

  function line(of, name, values, say, style) {
    return { name, mode: values.length > 60 ? 'lines' : 'lines+markers', x: middles(of), y: values,
      line: style, marker: { color: style.color, size: 4 },
      tells: values.map((value, i) => `<b>${when(of, i)}</b><br>${name}: ${value === null ? 'none' : say(value)}`) };
  }

  function withLegend(chart) {
    chart.layout.showlegend = true;
    return chart;
  }

  function latency(of, _, look) {
    const kinds = ORDER.filter((kind) => watch(of).kinds[kind]);
    const data = kinds.flatMap((kind) => {
      const { p50_us: p50, p99_us: p99 } = watch(of).kinds[kind];
      const ink = colour(look.steps, ORDER.indexOf(kind), ORDER.length);
      return [
        line(of, `${kind}, p50`, p50, span, { color: ink, width: 2 }),
        line(of, `${kind}, p99`, p99, span, { color: ink, width: 1.5, dash: 'dot' }),
      ];
    });
    const all = data.flatMap((trace) => trace.y).filter((us) => us !== null);
    const y = Charts.logAxis(all, Charts.roundSpan, 0.06);
    return withLegend({ data, layout: Charts.layout(look, timeAxis(of), y, 'latency') });
  }

  function depth(of, _, look) {
    const values = watch(of).depth;
    const most = Math.max(...values.filter((value) => value !== null), 0);
    const data = [{ ...line(of, 'in flight', values, number, { color: look.accent, width: 2 }), fill: 'tozeroy',
      fillcolor: `${look.accent}22` }];
    const y = { range: [0, 1.12 * Math.max(most, 0.1)] };
    return { data, layout: Charts.layout(look, timeAxis(of), y, 'operations in flight, mean of each step') };
  }

  function bytes(of, _, look) {
    const say = (mbps) => `${number(mbps)} MB/s`;
    const stacked = (name, values, ink) => ({ ...line(of, name, values, say, { color: ink, width: 1.5 }), mode: 'lines',
      stackgroup: 'all', fillcolor: `${ink}55` });
    const all = [['its own', watch(of).own_mbps, look.accent], ["others'", watch(of).other_mbps, look.soft]];
    const counted = all.filter(([, values]) => values.some((mbps) => mbps !== null));
    const data = counted.map(([name, values, ink]) => stacked(name, values, ink));
    const y = { zero: true };
    return withLegend({ data, layout: Charts.layout(look, timeAxis(of), y, 'MB/s') });
  }

  // A column for each step and a row for each band of latency; the colour is the share of the step's operations.
  function heat(of, key, look) {
    const { first_band: first, counts } = watch(of).kinds[key];
    const edges = watch(of).bands_us;
    const bands = (counts[0] ?? []).map((_, row) => row);
    const sums = counts.map((column) => column.reduce((sum, count) => sum + count, 0));
    const z = bands.map((row) => counts.map((column, i) => (column[row] > 0 ? Math.sqrt(column[row] / sums[i]) : null)));
    const said = bands.map((row) => counts.map((column, i) => `<b>${when(of, i)}</b><br>${span(edges[first + row])} to `
      + `${span(edges[first + row + 1])}: ${number(column[row])} of ${number(sums[i])} ${key}`));
    const labels = bands.map((row) => span(edges[first + row]));
    const every = Math.ceil(bands.length / 12);
    const data = [{ type: 'heatmap', x: middles(of), y: bands, z, zmin: 0, zmax: 1, tells: said,
      colorscale: [[0, look.low], [1, look.accent]] }];
    const rows = bands.filter((row) => row % every === 0);
    const y = { range: [-0.5, bands.length - 0.5], tickvals: rows, say: (row) => labels[row] ?? '', grid: false };
    return { data, layout: Charts.layout(look, timeAxis(of), y, `latency of ${key}, share of each step`) };
  }

  Object.assign(Charts.kinds, { 'watch-latency': latency, 'watch-depth': depth, 'watch-bytes': bytes, 'watch-heat': heat });
})();
