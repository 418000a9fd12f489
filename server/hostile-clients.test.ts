import { expect, it, onTestFinished } from 'vitest';
import { createDashboardFetch } from './dashboard/index.js';
import { emitBesideAttackers, registerTargets } from './hostile-clients.fixture.js';
import { createHub } from './hub/create-hub.js';
import { everyTransport } from './testing/every-transport.fixture.js';

it.each(everyTransport)(
  '20 clients beside 2 hostile ones on %s: no call fails, and none waits long',
  async (_, open) => {
    const hub = createHub({ transport: open() });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    registerTargets(hub, 5_000);
    await hub.start();
    const dashboard = createDashboardFetch(hub);
    const request = async (path: string): Promise<unknown> =>
      (await dashboard(new Request(`http://127.0.0.1${path}`))).text();
    const { attacks, longestCpuMs } = await emitBesideAttackers(hub, request, 40);
    expect(attacks).toBeGreaterThan(16);
    // It took seconds to minutes. The benchmark `hostile` has the target.
    expect(longestCpuMs).toBeLessThan(5_000);
  },
);
