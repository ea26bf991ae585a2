// Puts a chart into its place and lets a reader look closer: a pointer shows the record of the nearest point, a drag
// zooms, a double click shows all again, the legend hides traces, and buttons zoom and save the picture.
//
// A view is what a place shows: { chart, zoom, hidden, box, targets, at }. Its place dispatches `picked` with the text of a
// point that was clicked.

'use strict';

const Stage = (() => {
  const views = new WeakMap();
  // Farthest a pointer may be from a point that it shows, in pixels, and the least drag that zooms.
  const REACH = 30;
  const DRAG = 6;

  // Texts of points are lines separated by <br>; some are <b>bold</b>. They contain no other markup.
  function lines(text) {
    return text.split('<br>').map((line) => {
      const made = document.createElement(line.startsWith('<b>') ? 'b' : 'span');
      made.textContent = line.replace(/<\/?b>/g, '');
      return made;
    });
  }

  function button(words, label, act) {
    const made = document.createElement('button');
    made.type = 'button';
    made.textContent = words;
    if (label) made.setAttribute('aria-label', label);
    made.addEventListener('click', act);
    return made;
  }

  // --- Drawing ------------------------------------------------------------------------------------------------

  // Draws a chart `width` pixels wide; zoom and hidden traces stay as they were.
  function draw(place, chart, width, height = chart.layout.height) {
    let view = views.get(place);
    if (!view) {
      view = { place, zoom: null, hidden: new Set(), at: null };
      views.set(place, view);
      begin(view);
    }
    Object.assign(view, { chart, width, height });
    redraw(view);
  }

  function redraw(view) {
    const svg = Plot.svgOf(view, view.width, view.height);
    view.svg.replaceWith(svg);
    view.svg = svg;
    view.whole.hidden = !view.zoom;
    const { layout, data } = view.chart;
    const below = layout.showlegend ? Plot.named(data).map((trace) => entry(view, trace)) : [];
    view.legend.replaceChildren(...below, ...(layout.strip ? [Plot.strip(layout.strip, layout.look)] : []));
    leave(view);
  }

  function entry(view, trace) {
    const group = Plot.groupOf(trace);
    const made = button('', '', () => {
      if (!view.hidden.delete(group)) view.hidden.add(group);
      redraw(view);
      [...view.legend.children].find((other) => other.dataset.group === group)?.focus();
    });
    made.dataset.group = group;
    made.setAttribute('aria-pressed', String(!view.hidden.has(group)));
    made.append(Plot.swatch(trace), trace.name);
    return made;
  }

  // --- One point ----------------------------------------------------------------------------------------------

  // How far a pointer is from a target; inside of a bar or a cell it is nearer than to a mark some pixels away.
  function distance(target, x, y) {
    if (!target.area) return Math.hypot(target.x - x, target.y - y);
    const [left, top, right, bottom] = target.area;
    return x >= left && x <= right && y >= top && y <= bottom ? REACH / 3 : Infinity;
  }

  function nearest(view, x, y) {
    let best = null;
    let least = REACH;
    view.targets.forEach((target, i) => {
      const far = target.seen ? distance(target, x, y) : Infinity;
      if (far < least) [best, least] = [i, far];
    });
    return best;
  }

  function show(view, at) {
    if (at === view.at) return;
    leave(view);
    const target = at === null ? null : view.targets[at];
    if (!target) return;
    view.at = at;
    const ring = target.area
      ? Plot.make('rect', { x: target.area[0], y: target.area[1], width: target.area[2] - target.area[0], height: target.area[3] - target.area[1] })
      : Plot.make('circle', { cx: target.x, cy: target.y, r: 7 });
    for (const [name, value] of [['class', 'ring'], ['fill', 'none'], ['stroke', view.chart.layout.look.ink], ['stroke-width', 1.5]]) {
      ring.setAttribute(name, value);
    }
    view.svg.append(ring);
    view.tip.replaceChildren(...lines(target.text));
    view.tip.hidden = false;
    // Beside the point on the side that has room, and above it where there is room above.
    const { offsetWidth: wide, offsetHeight: high } = view.tip;
    const left = target.x + 12 + wide <= view.width ? target.x + 12 : target.x - 12 - wide;
    view.tip.style.left = `${Math.max(0, Math.min(left, view.width - wide))}px`;
    view.tip.style.top = `${target.y - 10 - high >= -40 ? target.y - 10 - high : target.y + 14}px`;
  }

  function leave(view) {
    view.at = null;
    view.tip.hidden = true;
    view.svg.querySelector('.ring')?.remove();
  }

  // --- Zoom ---------------------------------------------------------------------------------------------------

  function zoomTo(view, zoom) {
    view.zoom = zoom;
    redraw(view);
  }

  const ranges = (view) => ({ x: [...view.box.x.range], y: [...view.box.y.range] });

  function zoomBy(view, factor) {
    const about = ([low, high]) => {
      const [middle, half] = [(low + high) / 2, ((high - low) / 2) * factor];
      return [middle - half, middle + half];
    };
    const { x, y } = ranges(view);
    zoomTo(view, { x: about(x), y: about(y) });
  }

  // What a drag covered: both axes, or one if the other way was short.
  function covered(view, from, to) {
    const { box } = view;
    const within = (value, low, high) => Math.min(Math.max(value, low), high);
    const along = (i, low, high) => [within(Math.min(from[i], to[i]), low, high), within(Math.max(from[i], to[i]), low, high)];
    const [wide, high] = [Math.abs(from[0] - to[0]), Math.abs(from[1] - to[1])];
    const narrow = wide < Math.max(DRAG, high / 5);
    const flat = high < Math.max(DRAG, wide / 5);
    return { x: narrow ? [box.left, box.right] : along(0, box.left, box.right), y: flat ? [box.top, box.bottom] : along(1, box.top, box.bottom) };
  }

  function zoomToDrag(view, from, to) {
    const { x, y } = covered(view, from, to);
    if (x[1] - x[0] < 2 || y[1] - y[0] < 2) return;
    const { box } = view;
    zoomTo(view, { x: x.map(box.x.back), y: [box.y.back(y[1]), box.y.back(y[0])] });
  }

  // --- The pointer --------------------------------------------------------------------------------------------

  function at(view, event) {
    const ground = view.svg.getBoundingClientRect();
    return [event.clientX - ground.left, event.clientY - ground.top];
  }

  function mark(view, from, to) {
    view.svg.querySelector('.drag')?.remove();
    const { x, y } = covered(view, from, to);
    const { accent } = view.chart.layout.look;
    view.svg.append(Plot.make('rect', { class: 'drag', x: x[0], y: y[0], width: x[1] - x[0], height: y[1] - y[0],
      fill: accent, 'fill-opacity': 0.15, stroke: accent }));
  }

  function follow(view) {
    const { ground } = view;
    let from = null;
    let dragged = false;
    ground.addEventListener('pointerdown', (event) => {
      dragged = false;
      if (event.button === 0 && event.pointerType !== 'touch') from = at(view, event);
    });
    ground.addEventListener('pointermove', (event) => {
      const to = at(view, event);
      if (from && (dragged || Math.hypot(to[0] - from[0], to[1] - from[1]) >= DRAG)) {
        if (!dragged && event.isTrusted) ground.setPointerCapture(event.pointerId);
        dragged = true;
        leave(view);
        mark(view, from, to);
      } else if (event.pointerType !== 'touch') {
        show(view, nearest(view, ...to));
      }
    });
    const end = (zooms) => (event) => {
      if (from && dragged) {
        view.svg.querySelector('.drag')?.remove();
        if (zooms) zoomToDrag(view, from, at(view, event));
      }
      from = null;
    };
    ground.addEventListener('pointerup', end(true));
    ground.addEventListener('pointercancel', end(false));
    ground.addEventListener('pointerleave', () => leave(view));
    ground.addEventListener('click', (event) => {
      if (dragged) return;
      const found = nearest(view, ...at(view, event));
      if (found !== null) view.place.dispatchEvent(new CustomEvent('picked', { detail: view.targets[found].text }));
    });
    ground.addEventListener('dblclick', () => zoomTo(view, null));
  }

  // The picture as a file, with the ground that it has on the page.
  function save(view) {
    const copy = view.svg.cloneNode(true);
    copy.querySelector('.ring')?.remove();
    copy.prepend(Plot.make('rect', { width: '100%', height: '100%', fill: view.chart.layout.look.card }));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' }));
    const figure = view.place.closest('figure');
    link.download = `halfpower-${figure.dataset.chart}-${figure.dataset.path}`.replace(/[^a-z0-9-]+/gi, '-') + '.svg';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function begin(view) {
    const part = (name) => {
      const made = document.createElement('div');
      made.className = name;
      view.place.append(made);
      return made;
    };
    view.ground = part('ground-of-chart');
    view.svg = Plot.make('svg');
    view.ground.append(view.svg);
    view.tip = part('tip');
    view.tip.hidden = true;
    view.tip.setAttribute('aria-hidden', 'true');
    view.legend = part('legend');
    const tools = part('tools');
    view.whole = button('All', 'Show all', () => zoomTo(view, null));
    tools.append(view.whole, button('+', 'Zoom in', () => zoomBy(view, 0.6)), button('\u2212', 'Zoom out', () => zoomBy(view, 1 / 0.6)),
      button('SVG', 'Save as SVG', () => save(view)));
    follow(view);
  }

  // For the keyboard and for tests: all of it by place.
  const by = (act) => (place, ...rest) => act(views.get(place), ...rest);
  return { draw, lines, view: (place) => views.get(place), show: by(show), leave: by(leave), zoomBy: by(zoomBy),
    whole: by((view) => zoomTo(view, null)), ranges: by(ranges) };
})();
