// Draws two more charts: processor seconds per gigabyte for all paths, and the course of each cell that is not steady.
// Findings enter, traces and a layout leave, as in charts.js.

'use strict';

(() => {
  const { number, size, span, round, colour, distinct, pathOf, hover, SHAPES } = Charts;

  // One microsecond per byte is a thousand seconds per decimal gigabyte.
  const secondsAGigabyte = (us, bytes) => (us * 1000) / bytes;

  function gigabyte(of, _, look) {
    const cells = of.findings.cells.filter((cell) => cell.charged_us > 0);
    const said = (key) => of.findings.names[key];
    const keys = [...new Set(cells.map(pathOf))].sort((a, b) => said(a).localeCompare(said(b)));
    const data = keys.flatMap((key, i) => {
      const own = cells.filter((cell) => pathOf(cell) === key).sort((a, b) => a.bs_bytes - b.bs_bytes);
      const sizes = distinct(own.map((cell) => cell.bs_bytes));
      const fit = of.findings.cost.find((item) => pathOf(item) === key && item.bound === 'charged');
      const ink = colour(look.steps, i, keys.length);
      const us = (bytes) => fit.fixed_us.value + (fit.marginal_us_per_kib.value * bytes) / 1024;
      const line = { mode: 'lines', x: sizes, name: said(key), legendgroup: key,
        line: { color: ink, width: 2, dash: key.includes(' both ') || key.includes(' os ') ? 'dot' : 'solid' } };
      return [
        ...(fit ? [{ ...line, y: sizes.map((bytes) => secondsAGigabyte(us(bytes), bytes)) }] : []),
        { mode: 'markers', name: said(key), legendgroup: key, showlegend: !fit, x: own.map((c) => c.bs_bytes),
          y: own.map((c) => secondsAGigabyte(c.charged_us, c.bs_bytes)),
          marker: { color: ink, size: 6, symbol: SHAPES[i % SHAPES.length] },
          tells: own.map((c) => `<b>${said(key)}</b><br>${hover(c)}<br>`
            + `${number(secondsAGigabyte(c.charged_us, c.bs_bytes))} processor seconds a gigabyte`) },
      ];
    });
    const y = Charts.logAxis(cells.map((c) => secondsAGigabyte(c.charged_us, c.bs_bytes)), round, 0.06);
    const chart = Charts.layout(look, Charts.sizeAxis(of.sizes), y, 'processor seconds a GB, charged');
    chart.showlegend = true;
    chart.height = 330;
    return { data, layout: chart };
  }

  // The first run of a cell over time; `key` is the cell's index in the findings.
  function series(of, key, look) {
    const cell = of.findings.cells[Number(key)];
    const step = cell.series_step_ns / 1e6;
    const values = cell.series_mbps;
    const end = values.length * step;
    const data = [{ mode: values.length > 60 ? 'lines' : 'lines+markers', x: values.map((_, i) => (i + 0.5) * step), y: values,
      line: { color: look.accent, width: 2, shape: 'hvh' }, marker: { color: look.accent, size: 5 },
      tells: values.map((mbps, i) => `<b>${number(mbps)} MB/s</b><br>from ${span(i * step * 1000)} to ${span((i + 1) * step * 1000)}`) }];
    const x = { range: [0, end], title: 'ms' };
    const y = { range: [0, 1.12 * Math.max(...values, cell.mbps.value)] };
    const chart = Charts.layout(look, x, y, 'MB/s');
    const level = (name, mbps, dash) => ({ name, type: 'line', xref: 'paper', x0: 0, x1: 1, y0: mbps, y1: mbps,
      line: { color: look.soft, width: 1.2, dash } });
    chart.shapes = [level('mean', cell.mbps.value, 'dash')];
    const note = (text, mbps) => chart.notes.push({ text, xref: 'paper', x: 0.99, xanchor: 'right', y: mbps });
    note(`mean of all runs ${number(cell.mbps.value)}`, cell.mbps.value);
    if (cell.trimmed_share > 0) {
      chart.shapes.push({ name: 'trimmed', type: 'rect', yref: 'paper', y0: 0, y1: 1, x0: 0, x1: cell.trimmed_share * end,
        fillcolor: look.soft, opacity: 0.18, line: { width: 0 } });
      chart.notes.push({ text: 'trimmed', x: 0, yref: 'paper', y: 0, color: look.ink });
    }
    for (const [name, mbps] of [['burst', cell.burst_mbps], ['sustained', cell.sustained_mbps]]) {
      if (mbps === null || mbps === undefined) continue;
      chart.shapes.push(level(name, mbps, 'dot'));
      note(`${name} ${number(mbps)}`, mbps);
    }
    chart.height = 230;
    return { data, layout: chart };
  }

  Object.assign(Charts.kinds, { gigabyte, series });
})();
