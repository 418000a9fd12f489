import { expect, onTestFinished, test, vi } from 'vitest';
import { contractStage } from '../contract/contract-stage.js';
import { silentLogger } from '../transport.js';
import { Database } from './connection/database.js';
import { PostgresLog } from './postgres-log.js';
import { startTestPostgres } from './postgres-stage.fixture.js';

const { admin, harness } = await startTestPostgres();
const { connect, until } = contractStage(() => harness());

const bounds = { maxEntries: 10, maxBytes: 1_000, maxAgeMs: 60_000 };

test('an append notifies if a connection watches its log, and its registration ends with the watch', async () => {
  const client = await admin.connect();
  const notified: (string | undefined)[] = [];
  const note = ({ payload }: { readonly payload?: string | undefined }): void => {
    if (payload?.startsWith('l') === true) notified.push(payload);
  };
  client.on('notification', note);
  await client.query('LISTEN hubline_hubline');
  onTestFinished(async () => {
    client.off('notification', note);
    await client.query('UNLISTEN *');
    client.release();
  });
  const [{ log }, watching] = [connect('shop'), connect('mail')];
  const registrations = async (): Promise<number> =>
    (await admin.query("SELECT FROM hubline.watchers WHERE kind = 'l'")).rows.length;
  await log.append('watched', ['before'], bounds);
  let seen = 0;
  const end = await watching.log.watch('watched', () => {
    seen += 1;
  });
  await log.append('other', ['1'], bounds);
  await log.append('watched', ['1'], bounds);
  await until(() => notified.length > 0 && seen > 0);
  expect(notified).toHaveLength(1);
  expect(await registrations()).toBe(1);
  end();
  await until(async () => (await registrations()) === 0);
  await log.append('watched', ['2'], bounds);
  await client.query("SELECT pg_notify('hubline_hubline', 'l0')");
  await until(() => notified.includes('l0'));
  expect(notified).toHaveLength(2);
});

test('what may be missed during a look is looked for after it, and again if that fails', async () => {
  const looks: { reply(rows: readonly object[]): void; fail(error: Error): void }[] = [];
  const database = {
    call: async () => ['7'],
    query: () => new Promise((reply, fail) => looks.push({ reply, fail })),
  };
  const listener = { isListening: true, add: async () => async () => {} };
  const log = new PostgresLog(database as never, listener as never, silentLogger);
  let seen = 0;
  await log.watch('busy', () => {
    seen += 1;
  });
  log.onMissed(false);
  await vi.waitFor(() => expect(looks).toHaveLength(1));
  log.onMissed(false);
  looks[0]?.reply([{ n: 1, newest: null }]);
  await vi.waitFor(() => expect(looks).toHaveLength(2));
  looks[1]?.fail(new Error('the session was lost'));
  await vi.waitFor(() => expect(looks).toHaveLength(3));
  const before = seen;
  looks[2]?.reply([{ n: 1, newest: 3 }]);
  await vi.waitFor(() => expect(seen).toBe(before + 1));
  await log.close();
});

test('readers that come and go at the same time share a call', async () => {
  const watching = connect('mail');
  const calls = vi.spyOn(Database.prototype, 'call');
  onTestFinished(() => calls.mockRestore());
  const countOf = (name: string): number => calls.mock.calls.filter(([called]) => called === name).length;
  const names = Array.from({ length: 600 }, (_, index) => `log ${index}`);
  const keep = await watching.log.watch('kept', () => {});
  const ends = await Promise.all(names.map((name) => watching.log.watch(name, () => {})));
  // The first one alone, then two portions.
  expect(countOf('watch_logs')).toBe(3);
  const registered = async (): Promise<number> =>
    (await admin.query("SELECT FROM hubline.watchers WHERE kind = 'l'")).rows.length;
  expect(await registered()).toBe(601);
  for (const end of ends) end();
  await until(async () => (await registered()) === 1);
  expect(countOf('unwatch_logs')).toBe(2);
  keep();
  await until(async () => (await registered()) === 0);
});
