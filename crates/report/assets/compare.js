// Turns comparisons and the curves of all studies into traces and layouts, for charts of several studies. Axes and style
// are those of the report's charts. Pure: nothing here touches the page.

'use strict';

(() => {
  const SHAPES = ['circle', 'square', 'diamond', 'triangle-up', 'triangle-down', 'pentagon', 'hexagon', 'star'];
  // Each study has a distinct colour and shape; the baseline's are the first.
  function sides(of, look) {
    const all = of.findings.sides[look === Charts.theme(true) ? 'dark' : 'light'];
    return { all, a: all[0], b: all[1], none: look.low };
  }
  const { distinct, pathOf } = Charts;
  // Two studies have a single comparison.
  const told = (of) => of.findings.comparisons[0];
  const common = (of, key) => told(of).cells.filter((cell) => pathOf(cell) === key);
  // The cells of both studies with their intervals, as rows of the columns that the page names.
  const curves = (of, key) => of.findings.curves
    .map(([study, pattern, cache, rw, iodepth, bs_bytes, threads, value, low, high, ...change]) =>
      ({ study, pattern, cache, rw, iodepth, bs_bytes, threads, value, low, high, change }))
    .filter((cell) => !key || pathOf(cell) === key);

  // --- What a point says --------------------------------------------------------------------------------------

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
      `p99 ${said(cell.latency_ns_p99, (value) => us(value / 1e3))}`,
      `charged a request ${said(cell.charged_us, us)}${cell.steady ? '' : '<br><b>not steady</b>'}`,
    ].join('<br>');
  }

  function alone(cell) {
    return `<b>${Charts.size(cell.bs_bytes)}, depth ${cell.iodepth}</b>, in ${cell.study} alone<br>`
      + `${Charts.number(cell.value)} MB/s (${Charts.number(cell.low)} to ${Charts.number(cell.high)})`;
  }

  const legend = (chart) => Object.assign(chart, { showlegend: true });

  // --- Throughput of both -------------------------------------------------------------------------------------

  // The smallest, the middle and the largest depth that both studies have.
  function threeDepths(cells) {
    const depths = distinct(cells.map((cell) => cell.iodepth));
    return distinct([depths[0], depths[(depths.length - 1) >> 1], depths[depths.length - 1]]);
  }

  function overlay(of, key, look) {
    const cells = common(of, key);
    const ink = sides(of, look);
    const both = (cell) => cells.find((other) => other.iodepth === cell.iodepth && other.bs_bytes === cell.bs_bytes
      && other.threads === cell.threads);
    const data = threeDepths(cells).flatMap((depth, i) => ['A', 'B'].map((study) => {
      const line = curves(of, key).filter((cell) => cell.study === study && cell.iodepth === depth)
        .sort((x, y) => x.bs_bytes - y.bs_bytes);
      const colour = study === 'A' ? ink.a : ink.b;
      return { name: `${study}, depth ${depth}`, mode: 'lines+markers', x: line.map((cell) => cell.bs_bytes),
        y: line.map((cell) => cell.value),
        error_y: { array: line.map((cell) => cell.high - cell.value),
          arrayminus: line.map((cell) => Math.min(cell.value - cell.low, cell.value * 0.9)),
          color: colour, width: 2 },
        line: { color: colour, width: 2, dash: study === 'A' ? 'solid' : 'dash' },
        marker: { color: colour, size: 7, symbol: SHAPES[i] + (study === 'A' ? '' : '-open') },
        tells: line.map((cell) => (both(cell) ? hover(both(cell)) : alone(cell))) };
    }));
    const all = curves(of);
    const x = Charts.sizeAxis(distinct(all.map((cell) => cell.bs_bytes)));
    const y = Charts.logAxis(all.map((cell) => cell.value), Charts.round, 0.06);
    return { data, layout: legend(Charts.layout(look, x, y, 'MB/s')) };
  }

  // --- Changes over block size and depth ----------------------------------------------------------------------

  // Colour is fully saturated from a change of 20%, or of twice the noise if that is more.
  const full = (practical) => Math.max(20, 2 * (practical.noise_percent ?? 0));

  // A map of the changes of one figure; `better` is 1 if more is better, and -1 if less is.
  function map(figure, better, noise) {
    return (of, key, look, width) => {
      const most = full(told(of).practical[noise]);
      const cells = common(of, key).filter((cell) => figure(cell));
      const ink = sides(of, look);
      const [low, high] = better > 0 ? [ink.b, ink.a] : [ink.a, ink.b];
      const sizes = distinct(told(of).cells.map((cell) => cell.bs_bytes));
      const depths = distinct(told(of).cells.map((cell) => cell.iodepth));
      const at = (depth, bytes) => cells.find((cell) => cell.iodepth === depth && cell.bs_bytes === bytes);
      const rows = (pick) => depths.map((depth) => sizes.map((bytes) => {
        const cell = at(depth, bytes);
        return cell ? pick(cell) : null;
      }));
      const data = [
        { type: 'heatmap', x: sizes.map(Charts.size), y: depths.map(String), z: rows((cell) => figure(cell).percent),
          zmin: -most, zmax: most, colorscale: [[0, low], [0.5, ink.none], [1, high]], gap: true, tells: rows(hover) },
        { ...Charts.QUIET, mode: 'text', x: cells.map((cell) => Charts.size(cell.bs_bytes)),
          y: cells.map((cell) => String(cell.iodepth)), text: cells.map((cell) => short(figure(cell).percent)),
          textfont: { size: width < 420 ? 8 : 11, color: cells.map((cell) => legible(figure(cell).percent / most, low, high, ink.none)) } },
      ];
      const chart = Charts.layout(look, Charts.nameAxis(sizes.map(Charts.size)), Charts.nameAxis(depths.map(String)), 'depth');
      chart.shapes = cells.filter((cell) => figure(cell).different)
        .map((cell) => [sizes.indexOf(cell.bs_bytes), depths.indexOf(cell.iodepth)])
        .map(([x, y]) => ({ type: 'rect', x0: x - 0.46, x1: x + 0.46, y0: y - 0.46, y1: y + 0.46,
          line: { color: look.ink, width: 2 } }));
      return { data, layout: chart };
    };
  }

  function short(percent) {
    const digits = Math.abs(percent) < 9.95 ? 1 : 0;
    const text = Math.abs(percent).toFixed(digits);
    return Number(text) === 0 ? '0' : `${percent > 0 ? '+' : '\u2212'}${text}`;
  }

  // Black or white, whichever is more legible on the colour of a change (relative luminance by WCAG 2).
  function legible(shareOfMost, low, high, none) {
    const share = Math.min(Math.abs(shareOfMost), 1);
    const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
    const end = shareOfMost < 0 ? low : high;
    const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = [0, 1, 2].map((k) => linear((part(none, k) + (part(end, k) - part(none, k)) * share) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000000' : '#ffffff';
  }

  // --- Cost of both -------------------------------------------------------------------------------------------

  function costs(of, key, look) {
    const charged = (cells) => cells.filter((cell) => cell.charged_us);
    const cells = charged(common(of, key));
    const ink = sides(of, look);
    const sizes = distinct(cells.map((cell) => cell.bs_bytes));
    const fit = told(of).cost.find((item) => pathOf(item) === key && item.bound === 'charged');
    const data = ['A', 'B'].flatMap((study) => {
      const side = study.toLowerCase();
      const points = { name: study, mode: 'markers', x: cells.map((cell) => cell.bs_bytes),
        y: cells.map((cell) => cell.charged_us[side]), tells: cells.map(hover),
        marker: { size: 6, color: ink[side], symbol: study === 'A' ? 'circle' : 'circle-open' } };
      if (!fit || sizes.length < 2) return [points];
      const ends = [Math.log2(sizes[0]), Math.log2(sizes[sizes.length - 1])];
      const x = Array.from({ length: 41 }, (_, i) => 2 ** (ends[0] + ((ends[1] - ends[0]) * i) / 40));
      const y = x.map((bytes) => fit.fixed_us[side].value + (fit.marginal_us_per_kib[side].value * bytes) / 1024);
      return [points, { ...Charts.QUIET, mode: 'lines', x, y,
        line: { color: ink[side], width: 1.5, dash: study === 'A' ? 'solid' : 'dash' } }];
    });
    const x = Charts.sizeAxis(distinct(told(of).cells.map((cell) => cell.bs_bytes)));
    const values = charged(told(of).cells).flatMap((cell) => [cell.charged_us.a, cell.charged_us.b]);
    const y = Charts.logAxis(values, Charts.round, 0.06);
    return { data, layout: legend(Charts.layout(look, x, y, 'µs a request')) };
  }

  // --- Several studies beside a baseline ----------------------------------------------------------------------

  const letters = (of) => [told(of).a.letter, ...of.findings.comparisons.map((one) => one.b.letter)];
  const nameOf = (of, letter) => of.findings.comparisons.flatMap((one) => [one.a, one.b])
    .find((study) => study.letter === letter).name;
  const shapeOf = (place) => SHAPES[place % SHAPES.length];
  const colourOf = (of, look, place) => sides(of, look).all[place % sides(of, look).all.length];

  // The depth of the baseline's highest peak, among the depths for which most studies have cells.
  function depthOfPeak(of, cells) {
    const studies = (depth) => new Set(cells.filter((cell) => cell.iodepth === depth).map((cell) => cell.study)).size;
    const most = Math.max(...cells.map((cell) => studies(cell.iodepth)));
    const able = cells.filter((cell) => studies(cell.iodepth) === most);
    const baseline = able.filter((cell) => cell.study === letters(of)[0]);
    return (baseline.length ? baseline : able).reduce((best, cell) => (cell.value > best.value ? cell : best)).iodepth;
  }

  function point(of, cell) {
    const [percent, low, high, different] = cell.change;
    const ends = low === null ? 'no interval' : `${signed(low)} to ${signed(high)}`;
    const change = percent === null ? [] : [`${signed(percent)} from ${letters(of)[0]} (${ends})${different ? ' \u2605' : ''}`];
    return [
      `<b>${cell.study} ${nameOf(of, cell.study)}</b>, ${Charts.size(cell.bs_bytes)}, depth ${cell.iodepth}`,
      `${Charts.number(cell.value)} MB/s (${Charts.number(cell.low)} to ${Charts.number(cell.high)})`,
      ...change,
    ].join('<br>');
  }

  function beside(of, key, look) {
    const cells = curves(of, key);
    const depth = cells.some((cell) => cell.iodepth === of.chosen) ? of.chosen : depthOfPeak(of, cells);
    const data = letters(of).map((letter, place) => {
      const line = cells.filter((cell) => cell.study === letter && cell.iodepth === depth)
        .sort((x, y) => x.bs_bytes - y.bs_bytes);
      const colour = colourOf(of, look, place);
      return { name: `${letter} ${nameOf(of, letter)}`, mode: 'lines+markers', x: line.map((cell) => cell.bs_bytes),
        y: line.map((cell) => cell.value),
        error_y: { array: line.map((cell) => cell.high - cell.value),
          arrayminus: line.map((cell) => Math.min(cell.value - cell.low, cell.value * 0.9)),
          color: colour, width: 2 },
        line: { color: colour, width: place ? 1.5 : 3, dash: place ? 'dash' : 'solid' },
        marker: { color: colour, size: 7, symbol: shapeOf(place) },
        tells: line.map((cell) => point(of, cell)) };
    });
    const x = Charts.sizeAxis(of.sizes);
    const y = Charts.logAxis(cells.map((cell) => cell.value), Charts.round, 0.06);
    return { data, layout: legend(Charts.layout(look, x, y, `MB/s; chosen: ${depth} deep`)) };
  }

  const MEANS = [['throughput', (path) => path.throughput_mbps, (value) => `${Charts.number(value)} MB/s`],
    ['p99 latency', (path) => path.latency_ns_p99, (value) => Charts.span(value / 1e3)],
    ['processor time a request', (path) => path.charged_us, (value) => `${Charts.number(value)} µs`]];

  // One row per study, with a mark for each figure.
  function means(of, key, look) {
    const rows = of.findings.comparisons.map((one, row) => ({ row, place: row + 1, letter: one.b.letter,
      path: one.paths.find((path) => pathOf(path) === key) })).filter(({ path }) => path);
    const data = MEANS.map(([name, figure, say], i) => {
      const known = rows.filter(({ path }) => figure(path)).map((row) => ({ ...row, change: figure(row.path) }));
      const reach = (end) => known.map(({ change }) => Math.abs((change[end] ?? change.percent) - change.percent));
      const ink = known.map(({ place }) => colourOf(of, look, place));
      return { name, mode: 'markers', x: known.map(({ change }) => change.percent),
        y: known.map(({ row }) => row + 0.24 * (i - 1)),
        error_x: { array: reach('high_percent'), arrayminus: reach('low_percent'), color: look.soft, width: 3 },
        marker: { color: ink, size: 10, symbol: known.map(({ change }) => shapeOf(i) + (change.different ? '' : '-open')),
          line: { color: ink, width: 1.5 } },
        tells: known.map(({ letter, change }) => `<b>${letter} ${nameOf(of, letter)}</b><br>${name} ${said(change, say)}`) };
    });
    const x = { say: (percent) => `${Number(percent.toPrecision(6))}%`, rule: 0 };
    const all = of.findings.comparisons.map((one) => one.b.letter);
    const y = { range: [all.length - 0.5, -0.5], tickvals: all.map((_, row) => row), say: (row) => all[row] ?? '', grid: false };
    const chart = { data, layout: legend(Charts.layout(look, x, y, `change from ${letters(of)[0]}`)) };
    chart.layout.height += Math.max(0, all.length - 4) * 40;
    return chart;
  }

  Charts.byDepth.add('beside');
  Object.assign(Charts.kinds, { overlay, costs, beside, means, change: map((cell) => cell.mbps, 1, 'throughput'),
    tail: map((cell) => cell.latency_ns_p99, -1, 'p99') });
})();
