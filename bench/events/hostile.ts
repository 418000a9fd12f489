import { createDashboardFetch, createHub } from '../../dist/index.js';
import { emitBesideAttackers, registerTargets } from '../../server/hostile-clients.fixture.js';
import { median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';

const rounds = 5;
const emitsPerClient = 200;

/** The longest wait of 20 clients beside 2 hostile ones, which send whatever once stopped a service. */
export async function hostileClients(): Promise<Row[]> {
  return [await longestWait('10,000 types', 10_000, false), await longestWait('500 types and an open page', 500, true)];
}

async function longestWait(name: string, types: number, hasPage: boolean): Promise<Row> {
  const hub = createHub();
  registerTargets(hub, types);
  await hub.start();
  const dashboard = createDashboardFetch(hub);
  const request = async (path: string): Promise<unknown> => {
    if (!hasPage && path.endsWith('=columns')) return undefined;
    return (await dashboard(new Request(`http://127.0.0.1${path}`))).text();
  };
  const waits: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const { longestCpuMs } = await emitBesideAttackers(hub, request, emitsPerClient);
    // The first round compiles the schemas.
    if (round > 0) waits.push(longestCpuMs);
  }
  await hub.stop();
  return {
    scenario: `longest wait of 20 clients beside 2 hostile ones, ${name}`,
    unit: 'ms of CPU',
    hubline: median(waits),
    target: { of: 'figure', limit: 'at most', value: 100 },
  };
}
