// Draws latency by percentile: one line per cell of the answer, on an axis with the same width for each further nine.
// Curves enter, traces and a layout leave, as in charts.js.

'use strict';

(() => {
  const { span, colour, SHAPES } = Charts;
  const TICKS = [0.5, 0.9, 0.99, 0.999, 0.9999];

  // Position on the axis: the number of nines.
  const nines = (share) => -Math.log10(1 - share);
  const percent = (share) => String(Number((100 * share).toFixed(3)));

  function percentiles(of, key, look) {
    const rows = of.percentiles.filter((row) => row.rw === key);
    const data = rows.map((row, i) => {
      const ink = colour(look.steps, i, rows.length);
      return { name: row.name, mode: 'lines+markers', x: row.points.map(([share]) => nines(share)),
        y: row.points.map(([, ns]) => ns / 1e3), line: { color: ink, width: 2 },
        marker: { color: ink, size: 5, symbol: SHAPES[i % SHAPES.length] },
        tells: row.points.map(([share, ns]) => `<b>${row.name}</b><br>p${percent(share)}: ${span(ns / 1e3)}`) };
    });
    const all = rows.flatMap((row) => row.points.map(([, ns]) => ns / 1e3));
    const x = { range: [0, 4.08], tickvals: TICKS.map(nines), say: (place) => `p${percent(1 - 10 ** -place)}` };
    const chart = Charts.layout(look, x, Charts.logAxis(all, Charts.roundSpan, 0.06), 'latency');
    chart.showlegend = true;
    return { data, layout: chart };
  }

  Charts.kinds.percentiles = percentiles;
})();
