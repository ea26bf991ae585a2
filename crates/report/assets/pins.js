// Handles the keyboard and the pointer in charts. A click (or Enter) pins a point's record below its chart, arrow keys
// move through the points, + and - zoom, and 0 shows everything. A line beside each chart shows the position.

'use strict';

(() => {
  const page = JSON.parse(document.getElementById('data').textContent);
  const walked = new WeakMap();

  // Texts of points are lines separated by <br>; some are <b>bold</b>. They contain no other markup.
  function lines(text) {
    return text.split('<br>').map((line) => {
      const made = document.createElement(line.startsWith('<b>') ? 'b' : 'span');
      made.textContent = line.replace(/<\/?b>/g, '');
      return made;
    });
  }

  // The runs of a point's cell. The point's text begins with the cell's text, or contains it.
  function runsOf(figure, text) {
    if (!page.runs) return [];
    const path = figure.dataset.path;
    const cell = page.findings.cells.find((other) => text.includes(Charts.hover(other))
      && (path === 'all' || Charts.pathOf(other) === path));
    if (!cell) return [];
    const at = (name) => page.runs.columns.indexOf(name);
    const word = cell.pattern === 'random' ? `rand${cell.rw}` : cell.rw;
    const wanted = { rw: word, cache: cell.cache, bs_bytes: cell.bs_bytes, iodepth: cell.iodepth, threads: cell.threads };
    const own = page.runs.rows.filter((row) => Object.entries(wanted).every(([name, value]) => row[at(name)] === value));
    return own.map((row) => ({ pass: row[at('pass')], repeat: row[at('repeat')], mbps: row[at('mbps')],
      p99: row[at('latency_ns_p99')], seconds: row[at('seconds')] }));
  }

  function runTable(runs) {
    const table = document.createElement('table');
    table.append(document.createElement('caption'));
    table.caption.textContent = 'Its runs';
    const head = table.createTHead().insertRow();
    const body = table.createTBody();
    const cell = (row, name, text) => {
      const made = document.createElement(name);
      if (name === 'th') made.scope = 'col';
      made.textContent = text;
      row.append(made);
    };
    for (const name of ['run', 'MB/s', 'p99', 'window']) cell(head, 'th', name);
    for (const run of runs) {
      const row = body.insertRow();
      const beside = run.pass === 'soaker' ? ', soaker' : '';
      cell(row, 'td', `${run.repeat + 1}${beside}`);
      cell(row, 'td', Charts.number(run.mbps));
      cell(row, 'td', Charts.span(run.p99 / 1e3));
      cell(row, 'td', `${Charts.number(run.seconds)} s`);
    }
    return table;
  }

  function pin(figure, text) {
    let place = figure.querySelector('.pins');
    if (!place) {
      place = document.createElement('div');
      place.className = 'pins';
      figure.querySelector('.plot').after(place);
    }
    const same = [...place.children].find((other) => other.dataset.text === text);
    if (same) { same.remove(); return; }
    const card = document.createElement('div');
    card.className = 'pin';
    card.dataset.text = text;
    const close = document.createElement('button');
    close.type = 'button';
    close.textContent = 'Unpin';
    close.addEventListener('click', () => card.remove());
    card.append(close, ...lines(text));
    const runs = runsOf(figure, text);
    if (runs.length) card.append(runTable(runs));
    place.append(card);
  }

  // All points with a text, in the order of the traces: [curve, point or [row, column], text].
  function points(plot) {
    return plot.data.flatMap((trace, curve) => {
      if (!trace.customdata || trace.visible === false) return [];
      return trace.customdata.flatMap((text, i) => (Array.isArray(text)
        ? text.flatMap((inner, j) => (inner ? [[curve, [i, j], inner]] : []))
        : text ? [[curve, i, text]] : []));
    });
  }

  function walk(plot, by) {
    const all = points(plot);
    if (!all.length) return;
    const at = walked.has(plot) ? (walked.get(plot) + by + all.length) % all.length : 0;
    walked.set(plot, at);
    const [curveNumber, pointNumber, text] = all[at];
    Plotly.Fx.hover(plot, [{ curveNumber, pointNumber }]);
    const said = plot.closest('figure').querySelector('.said');
    if (said) said.textContent = text.replace(/<br>/g, '; ').replace(/<[^>]*>/g, '');
  }

  function zoom(plot, factor) {
    const change = {};
    for (const name of ['xaxis', 'yaxis']) {
      const [low, high] = plot._fullLayout[name].range;
      const [middle, half] = [(low + high) / 2, ((high - low) / 2) * factor];
      change[`${name}.range`] = [middle - half, middle + half];
    }
    Plotly.relayout(plot, change);
  }

  function keyed(event) {
    const plot = event.currentTarget;
    if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const figure = plot.closest('figure');
    const current = () => points(plot)[walked.get(plot)]?.[2];
    const whole = () => Plotly.relayout(plot, plot.whole);
    const does = { ArrowRight: () => walk(plot, 1), ArrowLeft: () => walk(plot, -1), '+': () => zoom(plot, 0.6),
      '-': () => zoom(plot, 1 / 0.6), 0: whole, Enter: () => current() && pin(figure, current()),
      Escape: () => Plotly.Fx.unhover(plot) }[event.key];
    if (does) { event.preventDefault(); does(); }
  }

  document.addEventListener('drawn', ({ target: plot }) => {
    const ranges = ['xaxis', 'yaxis'].map((name) => [`${name}.range`, [...plot._fullLayout[name].range]]);
    plot.whole = Object.fromEntries(ranges);
    if (plot.dataset.pins) return;
    plot.dataset.pins = 'yes';
    plot.tabIndex = 0;
    plot.addEventListener('keydown', keyed);
    plot.on('plotly_click', (event) => {
      const text = event.points[0]?.customdata;
      if (text) pin(plot.closest('figure'), text);
    });
  });
})();
