import { createHub } from 'hubline';
import { expect, test } from 'vitest';
import { claimDailyReport } from './key-values.js';

test('only the first caller of a day claims its report', async () => {
  const hub = createHub();
  const claims = await Promise.all([1, 2, 3].map(() => claimDailyReport(hub, '2030-01-01')));
  expect(claims).toEqual([true, false, false]);
  expect(await claimDailyReport(hub, '2030-01-02')).toBe(true);
  await hub.stop();
});
