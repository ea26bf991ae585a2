// Draws a chart as SVG: axes, lines, marks, bars, maps of colours, shapes and notes, with a legend in HTML below.
//
// A chart is { data, layout }. Each trace of `data` has x and y, and:
//   (no type)  mode of 'lines', 'markers' and 'text' joined by +; line { color, width, dash, shape }; marker { color, size,
//              symbol, opacity, line }; text, textposition, textfont; fill ('toself', 'tonexty' or 'tozeroy') with
//              fillcolor; stackgroup; error_x and error_y { array, arrayminus, color, width }
//   'bar'      marker.color, error_y; grouped, or stacked with layout.barmode
//   'heatmap'  z in rows, zmin, zmax, colorscale; null is left blank
// `tells` has the text of each point, whose lines are separated by <br> and may be <b>bold</b>; a trace without it is not
// pointed at. `name`, `legendgroup` and `showlegend` serve the legend; a trace also has an `opacity`.
// The layout has look (colours), height, title, xaxis, yaxis, shapes, notes, showlegend and strip (a scale of colours).
// An axis has type ('linear', 'log' or 'category'), range (logarithms on a 'log' axis), tickvals, say (a tick's text),
// names (of positions), title, zero (begins at 0), reversed, quiet (no texts), grid (false has no lines), sparse (lines at
// texts only), flat (names in one line) and rule (a stronger line at this value).

'use strict';

