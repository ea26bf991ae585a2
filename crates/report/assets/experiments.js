// Draws the pictures of the experiments as lines, bars or a stack. Findings enter, plotly's traces and layout leave, as
// in charts.js.

'use strict';

(() => {
  const { number, colour, HOVER, SHAPES } = Charts;

  const told = (line, point, y) => {
    const interval = point.high > point.low ? `<br>95% interval ${number(point.low)} to ${number(point.high)}` : '';
    return `<b>${line.name}</b><br>${point.label}<br>${number(point.y)} ${y.title}${interval}`;
  };

  function trace(picture, line, ink, shape) {
    const points = line.points;
    const reach = (end) => points.map((point) => Math.max(0, end(point)));
    const shared = { name: line.name, y: points.map((point) => point.y),
      customdata: points.map((point) => told(line, point, picture.y)), hovertemplate: HOVER };
    const whiskers = points.some((point) => point.high > point.low) ? { error_y: { type: 'data', symmetric: false,
      array: reach((point) => point.high - point.y),
      arrayminus: reach((point) => point.y - Math.max(point.low, 0)),
      color: ink, thickness: 1, width: 2 } } : {};
    if (picture.kind === 'lines') {
      return { ...shared, ...whiskers, x: points.map((point) => point.x), mode: 'lines+markers',
        line: { color: ink, width: 2 }, marker: { color: ink, size: 6, symbol: shape } };
    }
    return { ...shared, ...(picture.kind === 'bars' ? whiskers : {}), type: 'bar',
      x: points.map((point) => point.label), marker: { color: ink } };
  }

  // Positions with names (block sizes, depths) use them as labels; some are dropped if there are many.
  function across(picture, look, width) {
    if (picture.kind !== 'lines') return { type: 'category', gridcolor: look.line, tickangle: 'auto', automargin: true };
    const places = new Map(picture.lines.flatMap((line) => line.points.map((point) => [point.x, point.label])));
    const values = [...places.keys()].sort((a, b) => a - b);
    const along = (x) => (picture.x.log ? Math.log(x) : x);
    const span = along(values[values.length - 1]) - along(values[0]);
    const pixel = (x) => (span > 0 ? ((along(x) - along(values[0])) / span) * Math.max(width - 70, 100) : 0);
    const shown = [];
    for (const x of values) {
      if (!shown.length || pixel(x) - pixel(shown[shown.length - 1]) >= 64) shown.push(x);
    }
    return { type: picture.x.log ? 'log' : 'linear', gridcolor: look.line, zeroline: false, tickvals: shown,
      ticktext: shown.map((x) => places.get(x)), tickangle: 0 };
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

  function picture(of, key, look, width) {
    const [name, at] = key.split(' ');
    const shown = of.findings.experiments.find((item) => item.experiment === name).pictures[Number(at)];
    const count = shown.lines.length;
    const data = shown.lines.map((line, i) => trace(shown, line, colour(look.steps, i, count), SHAPES[i % SHAPES.length]));
    const y = shown.y.log ? Charts.logAxis(shown.lines.flatMap((line) => line.points.map((point) => point.y)),
      Charts.round, look, 0.06) : { gridcolor: look.line, zeroline: false, range: [0, top(shown)] };
    const chart = Charts.layout(look, across(shown, look, width), y, shown.y.title);
    chart.barmode = shown.kind === 'stack' ? 'stack' : 'group';
    chart.bargap = 0.25;
    chart.xaxis.title = { text: shown.x.title, font: { size: 12, color: look.soft }, standoff: 6 };
    chart.showlegend = count > 1;
    chart.legend = { orientation: 'h', x: 0, y: -0.28, font: { size: 12, color: look.ink } };
    chart.margin.b = count > 1 ? 84 : 48;
    chart.height = count > 4 ? 380 : 340;
    return { data, layout: chart };
  }

  Charts.kinds.picture = picture;
})();
