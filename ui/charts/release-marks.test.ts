import { expect, test } from 'vitest';
import { lossMarks, placeMarks } from './release-marks.js';

test('processes that were lost within a minute share a mark', () => {
  const at = (minutes: number): number => minutes * 60_000;
  const lost = [
    { host: 'worker-3', lostAt: at(9) },
    { host: 'worker-2', lostAt: at(1) + 20_000 },
    { host: 'worker-1', lostAt: at(1) },
  ];
  expect(lossMarks(lost).map((mark) => [mark.at, mark.label])).toEqual([
    [at(1), '2 processes lost'],
    [at(9), 'worker-3 lost'],
  ]);
});

test.each([
  [600, [460, 500]],
  [600, [100, 180, 500, 590]],
  [600, [300, 450, 500]],
  [1_200, [10, 100, 700, 780, 1_190]],
])('in a width of %d, no name of the marks at %j covers another one or a line', (width, places) => {
  const mark = { at: 0, label: 'v2', tone: 'stale', link: 'started' } as const;
  const placed = placeMarks(
    places.map((x) => ({ ...mark, x })),
    width,
    136,
  );
  const names = placed.map(({ x, row, endsAtLine }) => ({
    row,
    from: endsAtLine ? x - 136 : x,
    to: endsAtLine ? x : x + 136,
  }));
  for (const [index, name] of names.entries()) {
    for (const [other, { x, row }] of placed.entries()) {
      if (other === index) continue;
      const { from, to } = names[other] ?? name;
      if (row === name.row) expect(from >= name.to || to <= name.from).toBe(true);
      // Its line reaches from its own row to the chart.
      if (row < name.row) expect(x <= name.from || x >= name.to).toBe(true);
    }
  }
});
