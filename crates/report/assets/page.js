// Reads what the page has as data: { findings, percentiles, runs }.

'use strict';

const Page = (() => {
  const page = JSON.parse(document.getElementById('data').textContent);
  // Cells are rows under shared names, since their names would be most of the page's data. The name `mbps value` is the
  // member `value` of the member `mbps`.
  function whole({ columns, rows }) {
    return rows.map((row) => {
      const cell = {};
      columns.forEach((column, i) => {
        const [name, inner] = column.split(' ');
        if (inner) (cell[name] ??= {})[inner] = row[i];
        else cell[name] = row[i];
      });
      return cell;
    });
  }
  const { cells } = page.findings;
  if (cells.columns) page.findings.cells = whole(cells);
  return page;
})();
