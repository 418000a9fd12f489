import { expect, it } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import type { HubIntrospection } from '../../hub/introspection/introspection.js';
import { silentLogger } from '../transport.js';
import { sqliteObserver } from './sqlite-observer.js';
import { sqliteTransport } from './sqlite-transport.js';
import { newFile } from './stage.fixture.js';

/** Runs a hub that owns a file, as a process does, until `use` has ended. */
async function runProcess<T>(
  file: string,
  service: string,
  types: readonly string[],
  use: (hub: Hub) => Promise<T>,
): Promise<T> {
  const hub = createHub({ service, transport: sqliteTransport({ file }), logger: silentLogger });
  for (const type of types) hub.event({ type, handler: () => {} });
  await hub.start();
  try {
    return await use(hub);
  } finally {
    await hub.stop();
  }
}

const emitTo =
  (type: string) =>
  async (hub: Hub): Promise<void> =>
    void (await hub.emit(type, null));

/** Returns types, received events and processes per type. */
const typesOf = ({ events }: HubIntrospection) =>
  events.map(({ type, metrics, processes }) => [type, metrics.received, processes]);

async function observed(file: string): Promise<ReturnType<typeof typesOf>> {
  const hub = createHub({ observer: true, transport: sqliteObserver({ file }), logger: silentLogger });
  await hub.start();
  try {
    return typesOf(await hub.introspect());
  } finally {
    await hub.stop();
  }
}

it('keeps the types of a service that stopped visible to a process that handles nothing, and after it', async () => {
  const file = newFile();
  await runProcess(file, 'shop', ['order.placed'], emitTo('order.placed'));
  const seen = await runProcess(file, 'dashboard', [], async (hub) => typesOf(await hub.introspect()));
  expect(seen).toEqual([['order.placed', 1, 0]]);
  expect(await observed(file)).toEqual([['order.placed', 1, 0]]);
  await runProcess(file, 'mail', ['mail.due'], emitTo('mail.due'));
  expect((await observed(file)).sort()).toEqual([
    ['mail.due', 1, 0],
    ['order.placed', 1, 0],
  ]);
});

it('forgets the types of an earlier release, and those of a service that was retired', async () => {
  const file = newFile();
  await runProcess(file, 'shop', ['order.placed'], emitTo('order.placed'));
  const seen = await runProcess(file, 'shop', ['order.paid'], async (hub) => typesOf(await hub.introspect()));
  expect(seen).toEqual([['order.paid', 0, 1]]);
  expect(await observed(file)).toEqual([['order.paid', 0, 0]]);
  await sqliteObserver({ file }).retire('shop');
  expect(await observed(file)).toEqual([]);
});
