// Runs the page: draws each chart when it comes into view, copies settings, and makes CSV files. It sets these attributes
// of the html element: data-charts (number of charts drawn), data-errors, and data-ready.

'use strict';

(() => {
  const root = document.documentElement;
  const of = Charts.study(Page.findings);
  of.percentiles = Page.percentiles;
  const darkness = matchMedia('(prefers-color-scheme: dark)');
  let errors = 0;
  let printing = false;

  function failed(error) {
    errors += 1;
    root.dataset.errors = String(errors);
    root.dataset.error = String((error && error.message) || error);
  }
  root.dataset.errors = '0';
  root.dataset.charts = '0';
  addEventListener('error', (event) => failed(event.error || event.message));
  addEventListener('unhandledrejection', (event) => failed(event.reason));
  document.addEventListener('securitypolicyviolation', (event) => failed(`forbidden: ${event.blockedURI}`));

  // --- Charts -------------------------------------------------------------------------------------------------

  // In print, two charts fit side by side whatever the window's width; they are drawn for that width, and low enough for
  // three rows and their sentences on a page.
  const PRINT_WIDTH = 300;
  const PRINT_HEIGHT = 185;

  function draw(figure) {
    const plot = figure.querySelector('.plot');
    const look = Charts.theme(darkness.matches && !printing);
    const width = !printing ? plot.clientWidth : figure.classList.contains('wide') ? 2 * PRINT_WIDTH : PRINT_WIDTH;
    const chart = Charts.kinds[figure.dataset.chart](of, figure.dataset.path, look, width);
    plot.querySelector('.pending')?.remove();
    Stage.draw(plot, chart, width, printing ? Math.min(chart.layout.height, PRINT_HEIGHT) : chart.layout.height);
    plot.dataset.width = String(width);
    plot.dispatchEvent(new Event('drawn', { bubbles: true }));
  }

  const figures = [...document.querySelectorAll('.chart')];
  const begun = new Set();
  let drawn = 0;

  function drawOrSay(figure) {
    try {
      draw(figure);
      if (!printing && !begun.has(figure)) drawn += 1;
    } catch (error) {
      const pending = figure.querySelector('.pending');
      if (pending) pending.textContent = 'This browser could not draw the chart; its numbers are in the table below.';
      failed(error);
    }
    // A section that is open in print only is drawn when a reader opens it.
    if (!printing) begun.add(figure);
    root.dataset.charts = String(drawn);
  }

  // Charts out of view are drawn when their section opens, so that the page appears at once.
  async function drawThese(some) {
    for (const figure of some) {
      if (begun.has(figure)) continue;
      drawOrSay(figure);
      // Lets the page handle input between two charts.
      await new Promise((resume) => setTimeout(resume));
    }
  }

  const within = (fold) => figures.filter((figure) => fold.contains(figure));
  for (const fold of document.querySelectorAll('details.fold')) {
    fold.addEventListener('toggle', () => {
      if (fold.open && !printing) drawThese(within(fold));
    });
  }

  // The number of labels depends on the width, so a resized chart is drawn again instead of stretched.
  const widths = new ResizeObserver((entries) => {
    if (printing) return;
    for (const { target } of entries) {
      const drawn = target.dataset.width;
      if (drawn && Number(drawn) !== target.clientWidth) drawOrSay(target.closest('.chart'));
    }
  });
  for (const figure of figures) widths.observe(figure.querySelector('.plot'));

  // In print, draws all charts of open sections; on the screen, the charts that were drawn before.
  function drawNow(forPrint) {
    printing = forPrint;
    const shown = (figure) => (printing ? figure.offsetParent !== null : begun.has(figure));
    figures.filter(shown).forEach(drawOrSay);
  }
  addEventListener('beforeprint', () => drawNow(true));
  addEventListener('afterprint', () => drawNow(false));
  darkness.addEventListener('change', () => { drawNow(printing); depthButtons(); });

  // --- The chosen depth ---------------------------------------------------------------------------------------

  function depthButtons() {
    const place = document.querySelector('.depths');
    if (!place) return;
    const look = Charts.theme(darkness.matches);
    const buttons = of.measured.map((depth) => {
      const button = document.createElement('button');
      const swatch = document.createElement('i');
      swatch.style.background = Charts.colour(look.steps, of.depths.indexOf(depth), of.depths.length);
      button.type = 'button';
      button.setAttribute('aria-pressed', String(of.chosen === depth));
      button.setAttribute('aria-label', `depth ${depth}`);
      button.append(swatch, String(depth));
      button.addEventListener('click', () => choose(depth));
      return button;
    });
    place.replaceChildren('Depth', ...buttons);
  }

  // Choosing the same depth again resets each chart to the depth of its highest peak.
  function choose(depth) {
    of.chosen = of.chosen === depth ? null : depth;
    document.querySelectorAll('.depths button').forEach((button, i) => {
      button.setAttribute('aria-pressed', String(of.measured[i] === of.chosen));
    });
    const lines = figures.filter((figure) => Charts.byDepth.has(figure.dataset.chart) && begun.has(figure));
    lines.forEach(drawOrSay);
  }

  // --- Cells as rows ------------------------------------------------------------------------------------------

  const COLUMNS = [
    ['pattern', (c) => c.pattern], ['rw', (c) => c.rw], ['cache', (c) => c.cache], ['bs_bytes', (c) => c.bs_bytes],
    ['iodepth', (c) => c.iodepth], ['threads', (c) => c.threads], ['engine', (c) => c.engine], ['runs', (c) => c.runs],
    ['mbps', (c) => c.mbps.value], ['mbps_low', (c) => c.mbps.low], ['mbps_high', (c) => c.mbps.high],
    ['iops', (c) => c.iops],
    ...['min', 'p50', 'p90', 'p99', 'p999', 'max', 'mean']
      .map((name) => [`latency_ns_${name}`, (c) => c.latency_ns[name]]),
    ['achieved_depth', (c) => c.achieved_depth], ['charged_us', (c) => c.charged_us], ['soaker_us', (c) => c.soaker_us],
    ['core_share', (c) => c.core_share], ['errors', (c) => c.errors], ['short_transfers', (c) => c.short_transfers],
    ['cached', (c) => c.cached],
  ];
  const cellRows = () => Page.findings.cells.map((cell) => COLUMNS.map(([, pick]) => pick(cell)));

  function element(name, content, ...kind) {
    const made = document.createElement(name);
    made.textContent = content;
    made.classList.add(...kind);
    return made;
  }

  function shown(column, value) {
    if (value === null) return '\u2013';
    if (column === 'bs_bytes') return Charts.size(value);
    return typeof value !== 'number' || Number.isInteger(value) ? String(value) : Charts.number(value);
  }

  function cellTable() {
    const table = document.createElement('table');
    const head = table.createTHead().insertRow();
    head.append(...COLUMNS.map(([name]) => element('th', name.replaceAll('_', ' '), 'number')));
    const body = table.createTBody();
    for (const row of cellRows()) {
      const line = body.insertRow();
      line.append(...row.map((value, i) => element('td', shown(COLUMNS[i][0], value), 'number')));
    }
    return table;
  }

  const details = document.getElementById('cells');
  details?.addEventListener('toggle', () => {
    const place = details.querySelector('.cells');
    if (!details.open || place.firstChild) return;
    const frame = element('div', '', 'scroll');
    frame.tabIndex = 0;
    frame.setAttribute('role', 'region');
    frame.setAttribute('aria-label', 'All cells');
    frame.append(cellTable());
    place.append(frame);
  });

  // --- Files and the clipboard --------------------------------------------------------------------------------

  // A text that a spreadsheet would take for a formula begins with an apostrophe, as in `halfpower export`.
  const field = (value) => {
    const isFormula = typeof value === 'string' && /^[=+\-@\t\r']/.test(value);
    const text = value === null ? '' : (isFormula ? "'" : '') + String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (columns, rows) => [columns, ...rows].map((row) => row.map(field).join(',')).join('\n') + '\n';

  function save(name, text) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  for (const button of document.querySelectorAll('[data-csv]')) {
    button.addEventListener('click', () => {
      const text = button.dataset.csv === 'runs'
        ? csv(Page.runs.columns, Page.runs.rows)
        : csv(COLUMNS.map(([name]) => name), cellRows());
      save(`halfpower-${button.dataset.csv}.csv`, text);
    });
  }

  // Some browsers deny the clipboard to pages opened from a file. The older command often works there, and selecting
  // the text always does.
  async function write(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement('textarea');
      area.value = text;
      area.className = 'shut';
      document.body.append(area);
      area.select();
      const copied = document.execCommand('copy');
      area.remove();
      return copied;
    }
  }

  async function copy(button) {
    const code = button.closest('.copy').querySelector('code');
    const before = button.textContent;
    const copied = await write(button.dataset.text ?? code.textContent);
    if (!copied) getSelection().selectAllChildren(code);
    button.textContent = copied ? 'Copied' : 'Selected';
    button.focus();
    setTimeout(() => { button.textContent = before; }, 2000);
  }
  for (const button of document.querySelectorAll('.copy button')) button.addEventListener('click', () => copy(button));

  // --- Start --------------------------------------------------------------------------------------------------

  async function start() {
    depthButtons();
    await drawThese(figures.filter((figure) => !figure.closest('details.fold:not([open])')));
  }
  start()
    .catch(failed)
    .finally(() => { root.dataset.ready = 'yes'; });
})();
