// Draws an application as it was captured and as it was asked again, step by step: operations a second, operations in
// flight, latency. Findings enter, traces and a layout leave, as in charts.js.

'use strict';

(() => {
  const { number, span } = Charts;
  const replay = (of) => of.findings.replay;

  const inks = (look) => [look.soft, look.accent];

  function timeAxis(of) {
    const { sides, step_s: step } = replay(of);
    return { range: [0, Math.max(...sides.flatMap((side) => side.from_s)) + step], title: 'seconds' };
  }

  function line(of, side, name, values, say, style) {
    const step = replay(of).step_s;
    return { name, mode: values.length > 60 ? 'lines' : 'lines+markers', x: side.from_s.map((from) => from + step / 2),
      y: values, line: style, marker: { color: style.color, size: 4 },
      tells: values.map((value, i) => `<b>${span(side.from_s[i] * 1e6)}</b><br>${name}: ${value === null ? 'none' : say(value)}`) };
  }

  // One line for each side.
  function both(of, look, key, say, title) {
    const data = replay(of).sides.map((side, i) => line(of, side, side.name, side[key], say,
      { color: inks(look)[i], width: 2 }));
    const most = Math.max(...data.flatMap((trace) => trace.y), 0);
    const chart = Charts.layout(look, timeAxis(of), { range: [0, 1.12 * (most || 1)] }, title);
    chart.showlegend = true;
    return { data, layout: chart };
  }

  const rate = (of, _, look) => both(of, look, 'per_second', (value) => `${number(value)} a second`, 'operations a second');
  const depth = (of, _, look) => both(of, look, 'depth', number, 'operations in flight, mean of each step');

  function latency(of, _, look) {
    const data = replay(of).sides.flatMap((side, i) => [
      line(of, side, `${side.name}, p50`, side.p50_us, span, { color: inks(look)[i], width: 2 }),
      line(of, side, `${side.name}, p99`, side.p99_us, span, { color: inks(look)[i], width: 1.5, dash: 'dot' }),
    ]);
    const all = data.flatMap((trace) => trace.y).filter((us) => us !== null);
    const chart = Charts.layout(look, timeAxis(of), Charts.logAxis(all, Charts.roundSpan, 0.06), 'latency');
    chart.showlegend = true;
    return { data, layout: chart };
  }

  Object.assign(Charts.kinds, { 'replay-rate': rate, 'replay-depth': depth, 'replay-latency': latency });
})();
