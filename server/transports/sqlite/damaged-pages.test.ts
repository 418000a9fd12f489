import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { HubError } from '../../errors.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { envelope } from '../contract/envelope.js';
import { failed } from '../contract/outcome.js';
import { silentLogger, type TransportManager } from '../transport.js';
import { sqliteTransport } from './sqlite-transport.js';
import { newFile, startProcess } from './stage.fixture.js';

const pageSize = 4_096;
const long = 'x'.repeat(3_000);

/** Writes a file with events, dead letters, and key-values on pages of their own. */
async function writeFileWithEverything(file: string): Promise<void> {
  const { transport, clock, deliveries } = await startProcess({ file, maxPendingInMemory: 4 }, [{ type: 'a' }]);
  for (let count = 0; count < 12; count += 1) await transport.publish([envelope('a', { body: JSON.stringify(long) })]);
  await clock.settle();
  await deliveries[0]?.commit(failed('broken'));
  for (const key of ['k', 'l', 'm']) await transport.kv.set(key, long);
  for (const key of ['list', 'other']) await transport.kv.append(key, [long, long, long]);
  await transport.close({ drainMs: 0 });
}

/** Calls that read every part of a file. */
const calls: readonly ((transport: TransportManager) => Promise<unknown>)[] = [
  ({ kv }) => kv.get('k'),
  ({ kv }) => kv.get('m'),
  ({ kv }) => kv.range('list', 0, -1),
  (transport) => transport.counts.get(['a']),
  (transport) => transport.lookup.recent('a'),
  (transport) => transport.lookup.find('unknown'),
  (transport) => transport.deadLetters.list('a', 10),
  (transport) => transport.schedules.list(),
  ({ kv }) => kv.set('k', 'v'),
  ({ kv }) => kv.append('other', ['v'], { keepLast: 1 }),
  async (transport) => transport.publish([envelope('a')]),
];

it('every call on a file with a damaged page is answered, or rejects with a typed error', async () => {
  const whole = newFile();
  await writeFileWithEverything(whole);
  const pages = readFileSync(whole).length / pageSize;
  expect(pages).toBeGreaterThan(20);
  let refused = 0;
  const damagedPage = fc.record({
    page: fc.nat({ max: pages - 1 }),
    from: fc.constantFrom(0, 0, 8, 100, 2_000),
    bytes: fc.uint8Array({ minLength: 16, maxLength: 64 }),
  });
  await fc.assert(
    fc.asyncProperty(damagedPage, async ({ page, from, bytes }) => {
      const file = newFile();
      copyFileSync(whole, file);
      const content = readFileSync(file);
      // The header of the file is on the first page.
      const start = page * pageSize + (page === 0 ? Math.max(100, from) : from);
      content.set(bytes, start);
      writeFileSync(file, content);
      const transport = sqliteTransport({ file, clock: createFakeClock() }).connect({
        service: 'shop',
        logger: silentLogger,
      });
      for (const call of calls) {
        try {
          await call(transport);
        } catch (error) {
          refused += 1;
          if (!HubError.is(error)) throw error;
        }
      }
      await transport.close({ drainMs: 0 }).catch((error: unknown) => {
        if (!HubError.is(error)) throw error;
      });
    }),
    { numRuns: runs(60) },
  );
  expect(refused).toBeGreaterThan(0);
});
