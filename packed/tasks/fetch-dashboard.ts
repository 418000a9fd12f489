import { bearer, createDashboardFetch, createHub } from 'hubline';

// Refusals are logged.
const hub = createHub({ logger: false });
hub.event({ type: 'order.placed', handler: () => {} });
await hub.start();
const dashboard = createDashboardFetch(hub, { basePath: '/ops/hub', ...bearer('s3cret') });
const ask = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
  (await dashboard(new Request(`https://shop.example.com${path}`, { headers }))).status;
const authorization = 'Bearer s3cret';
console.log(
  await ask('/ops/hub'),
  await ask('/ops/hub', { authorization: 'Bearer wrong' }),
  await ask('/ops/hub', { authorization }),
  await ask('/ops/hub/api/introspection', { authorization }),
);
await hub.stop();