const Plot = (() => {
  // The name space of SVG, taken from the browser, so that no address stands in the page.
  const template = document.createElement('template');
  template.innerHTML = '<svg></svg>';
  const SPACE = template.content.firstChild.namespaceURI;
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
  const SIZE = 12;
  const DASHES = { dot: '1.5 4', dash: '7 5' };
  const ruler = document.createElement('canvas').getContext('2d');
  let count = 0;

  function make(name, attributes = {}, text = undefined) {
    const made = document.createElementNS(SPACE, name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== null) made.setAttribute(key, String(value));
    }
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function lengthOf(text, size = SIZE) {
    ruler.font = `${size}px ${FONT}`;
    return ruler.measureText(text).width;
  }

  const near = (value) => Math.round(value * 10) / 10;
  const of = (value, i) => (Array.isArray(value) ? value[i] : value);
  const least = (values) => values.reduce((low, value) => Math.min(low, value), Infinity);
  const most = (values) => values.reduce((high, value) => Math.max(high, value), -Infinity);

  // --- Scales and ticks ---------------------------------------------------------------------------------------

  // All values of the traces along one axis, ends of intervals and sums of stacks included.
  function valuesAlong(data, letter) {
    return data.flatMap((trace) => {
      const values = trace[letter];
      const reach = trace[`error_${letter}`];
      const ends = reach ? values.flatMap((value, i) => [value + reach.array[i], value - reach.arrayminus[i]]) : [];
      const sums = letter === 'y' && trace.sums ? trace.sums : [];
      return [...values, ...ends, ...sums].filter((value) => value !== null);
    });
  }

  // `unit` turns a value into its place along the axis: itself, its logarithm, or the index of a name.
  function scaleOf(axis, data, letter, zoomed) {
    const map = data.find((trace) => trace.type === 'heatmap');
    const raw = axis.type === 'category' && map ? map[letter] : valuesAlong(data, letter);
    const names = axis.type === 'category' ? (axis.names ?? (map ? raw : [...new Set(raw)])) : null;
    const unit = names ? (value) => (typeof value === 'number' ? value : names.indexOf(value))
      : axis.type === 'log' ? (value) => (value > 0 ? Math.log10(value) : NaN) : (value) => value;
    const range = zoomed ?? wholeRange(axis, names, raw.map(unit).filter(Number.isFinite));
    return { axis, names, unit, range, zoomed: Boolean(zoomed) };
  }

  function wholeRange(axis, names, units) {
    if (axis.range) return axis.range;
    if (names) return axis.reversed ? [names.length - 0.5, -0.5] : [-0.5, names.length - 0.5];
    if (!units.length) return [0, 1];
    const [low, high] = [axis.zero ? Math.min(0, least(units)) : least(units), most(units)];
    const pad = (high - low || Math.abs(high) || 1) * 0.05;
    return [axis.zero && low === 0 ? 0 : low - pad, high + pad];
  }

  // Gives the scale its pixels; `px` is the pixel of a value, and `back` the place of a pixel along the axis.
  function onPixels(scale, from, to) {
    const [low, high] = scale.range;
    const ofUnit = (unit) => from + ((unit - low) / (high - low)) * (to - from);
    const inside = (unit) => unit >= Math.min(low, high) - 1e-9 && unit <= Math.max(low, high) + 1e-9;
    return Object.assign(scale, { from, to, ofUnit, inside, px: (value) => ofUnit(scale.unit(value)),
      back: (pixel) => low + ((pixel - from) / (to - from)) * (high - low) });
  }

  // Round values between two ends, about as many as wanted.
  function roundValues(low, high, wanted) {
    if (!(high > low)) return [low];
    const rough = (high - low) / Math.max(wanted, 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
    const values = [];
    for (let value = Math.ceil(low / step - 1e-9); value * step <= high + step * 1e-9; value += 1) {
      values.push(Number((value * step).toPrecision(12)));
    }
    return values;
  }

  const plain = (value) => (Math.abs(value) >= 1000 ? value.toLocaleString('en-US') : String(value));

  // Ticks as [place along the axis, text].
  function ticksOf(scale, pixels, each) {
    const { axis, names, unit, range, inside } = scale;
    const say = axis.say ?? plain;
    if (names && !axis.tickvals) return names.map((name, i) => [i, axis.quiet ? '' : name]).filter(([i]) => inside(i));
    const given = (axis.tickvals ?? []).map((value) => [unit(value), say(value)]).filter(([place]) => inside(place));
    if (given.length > 1 || (axis.tickvals && !scale.zoomed)) return given;
    const [low, high] = [Math.min(...range), Math.max(...range)];
    const wanted = Math.max(pixels / each, 2);
    const values = axis.type === 'log' ? roundValues(10 ** low, 10 ** high, wanted) : roundValues(low, high, wanted);
    return values.filter((value) => axis.type !== 'log' || value > 0).map((value) => [unit(value), say(value)]);
  }

  // The ticks whose texts have room, where a text takes what `extent` says around its pixel: in an even row every one, every
  // second or so on, in an uneven one each that has room after the one before.
  function withRoom(ticks, extent) {
    const steps = ticks.slice(1).map(([place], i) => Math.abs(place - ticks[i][0]));
    const even = most(steps) < 1.1 * least(steps);
    for (const every of even ? [1, 2, 3, 4] : []) {
      const thinned = ticks.map(([place, text], i) => [place, i % every ? '' : text]);
      const fitting = greedy(thinned, extent);
      if (thinned.every((tick, i) => tick === fitting[i])) return thinned;
    }
    return greedy(ticks, extent);
  }

  function greedy(ticks, extent) {
    let end = -Infinity;
    return ticks.map((tick) => {
      if (!tick[1]) return tick;
      const [low, high] = extent(...tick);
      if (low < end) return [tick[0], ''];
      end = high;
      return tick;
    });
  }

  // --- The frame: margins, grid, texts of the axes -------------------------------------------------------------

  // A name in lines that fit a width; null if a word does not.
  function wrapped(name, width) {
    const lines = [];
    for (const word of name.split(' ')) {
      const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
      if (lines.length && lengthOf(longer, 11) <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines.length <= 3 && lines.every((line) => lengthOf(line, 11) <= width) ? lines : null;
  }

  // How names of bars are set below them: in lines, or slanted if they are too long for that.
  function namesBelow(scale, pixels) {
    const width = pixels / scale.names.length - 6;
    const lines = scale.names.map((name) => wrapped(name, width));
    if (lines.every(Boolean)) return { lines, room: 8 + 13 * most(lines.map((one) => one.length)) };
    return { lines: null, room: 14 + Math.min(most(scale.names.map((name) => lengthOf(name, 11))), 150) * 0.6 };
  }

  function frame(view, width, height) {
    const { layout, data } = view.chart;
    const scales = { x: scaleOf(layout.xaxis, data, 'x', view.zoom?.x), y: scaleOf(layout.yaxis, data, 'y', view.zoom?.y) };
    const top = 30;
    const rough = onPixels(scales.y, height - 30, top);
    const left = Math.max(54, 12 + most([0, ...ticksOf(rough, height - 60, 44).map(([, text]) => lengthOf(text))]));
    const right = width - 16;
    const bars = scales.x.names && !layout.xaxis.quiet && !layout.xaxis.flat ? namesBelow(scales.x, right - left) : null;
    const bottom = height - 10 - (bars ? bars.room : layout.xaxis.quiet ? 4 : 18) - (layout.xaxis.title ? 18 : 0);
    onPixels(scales.x, left, Math.max(right, left + 20));
    onPixels(scales.y, Math.max(bottom, top + 20), top);
    return { ...scales, left, right: Math.max(right, left + 20), top, bottom: Math.max(bottom, top + 20), bars };
  }

  function gridAndTicks(svg, box, layout) {
    const { look, xaxis, yaxis } = layout;
    const grid = make('g', { class: 'grid', stroke: look.line, 'shape-rendering': 'crispEdges' });
    const below = make('g', { class: 'xtick', 'text-anchor': 'middle', fill: look.soft });
    const beside = make('g', { class: 'ytick', 'text-anchor': 'end', fill: look.soft });
    const { left, right, top, bottom } = box;
    const xticks = ticksOf(box.x, right - left, 80);
    const slanted = box.bars && !box.bars.lines;
    const half = (text) => lengthOf(text) / 2 + 5;
    const shown = box.bars ? xticks : withRoom(xticks, (place, text) => [box.x.ofUnit(place) - half(text), box.x.ofUnit(place) + half(text)]);
    for (const [place, text] of shown) {
      const x = near(box.x.ofUnit(place));
      if (xaxis.grid !== false && (text || !xaxis.sparse)) grid.append(make('line', { x1: x, x2: x, y1: top, y2: bottom }));
      if (!text) continue;
      if (slanted) {
        const cut = lengthOf(text, 11) > 150 ? `${text.slice(0, 22)}…` : text;
        below.append(make('text', { 'font-size': 11, 'text-anchor': 'end', transform: `translate(${x + 4} ${bottom + 14}) rotate(-35)` }, cut));
      } else if (box.bars) {
        box.bars.lines[place].forEach((line, i) => below.append(make('text', { x, y: bottom + 15 + 13 * i, 'font-size': 11 }, line)));
      } else {
        below.append(make('text', { x, y: bottom + 16 }, text));
      }
    }
    const yticks = withRoom(ticksOf(box.y, bottom - top, 44).sort((a, b) => box.y.ofUnit(b[0]) - box.y.ofUnit(a[0])),
      (place) => [-box.y.ofUnit(place) - 7, -box.y.ofUnit(place) + 7]);
    for (const [place, text] of yticks) {
      const y = near(box.y.ofUnit(place));
      if (yaxis.grid !== false) grid.append(make('line', { x1: left, x2: right, y1: y, y2: y }));
      if (text) beside.append(make('text', { x: left - 7, y: y + 4 }, text));
    }
    if (xaxis.rule !== undefined) {
      const x = near(box.x.px(xaxis.rule));
      grid.append(make('line', { x1: x, x2: x, y1: top, y2: bottom, stroke: look.soft, 'stroke-width': 2 }));
    }
    svg.append(grid, below, beside);
    svg.append(make('text', { class: 'title', x: 4, y: 18, fill: look.soft }, layout.title ?? ''));
    if (xaxis.title) {
      svg.append(make('text', { x: near((left + right) / 2), y: box.height - 6, 'text-anchor': 'middle', fill: look.soft }, xaxis.title));
    }
  }

  // --- Marks --------------------------------------------------------------------------------------------------

  const corners = (n, r, turn = 0) => Array.from({ length: n }, (_, i) => {
    const angle = ((i + turn) / n) * 2 * Math.PI - Math.PI / 2;
    return `${near(r * Math.cos(angle))},${near(r * Math.sin(angle))}`;
  });
  const closed = (points) => `M${points.join('L')}Z`;
  const SYMBOLS = {
    circle: (r) => `M${r},0A${r},${r} 0 1,1 ${-r},0A${r},${r} 0 1,1 ${r},0Z`,
    square: (r) => closed(corners(4, r * 1.3, 0.5)),
    diamond: (r) => closed(corners(4, r * 1.3)),
    'triangle-up': (r) => closed(corners(3, r * 1.3)),
    'triangle-down': (r) => closed(corners(3, r * 1.3, 0.5)),
    pentagon: (r) => closed(corners(5, r * 1.15)),
    hexagon: (r) => closed(corners(6, r * 1.1)),
    star: (r) => closed(corners(5, r * 1.45).flatMap((point, i) => [point, corners(5, r * 0.62, 0.5)[i]])),
  };

  function mark(symbol, size, ink, line) {
    const open = symbol.endsWith('-open');
    const d = (SYMBOLS[symbol.replace('-open', '')] ?? SYMBOLS.circle)(size / 2);
    return make('path', { d, fill: open ? 'none' : ink, stroke: open || line ? ink : null, 'stroke-width': open || line ? line?.width ?? 1.5 : null });
  }

  // The points of a trace in pixels; those without a place are null.
  function pixels(trace, box) {
    const values = trace.sums ?? trace.y;
    return trace.x.map((x, i) => {
      if (x === null || values[i] === null || values[i] === undefined) return null;
      const point = [box.x.px(x), box.y.px(values[i])];
      return point.every(Number.isFinite) ? point : null;
    });
  }

  const join = (points) => points.map(([x, y]) => `${near(x)},${near(y)}`).join('L');

  // The stretches of a line between its gaps.
  function stretches(points) {
    const all = [[]];
    for (const point of points) {
      if (point) all[all.length - 1].push(point);
      else all.push([]);
    }
    return all.filter((stretch) => stretch.length);
  }

  // A line that keeps its value to the middle between two points.
  const stepped = (points) => points.flatMap(([x, y], i) => {
    const before = i > 0 ? [[(points[i - 1][0] + x) / 2, y]] : [];
    const after = i + 1 < points.length ? [[(points[i + 1][0] + x) / 2, y]] : [];
    return [...before, [x, y], ...after];
  });

  function drawFill(layer, trace, points, before, box) {
    const line = points.filter(Boolean);
    if (!line.length) return;
    const zero = Math.min(Math.max(box.y.px(0), box.top), box.bottom);
    const ground = before ? [...before].reverse()
      : [[line[line.length - 1][0], zero], [line[0][0], zero]].filter(([, y]) => Number.isFinite(y));
    const border = trace.fill === 'toself' ? line : [...line, ...ground];
    layer.append(make('path', { d: `M${join(border)}Z`, fill: trace.fillcolor, opacity: trace.opacity }));
  }

  function drawLine(layer, trace, points) {
    const { color, width = 2, dash, shape } = trace.line ?? {};
    if (!width) return;
    const d = stretches(points).map((stretch) => `M${join(shape === 'hvh' ? stepped(stretch) : stretch)}`).join('');
    layer.append(make('path', { d, fill: 'none', stroke: color, 'stroke-width': width, 'stroke-dasharray': DASHES[dash],
      'stroke-linejoin': 'round', opacity: trace.opacity }));
  }

  function drawReach(layer, trace, points, box) {
    for (const [letter, reach] of [['x', trace.error_x], ['y', trace.error_y]]) {
      if (!reach) continue;
      const cap = reach.width ?? 2;
      points.forEach((point, i) => {
        if (!point || !(reach.array[i] > 0 || reach.arrayminus[i] > 0)) return;
        const values = letter === 'x' ? trace.x : trace.y;
        const scale = box[letter];
        const end = (value) => (Number.isFinite(scale.px(value)) ? near(scale.px(value)) : scale.from);
        const [one, other] = [end(values[i] - reach.arrayminus[i]), end(values[i] + reach.array[i])];
        const [x, y] = point.map(near);
        const d = letter === 'y' ? `M${x},${one}V${other}M${x - cap},${one}H${x + cap}M${x - cap},${other}H${x + cap}`
          : `M${one},${y}H${other}M${one},${y - cap}V${y + cap}M${other},${y - cap}V${y + cap}`;
        layer.append(make('path', { d, fill: 'none', stroke: reach.color, 'stroke-width': 1, opacity: trace.opacity }));
      });
    }
  }

  const PLACES = { 'bottom center': [0, 16, 'middle'], 'middle right': [8, 4, 'start'], 'middle center': [0, 4, 'middle'] };

  function drawMarksAndWords(layers, view, trace, curve, points, box) {
    const { mode = 'lines', marker = {}, textfont = {} } = trace;
    const marks = make('g', { opacity: trace.opacity, 'fill-opacity': marker.opacity });
    const inSight = ([x, y]) => x >= box.left - 0.5 && x <= box.right + 0.5 && y >= box.top - 0.5 && y <= box.bottom + 0.5;
    points.forEach((point, i) => {
      const text = trace.tells?.[i];
      const seen = Boolean(point) && inSight(point);
      const ink = of(marker.color, i) ?? trace.line?.color;
      if (text) view.targets.push({ text, seen, ink, x: point?.[0], y: point?.[1], trace: curve });
      if (!seen) return;
      if (mode.includes('markers')) {
        const one = mark(of(marker.symbol, i) ?? 'circle', of(marker.size, i) ?? 6, ink, marker.line);
        one.setAttribute('transform', `translate(${near(point[0])} ${near(point[1])})`);
        marks.append(one);
      }
      if (mode.includes('text') && trace.text[i]) {
        const [dx, dy, anchor] = PLACES[of(trace.textposition, i) ?? 'middle center'];
        layers.words.append(make('text', { x: near(point[0] + dx), y: near(point[1] + dy), 'text-anchor': anchor,
          'font-size': of(textfont.size, i), fill: of(textfont.color, i) }, trace.text[i]));
      }
    });
    if (marks.firstChild) layers.marks.append(marks);
  }

  // The running sums of traces that stand on each other.
  function stack(data, isShown) {
    let below = null;
    for (const trace of data) {
      delete trace.sums;
      if (!trace.stackgroup || !isShown(trace)) continue;
      trace.sums = trace.y.map((value, i) => (value ?? 0) + (below ? below[i] : 0));
      below = trace.sums;
    }
  }

  // --- Bars ---------------------------------------------------------------------------------------------------

  function barTop(data, barmode) {
    const columns = new Map();
    for (const trace of data.filter((one) => one.type === 'bar')) {
      trace.base = trace.x.map((name, i) => {
        const under = barmode === 'stack' ? columns.get(name) ?? 0 : 0;
        columns.set(name, under + (trace.y[i] ?? 0));
        return under;
      });
      trace.sums = trace.y.map((value, i) => (value === null ? null : trace.base[i] + value));
    }
  }

  function drawBars(layers, view, bars, box) {
    const stacked = view.chart.layout.barmode === 'stack';
    const width = 0.75 / (stacked ? 1 : bars.length || 1);
    bars.forEach(([trace, curve], at) => {
      const points = trace.x.map((name, i) => {
        if (trace.sums[i] === null || trace.sums[i] === undefined) return null;
        const from = box.x.unit(name) - 0.375 + (stacked ? 0 : at * width);
        const [left, right] = [box.x.ofUnit(from), box.x.ofUnit(from + width)];
        const top = box.y.px(trace.sums[i]);
        const ground = box.y.axis.type === 'log' ? box.bottom : box.y.px(trace.base[i]);
        const [y, height] = [Math.min(top, ground), Math.max(Math.abs(ground - top), 1)];
        if (![y, height].every(Number.isFinite)) return null;
        layers.bars.append(make('rect', { x: near(left), y: near(y), width: near(Math.max(right - left - 1, 1)), height: near(height),
          fill: trace.marker.color }));
        const seen = right > box.left && left < box.right;
        if (trace.tells?.[i]) {
          view.targets.push({ text: trace.tells[i], seen, ink: trace.marker.color, x: (left + right) / 2, y,
            area: [left, y - 12, right, y + height], trace: curve });
        }
        return [(left + right) / 2, top];
      });
      if (!stacked) drawReach(layers.reach, { ...trace, error_y: trace.error_y && { ...trace.error_y, color: view.chart.layout.look.ink } }, points, box);
    });
  }

  // --- Maps of colours ----------------------------------------------------------------------------------------

  const STEPS = 64;

  function mixed(scale, share) {
    const at = scale.findIndex(([stop]) => stop >= share);
    const [[low, from], [high, to]] = [scale[Math.max(at - 1, 0)], scale[Math.max(at, 0)]];
    const way = high > low ? (share - low) / (high - low) : 0;
    const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
    return `rgb(${[0, 1, 2].map((k) => Math.round(part(from, k) + (part(to, k) - part(from, k)) * way)).join(', ')})`;
  }

  // The edges of columns or rows: midway between the centres.
  function edges(scale, centres) {
    const units = centres.map((value, i) => (scale.names ? i : scale.unit(value)));
    const step = units.length > 1 ? units[1] - units[0] : 1;
    return [...units.map((unit, i) => (i ? (unit + units[i - 1]) / 2 : unit - step / 2)), units[units.length - 1] + step / 2]
      .map((unit) => near(scale.ofUnit(unit)));
  }

  // One path for each step of colour, so that a map of many thousands of cells is drawn at once.
  function drawMap(layer, view, trace, curve, box) {
    const [columns, rows] = [edges(box.x, trace.x), edges(box.y, trace.y)];
    const gap = trace.gap ? 0.5 : 0;
    const paths = new Map();
    trace.z.forEach((line, row) => line.forEach((z, column) => {
      if (z === null || z === undefined) return;
      const share = Math.min(Math.max((z - trace.zmin) / (trace.zmax - trace.zmin), 0), 1);
      const step = Math.round(share * STEPS) / STEPS;
      const [left, right] = [columns[column] + gap, columns[column + 1] - gap];
      const [top, bottom] = [Math.min(rows[row], rows[row + 1]) + gap, Math.max(rows[row], rows[row + 1]) - gap];
      if (!paths.has(step)) paths.set(step, []);
      paths.get(step).push(`M${left},${top}H${right}V${bottom}H${left}Z`);
      const seen = right > box.left && left < box.right && bottom > box.top && top < box.bottom;
      const text = trace.tells?.[row]?.[column];
      if (text) {
        view.targets.push({ text, seen, ink: mixed(trace.colorscale, step), x: (left + right) / 2, y: (top + bottom) / 2,
          area: [left, top, right, bottom], trace: curve });
      }
    }));
    for (const [step, parts] of paths) layer.append(make('path', { d: parts.join(''), fill: mixed(trace.colorscale, step) }));
  }

  // --- Shapes and notes ---------------------------------------------------------------------------------------

  function drawShapes(layer, shapes, box) {
    const x = (shape, value) => (shape.xref === 'paper' ? box.left + value * (box.right - box.left) : box.x.px(value));
    const y = (shape, value) => (shape.yref === 'paper' ? box.bottom - value * (box.bottom - box.top) : box.y.px(value));
    for (const shape of shapes ?? []) {
      const at = (left, up) => `${near(x(shape, left))},${near(y(shape, up))}`;
      const { x0, x1, y0, y1 } = shape;
      const d = shape.type === 'path' ? shape.path.replace(/([ML])([-\d.]+),([-\d.]+)/g, (_, pen, left, up) => pen + at(Number(left), Number(up)))
        : shape.type === 'rect' ? `M${at(x0, y0)}L${at(x1, y0)}L${at(x1, y1)}L${at(x0, y1)}Z` : `M${at(x0, y0)}L${at(x1, y1)}`;
      if (d.includes('NaN')) continue;
      layer.append(make('path', { d, fill: shape.fillcolor ?? 'none', stroke: shape.line?.width ? shape.line.color : null,
        'stroke-width': shape.line?.width, 'stroke-dasharray': DASHES[shape.line?.dash], opacity: shape.opacity }));
    }
  }

  // A note is a text beside a place: { text, x, y, xref, yref, xanchor: 'left' or 'right', color }.
  function drawNotes(layer, notes, box, look) {
    for (const note of notes ?? []) {
      const x = note.xref === 'paper' ? box.left + note.x * (box.right - box.left) : box.x.px(note.x);
      const y = note.yref === 'paper' ? box.bottom - note.y * (box.bottom - box.top) : box.y.px(note.y);
      if (!(x >= box.left - 1 && x <= box.right + 1 && y >= box.top - 1 && y <= box.bottom + 1)) continue;
      // Above its place, or below it where the chart ends.
      const down = y - box.top < 16 ? 14 : -5;
      layer.append(make('text', { x: near(x), y: near(y + down), 'font-size': 11, fill: note.color ?? look.soft,
        'text-anchor': note.xanchor === 'right' ? 'end' : 'start', 'paint-order': 'stroke', stroke: look.card, 'stroke-width': 3 }, note.text));
    }
  }

  // --- The whole ----------------------------------------------------------------------------------------------

  const groupOf = (trace) => trace.legendgroup ?? trace.name ?? '';

  function layersOf(svg, box) {
    count += 1;
    const id = `inside-${count}`;
    const clip = make('clipPath', { id });
    clip.append(make('rect', { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top }));
    svg.append(clip);
    const layers = {};
    for (const name of ['map', 'shapes', 'fills', 'bars', 'lines', 'reach', 'marks', 'words', 'notes']) {
      const cut = !['marks', 'words', 'notes'].includes(name);
      layers[name] = make('g', { class: name, 'clip-path': cut ? `url(#${id})` : null });
      svg.append(layers[name]);
    }
    return layers;
  }

  // The chart of a view { chart, zoom, hidden } as SVG. Sets the view's `box`, and its `targets`: all points that tell
  // something, in the order of the traces.
  function svgOf(view, width, height) {
    const { data, layout } = view.chart;
    const isShown = (trace) => !view.hidden.has(groupOf(trace));
    stack(data, isShown);
    barTop(data.filter(isShown), layout.barmode);
    const svg = make('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'font-family': FONT, 'font-size': SIZE, 'aria-hidden': 'true' });
    const box = { ...frame(view, width, height), width, height };
    Object.assign(view, { box, targets: [] });
    gridAndTicks(svg, box, layout);
    const layers = layersOf(svg, box);
    const bars = data.flatMap((trace, curve) => (trace.type === 'bar' && isShown(trace) ? [[trace, curve]] : []));
    drawBars(layers, view, bars, box);
    let before = null;
    data.forEach((trace, curve) => {
      if (trace.type === 'bar' || !isShown(trace)) return;
      if (trace.type === 'heatmap') { drawMap(layers.map, view, trace, curve, box); return; }
      const points = pixels(trace, box);
      const line = points.filter(Boolean);
      const onPrevious = trace.fill === 'tonexty' || trace.stackgroup;
      if (trace.fill || trace.stackgroup) drawFill(layers.fills, trace, points, onPrevious ? before : null, box);
      if ((trace.mode ?? 'lines').includes('lines')) drawLine(layers.lines, trace, points);
      drawReach(layers.reach, trace, points, box);
      drawMarksAndWords(layers, view, trace, curve, points, box);
      before = line;
    });
    drawShapes(layers.shapes, layout.shapes, box);
    drawNotes(layers.notes, layout.notes, box, layout.look);
    return svg;
  }

  // The traces that the legend names, the first of each group.
  function named(data) {
    const groups = new Set();
    return data.filter((trace) => {
      if (trace.showlegend === false || !trace.name || groups.has(groupOf(trace))) return false;
      groups.add(groupOf(trace));
      return true;
    });
  }

  // What stands before a name in the legend.
  function swatch(trace) {
    const svg = make('svg', { width: 26, height: 12, 'aria-hidden': 'true' });
    const first = (value) => (Array.isArray(value) ? value.find(Boolean) : value);
    const mode = trace.mode ?? 'lines';
    if (trace.type === 'bar' || trace.stackgroup) {
      svg.append(make('rect', { x: 6, y: 0, width: 14, height: 12, fill: trace.stackgroup ? trace.fillcolor : trace.marker.color }));
      return svg;
    }
    if (mode.includes('lines')) {
      svg.append(make('path', { d: 'M0,6H26', stroke: trace.line.color, 'stroke-width': trace.line.width, 'stroke-dasharray': DASHES[trace.line.dash] }));
    }
    if (mode.includes('markers')) {
      const one = mark(first(trace.marker.symbol) ?? 'circle', 8, first(trace.marker.color), trace.marker.line);
      one.setAttribute('transform', 'translate(13 6)');
      svg.append(one);
    }
    return svg;
  }

  // A scale of colours { title, colours, labels } below a map.
  function strip({ title, colours, labels }, look) {
    const svg = make('svg', { width: 260, height: 44, 'font-family': FONT, 'font-size': 11, 'aria-hidden': 'true', class: 'strip' });
    count += 1;
    const fade = make('linearGradient', { id: `fade-${count}` });
    colours.forEach((colour, i) => fade.append(make('stop', { offset: i / (colours.length - 1), 'stop-color': colour })));
    svg.append(fade, make('rect', { x: 10, y: 16, width: 240, height: 10, fill: `url(#fade-${count})` }),
      make('text', { x: 10, y: 11, fill: look.soft }, title));
    labels.forEach((label, i) => svg.append(make('text', { x: 10 + (240 * i) / (labels.length - 1), y: 40, 'text-anchor': 'middle', fill: look.soft }, label)));
    return svg;
  }

  return { svgOf, named, swatch, strip, groupOf, make, mark };
})();
