// Draws the pictures of the experiments as lines, bars or a stack. Findings enter, traces and a layout leave, as in
// charts.js.

'use strict';

(() => {
  const { number, colour, SHAPES } = Charts;

  const told = (line, point, y) => {
    const interval = point.high > point.low ? `<br>95% interval ${number(point.low)} to ${number(point.high)}` : '';
    return `<b>${line.name}</b><br>${point.label}<br>${number(point.y)} ${y.title}${interval}`;
  };

  function trace(picture, line, ink, shape) {
    const points = line.points;
    const reach = (end) => points.map((point) => Math.max(0, end(point)));
    const shared = { name: line.name, y: points.map((point) => point.y),
      tells: points.map((point) => told(line, point, picture.y)) };
    const whiskers = points.some((point) => point.high > point.low) ? { error_y: { array: reach((point) => point.high - point.y),
      arrayminus: reach((point) => point.y - Math.max(point.low, 0)),
      color: ink, width: 2 } } : {};
    if (picture.kind === 'lines') {
      return { ...shared, ...whiskers, x: points.map((point) => point.x), mode: 'lines+markers',
        line: { color: ink, width: 2 }, marker: { color: ink, size: 6, symbol: shape } };
    }
    return { ...shared, ...(picture.kind === 'bars' ? whiskers : {}), type: 'bar',
      x: points.map((point) => point.label), marker: { color: ink } };
  }

  // Positions with names (block sizes, depths) use them as labels.
  function across(picture) {
    if (picture.kind !== 'lines') return { type: 'category', grid: false, title: picture.x.title };
    const places = new Map(picture.lines.flatMap((line) => line.points.map((point) => [point.x, point.label])));
    const values = [...places.keys()].sort((a, b) => a - b);
    return { type: picture.x.log ? 'log' : 'linear', tickvals: values, say: (x) => places.get(x) ?? number(x),
      sparse: true, title: picture.x.title };
  }

  // The axis holds every value; an interval of a few runs that exceeds it is cut at the border.
  function top(picture) {
    const columns = new Map();
    for (const point of picture.lines.flatMap((line) => line.points)) {
      const place = picture.kind === 'stack' ? point.label : columns.size;
      columns.set(place, (columns.get(place) || 0) + point.y);
    }
    return Math.max(...columns.values(), 1e-9) * (picture.kind === 'stack' ? 1.05 : 1.2);
  }

  function picture(of, key, look) {
    const [name, at] = key.split(' ');
    const shown = of.findings.experiments.find((item) => item.experiment === name).pictures[Number(at)];
    const count = shown.lines.length;
    const data = shown.lines.map((line, i) => trace(shown, line, colour(look.steps, i, count), SHAPES[i % SHAPES.length]));
    const y = shown.y.log ? Charts.logAxis(shown.lines.flatMap((line) => line.points.map((point) => point.y)),
      Charts.round, 0.06) : { range: [0, top(shown)] };
    const chart = Charts.layout(look, across(shown), y, shown.y.title);
    chart.barmode = shown.kind === 'stack' ? 'stack' : 'group';
    chart.showlegend = count > 1;
    chart.height = 320;
    return { data, layout: chart };
  }

  Charts.kinds.picture = picture;
})();
