import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';
import { types, withLoadedPage } from './loaded-page.js';
import { measurePolls } from './page-polls.js';

/** Measures a poll of the open page. `npm run bench:page` measures more. */
export async function pageTick(): Promise<Row[]> {
  const costs = await withLoadedPage(async (scene) =>
    measurePolls(scene, await scene.open('#/?every=off&sort=received')),
  );
  return [
    {
      scenario: `a poll of ${types.toLocaleString('en')} types that all changed: script on the page`,
      unit: 'ms',
      hubline: median(costs.map(({ script }) => script)),
      target: { of: 'figure', limit: 'at most', value: 16 },
    },
  ];
}
