// Handles the keyboard and the pointer in charts. A click (or Enter) pins a point's record below its chart, arrow keys
// move through the points, + and - zoom, and 0 shows everything. A line beside each chart shows the position.

'use strict';

(() => {
  // The point of each chart that the keyboard has reached.
  const walked = new WeakMap();

  // The runs of a point's cell. The point's text begins with the cell's text, or contains it.
  function runsOf(figure, text) {
    if (!Page.runs?.rows.length) return [];
    const path = figure.dataset.path;
    const cell = Page.findings.cells.find((other) => text.includes(Charts.hover(other))
      && (path === 'all' || Charts.pathOf(other) === path));
    if (!cell) return [];
    const at = (name) => Page.runs.columns.indexOf(name);
    const word = cell.pattern === 'random' ? `rand${cell.rw}` : cell.rw;
    const wanted = { rw: word, cache: cell.cache, bs_bytes: cell.bs_bytes, iodepth: cell.iodepth, threads: cell.threads };
    const own = Page.runs.rows.filter((row) => Object.entries(wanted).every(([name, value]) => row[at(name)] === value));
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
    card.append(close, ...Stage.lines(text));
    const runs = runsOf(figure, text);
    if (runs.length) card.append(runTable(runs));
    place.append(card);
  }

  // Moves to the next or the previous point that is in sight, in the order of the traces.
  function walk(plot, by) {
    const { targets } = Stage.view(plot);
    const shown = targets.flatMap((target, i) => (target.seen ? [i] : []));
    if (!shown.length) return;
    const from = shown.indexOf(walked.get(plot));
    const next = shown[from < 0 ? (by > 0 ? 0 : shown.length - 1) : (from + by + shown.length) % shown.length];
    walked.set(plot, next);
    Stage.show(plot, next);
    const said = plot.closest('figure').querySelector('.said');
    if (said) said.textContent = targets[next].text.replace(/<br>/g, '; ').replace(/<[^>]*>/g, '');
  }

  function keyed(event) {
    const plot = event.currentTarget;
    if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const figure = plot.closest('figure');
    const current = () => Stage.view(plot).targets[walked.get(plot)]?.text;
    const does = { ArrowRight: () => walk(plot, 1), ArrowLeft: () => walk(plot, -1), '+': () => Stage.zoomBy(plot, 0.6),
      '-': () => Stage.zoomBy(plot, 1 / 0.6), 0: () => Stage.whole(plot), Enter: () => current() && pin(figure, current()),
      Escape: () => Stage.leave(plot) }[event.key];
    if (does) { event.preventDefault(); does(); }
  }

  document.addEventListener('drawn', ({ target: plot }) => {
    if (plot.dataset.pins) return;
    plot.dataset.pins = 'yes';
    plot.tabIndex = 0;
    plot.addEventListener('keydown', keyed);
    plot.addEventListener('picked', (event) => pin(plot.closest('figure'), event.detail));
  });
})();
