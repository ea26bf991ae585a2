// Turns findings into traces and a layout (plot.js), for each kind of chart. Pure: nothing here touches the page.

'use strict';

const Charts = (() => {
  // Viridis without the ends that are close to the background. Lightness rises evenly, so the colours work in grey and
  // for colour-blind readers. Shapes distinguish the depths as well.
  const LIGHT = { line: '#e1e4e3', ink: '#1a1f24', soft: '#5a646e', card: '#ffffff', accent: '#0b6b70', low: '#f2f5f4',
    steps: ['#35b779', '#1f9e89', '#26828e', '#31688e', '#46327e', '#440154'] };
  const DARK = { line: '#2e353a', ink: '#e7eaec', soft: '#a0abb4', card: '#1b2024', accent: '#56c5c4', low: '#242c30',
    steps: ['#5b7fb5', '#2f9fa0', '#35b779', '#6ece58', '#b5de2b', '#fde725'] };
  const SHAPES = ['circle', 'square', 'diamond', 'triangle-up', 'triangle-down', 'pentagon', 'hexagon', 'star'];

  const theme = (dark) => (dark ? DARK : LIGHT);

  // --- Numbers as text, as the tables have it (halfpower_spec::format) ------------------------------------------

  const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ',');
  function number(value) {
    if (value === null || !Number.isFinite(value)) return '\u2013';
    const size = Math.abs(value);
    if (size >= 99.95) return (value < 0 ? '-' : '') + grouped(size.toFixed(0));
    if (size >= 9.995) return value.toFixed(1);
    if (size >= 0.9995 || size === 0) return value.toFixed(2);
    return value.toPrecision(3);
  }
  function size(bytes) {
    const [unit, name] = bytes >= 2 ** 30 ? [2 ** 30, 'GiB'] : bytes >= 2 ** 20 ? [2 ** 20, 'MiB']
      : bytes >= 1024 ? [1024, 'KiB'] : [1, 'B'];
    const count = bytes / unit;
    return `${Number.isInteger(count) ? count : number(count)} ${name}`;
  }
  function span(us) {
    if (us >= 999500) return `${number(us / 1e6)} s`;
    return us >= 999.5 ? `${number(us / 1e3)} ms` : `${number(us)} µs`;
  }
  const round = (value) => (value >= 1 ? grouped(String(value)) : String(value));
  const roundSpan = (us) => (us >= 1e6 ? `${us / 1e6} s` : us >= 1000 ? `${us / 1e3} ms` : `${us} µs`);

  // --- The study seen by path, depth and block size ------------------------------------------------------------

  const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);
  // In a sparse study, a chart may lack some sizes; restores the missing doublings if at least half were measured.
  function doublings(values) {
    const [low, high] = [values[0], values[values.length - 1]];
    const all = [...values];
    for (let value = Math.max(low, 1); value < high; value *= 2) all.push(value);
    const whole = distinct(all);
    return values.length * 2 >= whole.length ? whole : values;
  }
  // A latency of a cell in microseconds.
  const us = (cell, name) => cell.latency_ns[name] / 1e3;
  const pathOf = (item) => `${item.pattern} ${item.cache} ${item.rw}`;

  function study(findings) {
    const cells = findings.cells;
    // The advertised peak of the levels between host and medium that the analysis compares each path with.
    const held = findings.curves.filter((curve) => curve.rap_over_pap > 0);
    return {
      findings,
      sizes: doublings(distinct(cells.map((cell) => cell.bs_bytes))),
      depths: doublings(distinct(cells.map((cell) => cell.iodepth))),
      measured: distinct(cells.map((cell) => cell.iodepth)),
      paps: new Map(held.map((curve) => [pathOf(curve), curve.peak_mbps / curve.rap_over_pap])),
      of: (key) => cells.filter((cell) => pathOf(cell) === key).sort((a, b) => a.bs_bytes - b.bs_bytes),
    };
  }

  // The i-th of `count` colours, evenly spaced over the palette and interpolated if necessary.
  function colour(steps, i, count) {
    const place = count > 1 ? (i / (count - 1)) * (steps.length - 1) : steps.length - 1;
    return mixed(steps[Math.floor(place)], steps[Math.ceil(place)], place % 1);
  }

  // The colour at `share` of the way from one colour to another.
  function mixed(from, to, share) {
    const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
    const mix = (k) => Math.round(part(from, k) + (part(to, k) - part(from, k)) * share);
    return `rgb(${mix(0)}, ${mix(1)}, ${mix(2)})`;
  }

  function short(mbps) {
    if (mbps >= 9999.5) return `${(mbps / 1000).toFixed(1)}k`;
    return mbps >= 99.5 ? mbps.toFixed(0) : mbps.toPrecision(2);
  }

  // Relative luminance and contrast by WCAG 2; text on a colour takes the more legible of two colours.
  function luminance(rgb) {
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.match(/\d+/g).map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  function legible(scale, share) {
    const ground = luminance(mixed(scale[0], scale[1], share));
    return contrast(ground, 0) > contrast(ground, 1) ? '#000000' : '#ffffff';
  }

  // --- Axes ---------------------------------------------------------------------------------------------------

  // Round values from low to high: decades, with 2 and 5 between them if decades alone are too few.
  function ticks(low, high) {
    const decades = Math.log10(high / low);
    const steps = decades > 2.2 ? [1] : decades > 1.1 ? [1, 3] : [1, 2, 3, 5, 7];
    const values = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      for (const step of steps) {
        const value = Number((step * 10 ** power).toPrecision(3));
        if (value >= low && value <= high) values.push(value);
      }
    }
    return values;
  }

  // A logarithmic axis over `values` with a margin; `say` formats its ticks.
  function logAxis(values, say, margin = 0.12) {
    const positive = values.filter((value) => value > 0);
    if (!positive.length) return { type: 'log' };
    const ends = [Math.log10(Math.min(...positive)), Math.log10(Math.max(...positive))];
    const pad = Math.max((ends[1] - ends[0]) * margin, 0.12);
    const range = [ends[0] - pad, ends[1] + pad];
    return { type: 'log', range, tickvals: ticks(10 ** range[0], 10 ** range[1]), say };
  }

  // Every size has a grid line.
  const sizeAxis = (sizes) => ({ ...logAxis(sizes, size, 0.04), tickvals: sizes });

  const layout = (look, xaxis, yaxis, title) => ({ look, height: 310, xaxis, yaxis, title, shapes: [], notes: [], showlegend: false });

  // Relative half width from which an interval is meaningless.
  const MOST_REACH = 0.5;
  const reach = (cell) => (cell.mbps.high - cell.mbps.low) / 2 / cell.mbps.value;
  const isKnown = (cell) => cell.runs > 1 && reach(cell) <= MOST_REACH;
  function interval(cell) {
    if (cell.runs < 2) return ' in a single run';
    return isKnown(cell) ? ` (${number(cell.mbps.low)} to ${number(cell.mbps.high)})` : ', runs differ too much';
  }

  function hover(cell) {
    const soaker = cell.soaker_us === null ? '' : `, soaker ${number(cell.soaker_us)} µs`;
    const bad = cell.errors + cell.short_transfers;
    const cached = cell.cached ? ', answered by a cache' : '';
    const { value } = cell.mbps;
    return [
      `<b>${size(cell.bs_bytes)}, depth ${cell.iodepth}</b> (achieved ${number(cell.achieved_depth)})`,
      `${number(value)} MB/s${interval(cell)}, ${number(cell.iops)} requests/s`,
      `p50 ${span(us(cell, 'p50'))}, p99 ${span(us(cell, 'p99'))}, longest ${span(us(cell, 'max'))}`,
      `charged ${number(cell.charged_us)} µs a request${soaker}`,
      `${cell.runs} ${cell.runs === 1 ? 'run' : 'runs'}, ${cell.engine}${cached}${bad ? `, ${bad} failed or short` : ''}`,
      ...(cell.steady === false ? ['<b>not steady</b>'] : []),
    ].join('<br>');
  }
  const QUIET = { showlegend: false };

  // --- Throughput against block size --------------------------------------------------------------------------

  // Values of one line at every size of the study; null if not measured, which interrupts the line.
  const along = (sizes, line, pick) => sizes.map((bytes) => {
    const cell = line.find((other) => other.bs_bytes === bytes);
    return cell ? pick(cell) : null;
  });

  const translucent = (rgb, share) => rgb.replace('rgb(', 'rgba(').replace(')', `, ${share})`);
  // On a logarithmic axis, an interval that reaches zero ends one decade below its centre.
  const lowEnd = (cell) => Math.max(cell.mbps.low, cell.mbps.value * 0.1);
  const mean = (cell) => cell.mbps.value;

  // The band between the ends of the intervals along a line; a lone point gets a bar.
  function ribbon(whole, ink, group) {
    const line = whole.filter(isKnown);
    if (line.length < 2 || line.every((cell) => cell.mbps.low === cell.mbps.high)) return [];
    const back = [...line].reverse();
    return [{ ...QUIET, ...group, mode: 'lines', line: { width: 0 }, fill: 'toself', fillcolor: translucent(ink, 0.15),
      x: [...line, ...back].map((c) => c.bs_bytes), y: [...line.map((c) => c.mbps.high), ...back.map(lowEnd)] }];
  }

  // Values above this multiple of the fastest believed cell are cut off.
  const CLIP = 1.3;
  function limitOf(cells) {
    const believed = cells.filter((cell) => isKnown(cell) && !cell.cached && !cell.errors).map(mean);
    return believed.length ? CLIP * Math.max(...believed) : Infinity;
  }

  // The line of one depth; the chosen depth also has a ribbon, and a ring at half of its peak.
  function depthTraces(line, depth, of, look, { chosen, limit, isAlone }) {
    const i = of.depths.indexOf(depth);
    const ink = colour(look.steps, i, of.depths.length);
    const group = { meta: { depth, chosen }, name: `depth ${depth}`, opacity: chosen ? 1 : 0.55 };
    const curve = of.findings.curves.find((other) => pathOf(other) === pathOf(line[0]) && other.iodepth === depth);
    const half = chosen && curve?.half_power_bracketed && line.find((cell) => cell.bs_bytes === curve.half_power_bs_bytes);
    const shape = SHAPES[i % SHAPES.length];
    const symbol = (c) => (mean(c) > limit ? 'triangle-up-open' : c.steady === false || c.runs < 2 ? `${shape}-open` : shape);
    const clipped = (c) => Math.min(mean(c), limit);
    const told = (c) => `${hover(c)}${mean(c) > limit ? '<br>above this scale' : ''}`;
    const [joined, alone] = [line.filter((c) => !isAlone(c)), line.filter(isAlone)];
    const size = chosen ? 7 : 5;
    const traces = [
      ...(chosen ? ribbon(line, ink, group) : []),
      { ...QUIET, ...group, mode: 'lines', x: joined.map((c) => c.bs_bytes), y: joined.map(clipped),
        line: { color: ink, width: 1, dash: 'dot' } },
      { ...group, mode: 'lines+markers', x: of.sizes, y: along(of.sizes, joined, clipped),
        line: { color: ink, width: chosen ? 2.5 : 1.2 },
        marker: { color: ink, size, symbol: along(of.sizes, joined, symbol) },
        tells: along(of.sizes, joined, told) },
    ];
    if (alone.length) {
      traces.push({ ...QUIET, ...group, mode: 'markers', x: alone.map((c) => c.bs_bytes), y: alone.map(clipped),
        marker: { color: ink, size, symbol: alone.map(symbol) }, tells: alone.map(told) });
    }
    if (half) {
      traces.push({ ...QUIET, ...group, mode: 'markers', x: [half.bs_bytes], y: [clipped(half)],
        marker: { symbol: 'circle-open', size: 15, color: ink, line: { width: 2 } } });
    }
    return traces;
  }

  // The depth that a chart shows in full: the reader's choice if the path has it; otherwise the depth with the highest
  // peak, among those with the most sizes measured.
  function chosenDepth(of, cells, limit) {
    if (cells.some((cell) => cell.iodepth === of.chosen)) return of.chosen;
    const sizes = (depth) => cells.filter((cell) => cell.iodepth === depth).length;
    const most = Math.max(...cells.map((cell) => sizes(cell.iodepth)));
    const within = cells.filter((cell) => mean(cell) <= limit && 2 * sizes(cell.iodepth) >= most);
    return within.reduce((best, cell) => (mean(cell) > mean(best) ? cell : best), within[0] ?? cells[0]).iodepth;
  }

  function throughput(of, key, look) {
    const cells = of.of(key);
    const limit = limitOf(cells);
    const chosen = chosenDepth(of, cells, limit);
    const depths = distinct(cells.map((cell) => cell.iodepth)).sort((a, b) => (a === chosen) - (b === chosen));
    // A single run joins nothing, unless there are only single runs.
    const isAlone = (cell) => cell.runs < 2 && cells.some((other) => other.runs > 1);
    const data = depths.flatMap((depth) => depthTraces(cells.filter((cell) => cell.iodepth === depth), depth, of, look,
      { chosen: depth === chosen, limit, isAlone }));
    const pap = of.paps.get(key);
    const y = logAxis([...cells.map((cell) => Math.min(mean(cell), limit)), ...(pap ? [pap] : [])], round, 0.06);
    const chart = layout(look, sizeAxis(of.sizes), y, `MB/s; chosen: ${chosen} deep`);
    if (pap) {
      chart.shapes = [{ name: 'PAP', type: 'line', xref: 'paper', x0: 0, x1: 1, y0: pap, y1: pap,
        line: { color: look.soft, width: 1.5, dash: 'dash' } }];
      chart.notes.push({ text: `PAP ${number(pap)}`, xref: 'paper', x: 0.01, y: pap });
    }
    return { data, layout: chart };
  }

  // The axis of a map, whose columns or rows have names.
  const nameAxis = (names) => ({ type: 'category', names, grid: false, flat: true });

  // --- Block size x depth -------------------------------------------------------------------------------------

  // Positions on the map count from 0 along each axis; a cell extends half a position to each side.
  const placeOf = (of, bytes, depth) => [of.sizes.indexOf(bytes), of.depths.indexOf(depth)];

  // A line through the map that separates cells of at least `level` of the best from the others. It runs between two
  // measured neighbours on different sides; over cells that were not measured nothing is known, and nothing is drawn.
  function contour(of, at, share, level) {
    const segments = [];
    const above = (x, y) => { const cell = at(of.depths[y], of.sizes[x]); return cell ? share(cell) >= level : null; };
    const walk = (length, side, draw) => {
      let last = null;
      for (let place = 0; place < length; place += 1) {
        const now = side(place);
        if (last !== null && now !== null && last !== now) segments.push(draw(place - 0.5));
        last = now;
      }
    };
    of.depths.forEach((_, y) => walk(of.sizes.length, (x) => above(x, y), (x) => `M${x},${y - 0.5}L${x},${y + 0.5}`));
    of.sizes.forEach((_, x) => walk(of.depths.length, (y) => above(x, y), (y) => `M${x - 0.5},${y}L${x + 0.5},${y}`));
    return segments;
  }

  function contours(of, at, share, look) {
    return [[0.5, 'dot'], [0.95, 'solid']].flatMap(([level, dash]) => {
      const segments = contour(of, at, share, level);
      return segments.length ? [{ name: `contour ${level * 100}`, type: 'path', path: segments.join(''),
        line: { color: look.ink, width: 1.6, dash } }] : [];
    });
  }

  function hatching(cell, of, look, shareOfBest) {
    const [x, y] = placeOf(of, cell.bs_bytes, cell.iodepth);
    const line = (from, to) => `M${x + from[0]},${y + from[1]}L${x + to[0]},${y + to[1]}`;
    const lines = [0.25, 0.5, 0.75].flatMap((k) => [line([-0.5, 0.5 - k], [-0.5 + k, 0.5]), line([0.5 - k, -0.5], [0.5, -0.5 + k])]);
    return { name: 'not steady', type: 'path', path: lines.join(''), opacity: 0.55,
      line: { color: legible([look.low, look.accent], shareOfBest), width: 1 } };
  }

  function advised(of, key, look) {
    return of.findings.advice
      .filter((advice) => `${advice.pattern} ${advice.settings.cache} ${advice.rw}` === key)
      .map((advice) => placeOf(of, advice.settings.bs, advice.settings.iodepth))
      .filter(([x0, y0]) => x0 >= 0 && y0 >= 0)
      .map(([x0, y0]) => ({ name: 'advised', type: 'rect', x0: x0 - 0.5, x1: x0 + 0.5, y0: y0 - 0.5, y1: y0 + 0.5,
        line: { color: look.ink, width: 3 } }));
  }

  function heat(of, key, look, width) {
    const cells = of.of(key);
    const at = (depth, bytes) => cells.find((cell) => cell.iodepth === depth && cell.bs_bytes === bytes);
    // If nothing moved on the path, there is no best; its cells are then 0%.
    const best = Math.max(...cells.map((cell) => cell.mbps.value)) || 1;
    const rows = (pick) => of.depths.map((depth) => of.sizes.map((bytes) => {
      const cell = at(depth, bytes);
      return cell ? pick(cell) : null;
    }));
    const share = (cell) => cell.mbps.value / best;
    const data = [
      { type: 'heatmap', x: of.sizes.map(size), y: of.depths.map(String),
        z: rows((c) => 100 * share(c)), zmin: 0, zmax: 100,
        tells: rows((c) => `${hover(c)}<br>${(100 * share(c)).toFixed(0)}% of the best`), gap: true,
        colorscale: [[0, look.low], [1, look.accent]] },
      { ...QUIET, mode: 'text', x: cells.map((c) => size(c.bs_bytes)), y: cells.map((c) => String(c.iodepth)),
        text: cells.map((c) => short(c.mbps.value)),
        textfont: { size: width < 420 ? 9 : 11, color: cells.map((c) => legible([look.low, look.accent], share(c))) } },
    ];
    const chart = layout(look, nameAxis(of.sizes.map(size)), nameAxis(of.depths.map(String)), 'depth');
    chart.shapes = [
      ...cells.filter((cell) => cell.steady === false).map((cell) => hatching(cell, of, look, share(cell))),
      ...contours(of, at, share, look),
      ...advised(of, key, look),
    ];
    return { data, layout: chart };
  }

  // --- Throughput against latency -----------------------------------------------------------------------------

  // At most three block sizes: the smallest, the middle and the largest of those with the most depths.
  function tracedSizes(cells) {
    const depths = (bytes) => cells.filter((cell) => cell.bs_bytes === bytes).length;
    const sizes = distinct(cells.map((cell) => cell.bs_bytes));
    const most = Math.max(...sizes.map(depths));
    const full = sizes.filter((bytes) => depths(bytes) >= Math.max(2, most * 0.6));
    const from = full.length ? full : sizes;
    return distinct([from[0], from[(from.length - 1) >> 1], from[from.length - 1]]);
  }

  // Kleinrock's knee: the depth with the highest ratio of throughput to median latency. It needs more than two depths.
  function knee(line, ink, group) {
    if (line.length < 3) return [];
    const power = (cell) => cell.mbps.value / us(cell, 'p50');
    const best = line.reduce((a, b) => (power(b) > power(a) ? b : a));
    return [{ ...QUIET, ...group, name: 'knee', mode: 'markers', x: [best.mbps.value], y: [us(best, 'p50')],
      marker: { symbol: 'circle-open', size: 15, color: ink, line: { width: 2 } } }];
  }

  function latency(of, key, look) {
    const cells = of.of(key);
    const sizes = tracedSizes(cells);
    const data = sizes.flatMap((bytes, i) => {
      const line = cells.filter((cell) => cell.bs_bytes === bytes).sort((a, b) => a.iodepth - b.iodepth);
      const ink = colour(look.steps, sizes.length - 1 - i, sizes.length);
      const x = line.map((cell) => cell.mbps.value);
      const shared = { x, legendgroup: String(bytes), tells: line.map(hover) };
      return [
        { ...shared, name: size(bytes), mode: 'lines+markers+text', y: line.map((c) => us(c, 'p50')),
          text: line.map((c, k) => (k === 0 || k === line.length - 1 ? String(c.iodepth) : '')),
          textposition: line.map((_, k) => (k === 0 ? 'bottom center' : 'middle right')),
          textfont: { size: 11, color: look.ink },
          line: { color: ink, width: 2 }, marker: { color: ink, size: 6, symbol: SHAPES[i] } },
        { ...shared, name: `${size(bytes)}, p99`, mode: 'lines+markers', y: line.map((c) => us(c, 'p99')),
          showlegend: false, line: { color: ink, width: 1.5, dash: 'dot' },
          marker: { color: ink, size: 6, symbol: `${SHAPES[i]}-open` } },
        ...knee(line, ink, { legendgroup: String(bytes) }),
      ];
    });
    const all = cells.filter((cell) => sizes.includes(cell.bs_bytes));
    const x = logAxis(all.map((c) => c.mbps.value), round, 0.06);
    const y = logAxis(all.flatMap((c) => [us(c, 'p50'), us(c, 'p99')]), roundSpan, 0.06);
    const chart = layout(look, { ...x, title: 'MB/s' }, y, 'latency');
    chart.showlegend = true;
    chart.height = 330;
    return { data, layout: chart };
  }

  // --- Cost a request -----------------------------------------------------------------------------------------

  function fitLine(fit, sizes) {
    const [low, high] = [Math.log2(sizes[0]), Math.log2(sizes[sizes.length - 1])];
    const x = Array.from({ length: 41 }, (_, i) => 2 ** (low + ((high - low) * i) / 40));
    return { x, y: x.map((bytes) => fit.fixed_us.value + (fit.marginal_us_per_kib.value * bytes) / 1024) };
  }

  function cost(of, key, look) {
    const cells = of.of(key);
    const own = distinct(cells.map((cell) => cell.bs_bytes));
    const fit = (bound) => of.findings.cost.find((item) => pathOf(item) === key && item.bound === bound);
    const [charged, soaker] = [fit('charged'), fit('soaker')];
    const band = `${look.accent}22`;
    const line = { ...QUIET, mode: 'lines' };
    const data = [];
    if (charged) data.push({ ...line, ...fitLine(charged, own), line: { color: look.accent, width: 2 } });
    if (soaker) {
      data.push({ ...line, ...fitLine(soaker, own), line: { color: look.accent, width: 1.5, dash: 'dash' },
        ...(charged ? { fill: 'tonexty', fillcolor: band } : {}) });
    }
    const points = (some, pick, marker) => ({ mode: 'markers', x: some.map((c) => c.bs_bytes), y: some.map(pick),
      marker, tells: some.map(hover) });
    const soaked = cells.filter((cell) => cell.soaker_us !== null);
    const ring = { symbol: 'circle-open', size: 7, color: look.soft, line: { width: 1.5 } };
    if (soaked.length) data.push(points(soaked, (c) => c.soaker_us, ring));
    data.push(points(cells, (c) => c.charged_us, { size: 5, color: look.ink, opacity: 0.7 }));
    const values = cells.flatMap((cell) => [cell.charged_us, cell.soaker_us ?? cell.charged_us]);
    const y = logAxis(values, round, 0.06);
    return { data, layout: layout(look, sizeAxis(of.sizes), y, 'µs a request') };
  }

  return { study, theme, number, size, span, round, colour, distinct, pathOf, logAxis, roundSpan, sizeAxis, nameAxis, layout, hover,
    QUIET, SHAPES, kinds: { throughput, heat, latency, cost },
    // The kinds that show the chosen depth.
    byDepth: new Set(['throughput']) };
})();
