// What shows two studies in one chart? The report's kinds of chart give the axes; here are the traces of A and B.
// Pure: nothing here touches the page.

'use strict';

(() => {
  const own = { ...Charts.kinds };
  const LIGHT = { a: '#0b6b70', b: '#b4530a', none: '#f2f5f4', down: '#b4530a', up: '#0b6b70' };
  const DARK = { a: '#56c5c4', b: '#f2a25c', none: '#242c30', down: '#f2a25c', up: '#56c5c4' };
  const SHAPES = ['circle', 'square', 'diamond'];
  const sides = (look) => (look === Charts.theme(true) ? DARK : LIGHT);
  const pathOf = (item) => `${item.pattern} ${item.cache} ${item.rw}`;
  const common = (of, key) => of.findings.comparison.cells.filter((cell) => pathOf(cell) === key);
  const signed = (percent) => (percent === null ? '\u2013'
    : `${percent > 0 ? '+' : percent < 0 ? '\u2212' : ''}${Math.abs(percent).toFixed(Math.abs(percent) < 99.95 ? 1 : 0)}%`);

  function said(change, say) {
    if (!change) return 'not known';
    const ends = change.low_percent === null ? 'no interval'
      : `${signed(change.low_percent)} to ${signed(change.high_percent)}`;
    return `${say(change.a)} to ${say(change.b)}: ${signed(change.percent)} (${ends})${change.different ? ' \u2605' : ''}`;
  }

  function hover(cell) {
    const us = (value) => `${Charts.number(value)} µs`;
    return [
      `<b>${Charts.size(cell.bs_bytes)}, depth ${cell.iodepth}</b>, ${cell.runs_a} runs in A, ${cell.runs_b} in B`,
      `throughput ${said(cell.mbps, (value) => `${Charts.number(value)} MB/s`)}`,
      `p99 ${said(cell.p99_us, us)}`,
      `charged a request ${said(cell.charged_us, us)}${cell.steady ? '' : '<br>not steady'}`,
    ].join('<br>');
  }
  const HOVER = '%{customdata}<extra></extra>';

  // The least, the middle and the greatest depth.
  function threeDepths(cells) {
    const depths = [...new Set(cells.map((cell) => cell.iodepth))].sort((x, y) => x - y);
    return [...new Set([depths[0], depths[(depths.length - 1) >> 1], depths[depths.length - 1]])];
  }

  function legend(chart, look) {
    Object.assign(chart, { showlegend: true, shapes: [], legend: { orientation: 'h', x: 1, xanchor: 'right', y: 1,
      yanchor: 'bottom', font: { color: look.ink } } });
    return chart;
  }

  // --- Throughput of both -------------------------------------------------------------------------------------

  // Half of the interval that a study's own findings give a cell, where it was run more than once.
  function ownInterval(of, cell, study) {
    const found = of.findings.cells.find((other) => other.study === study && pathOf(other) === pathOf(cell)
      && other.iodepth === cell.iodepth && other.bs_bytes === cell.bs_bytes && other.threads === cell.threads);
    return found ? found.mbps : { value: 0, low: 0, high: 0 };
  }

  function overlay(of, key, look, width) {
    const cells = common(of, key);
    const ink = sides(look);
    const depths = threeDepths(cells);
    const data = depths.flatMap((depth, i) => {
      const line = cells.filter((cell) => cell.iodepth === depth).sort((x, y) => x.bs_bytes - y.bs_bytes);
      return ['A', 'B'].map((study) => {
        const mean = (cell) => (study === 'A' ? cell.mbps.a : cell.mbps.b);
        const colour = study === 'A' ? ink.a : ink.b;
        const ends = line.map((cell) => ownInterval(of, cell, study));
        return { name: `${study}, depth ${depth}`, mode: 'lines+markers', x: line.map((cell) => cell.bs_bytes), y: line.map(mean),
          error_y: { type: 'data', symmetric: false, array: ends.map((one) => one.high - one.value),
            arrayminus: ends.map((one) => Math.min(one.value - one.low, one.value * 0.9)), color: colour, thickness: 1, width: 2 },
          line: { color: colour, width: 2, dash: study === 'A' ? 'solid' : 'dash' },
          marker: { color: colour, size: 7, symbol: SHAPES[i] + (study === 'A' ? '' : '-open') },
          customdata: line.map(hover), hovertemplate: HOVER };
      });
    });
    const chart = legend(own.throughput(of, key, look, width).layout, look);
    chart.annotations = chart.annotations.slice(0, 1);
    // With three depths of two studies the legend takes its own lines below the chart.
    Object.assign(chart.legend, { x: 0, xanchor: 'left', y: -0.13, yanchor: 'top', font: { color: look.ink, size: 11 } });
    chart.margin.b = 76;
    chart.height = 350;
    return { data, layout: chart };
  }

  // --- Changes over block size and depth ----------------------------------------------------------------------

  // Colour is full at a change of a fifth; whatever is larger is as deep.
  const FULL = 20;

  function map(figure, better) {
    return (of, key, look, width) => {
      const cells = common(of, key).filter((cell) => figure(cell));
      const ink = sides(look);
      const chart = own.heat(of, key, look, width).layout;
      const at = (depth, bytes) => cells.find((cell) => cell.iodepth === depth && cell.bs_bytes === bytes);
      const rows = (pick) => of.depths.map((depth) => of.sizes.map((bytes) => {
        const cell = at(depth, bytes);
        return cell ? pick(cell) : null;
      }));
      const [low, high] = better > 0 ? [ink.down, ink.up] : [ink.up, ink.down];
      const data = [
        { type: 'heatmap', x: of.sizes.map(Charts.size), y: of.depths.map(String), z: rows((cell) => figure(cell).percent),
          zmin: -FULL, zmax: FULL, colorscale: [[0, low], [0.5, ink.none], [1, high]], showscale: false, hoverongaps: false,
          xgap: 1, ygap: 1, customdata: rows(hover), hovertemplate: HOVER },
        { mode: 'text', hoverinfo: 'skip', showlegend: false, x: cells.map((cell) => Charts.size(cell.bs_bytes)),
          y: cells.map((cell) => String(cell.iodepth)), text: cells.map((cell) => short(figure(cell).percent)),
          textfont: { size: width < 420 ? 8 : 11, color: cells.map((cell) => legible(figure(cell).percent, low, high, ink.none)) } },
      ];
      const boxed = cells.filter((cell) => figure(cell).different)
        .map((cell) => [of.sizes.indexOf(cell.bs_bytes), of.depths.indexOf(cell.iodepth)]);
      chart.shapes = boxed.map(([x, y]) => ({ type: 'rect', x0: x - 0.46, x1: x + 0.46, y0: y - 0.46, y1: y + 0.46,
        line: { color: look.ink, width: 2 }, fillcolor: 'rgba(0,0,0,0)' }));
      return { data, layout: chart };
    };
  }

  function short(percent) {
    const digits = Math.abs(percent) < 9.95 ? 1 : 0;
    const text = Math.abs(percent).toFixed(digits);
    return Number(text) === 0 ? '0' : `${percent > 0 ? '+' : '\u2212'}${text}`;
  }

  // Black or white, whichever is clearer on the colour of a change (contrast as WCAG 2 defines it).
  function legible(percent, low, high, none) {
    const share = Math.min(Math.abs(percent) / FULL, 1);
    const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
    const end = percent < 0 ? low : high;
    const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = [0, 1, 2].map((k) => linear((part(none, k) + (part(end, k) - part(none, k)) * share) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
  }

  // --- Cost of both -------------------------------------------------------------------------------------------

  function costs(of, key, look, width) {
    const cells = common(of, key).filter((cell) => cell.charged_us);
    const ink = sides(look);
    const sizes = [...new Set(cells.map((cell) => cell.bs_bytes))].sort((x, y) => x - y);
    const fit = of.findings.comparison.cost.find((item) => pathOf(item) === key && item.bound === 'charged');
    const data = ['A', 'B'].flatMap((study) => {
      const side = study.toLowerCase();
      const points = { name: study, mode: 'markers', x: cells.map((cell) => cell.bs_bytes),
        y: cells.map((cell) => cell.charged_us[side]), customdata: cells.map(hover), hovertemplate: HOVER,
        marker: { size: 6, color: ink[side], symbol: study === 'A' ? 'circle' : 'circle-open' } };
      if (!fit || sizes.length < 2) return [points];
      const ends = [Math.log2(sizes[0]), Math.log2(sizes[sizes.length - 1])];
      const x = Array.from({ length: 41 }, (_, i) => 2 ** (ends[0] + ((ends[1] - ends[0]) * i) / 40));
      const y = x.map((bytes) => fit.fixed_us[side].value + (fit.marginal_us_per_kib[side].value * bytes) / 1024);
      return [points, { mode: 'lines', x, y, hoverinfo: 'skip', showlegend: false,
        line: { color: ink[side], width: 1.5, dash: study === 'A' ? 'solid' : 'dash' } }];
    });
    return { data, layout: legend(own.cost(of, key, look, width).layout, look) };
  }

  Object.assign(Charts.kinds, { overlay, costs, change: map((cell) => cell.mbps, 1), tail: map((cell) => cell.p99_us, -1) });
})();
