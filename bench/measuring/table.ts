import { isMet, type Row, ratioOf } from './row.js';

const columns = ['scenario', 'unit', 'hubline', 'peer', 'peer figure', 'ratio', 'target', ''] as const;
const leftAligned = new Set<string>(['scenario', 'unit', 'peer', 'target', '']);

/** Formats rows as a table for a terminal. */
export function formatTable(rows: readonly Row[]): string {
  const cells = [[...columns], ...rows.map(cellsOf)];
  const widths = columns.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const lines = cells.map((line) =>
    columns.map((name, column) => {
      const text = line[column] ?? '';
      const width = widths[column] ?? 0;
      return leftAligned.has(name) ? text.padEnd(width) : text.padStart(width);
    }),
  );
  return lines.map((line) => line.join('  ').trimEnd()).join('\n');
}

function cellsOf(row: Row): string[] {
  const { scenario, unit, hubline, peer, target } = row;
  const ratio = ratioOf(row);
  const met = isMet(row);
  return [
    scenario,
    unit,
    formatFigure(hubline),
    peer?.name ?? '',
    peer === undefined ? '' : formatFigure(peer.figure),
    ratio === undefined ? '' : ratio.toPrecision(3),
    target === undefined ? '' : `${target.of} ${target.limit} ${target.value}`,
    met === undefined ? '' : met ? 'met' : 'MISSED',
  ];
}

/** Formats a figure with three significant digits, and all digits before the point. */
function formatFigure(figure: number): string {
  return figure >= 100 ? Math.round(figure).toLocaleString('en') : figure.toPrecision(3);
}
