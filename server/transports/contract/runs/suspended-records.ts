import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../delivery.js';
import { retainedWaits } from '../../limits.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, suspended } from '../outcome.js';

const runs: Subscription = { type: 'run', retainsRuns: true, perKey: { concurrency: 1 } };
const long = 'ö"\\'.repeat(5_000);

/** Parts of a run, any of which may be long or many. A transport may store long ones in another way. */
const sizes = [
  { size: 'little', body: 'short', outputs: ['short'], waits: 1 },
  { size: 'nothing recorded', body: 'short', outputs: [], waits: 1 },
  { size: 'a long payload', body: long, outputs: ['short'], waits: 1 },
  { size: 'a long output', body: 'short', outputs: ['short', long], waits: 1 },
  { size: 'many entries', body: 'short', outputs: Array.from({ length: 150 }, (_, n) => `${n}`), waits: 1 },
  { size: 'many waits', body: 'short', outputs: ['short'], waits: 150 },
] as const;

/** Registers the tests of what a suspended run retains. */
export function describeSuspendedRecords({ advance, consume, next, counts }: ContractStage): void {
  describe('a suspended run', () => {
    it.each(sizes)('with $size retains everything', async ({ body, outputs, waits }) => {
      const shop = await consume([runs]);
      const reader = await consume([]);
      const links = { requestId: 'request "1"', causeId: 'cause ,"depth":9', key: 'key/é :' };
      const sent = envelope('run', {
        ...links,
        body: JSON.stringify({ text: `,"body":"${body}"}` }),
        priority: 3,
        depth: 2,
        trace: { traceparent: '00-1-2-3' },
        dedupe: { id: 'once', windowMs: 1 },
      });
      const other = envelope('run', { key: links.key });
      await shop.transport.publish([sent, other]);
      const error = { name: 'Error', message: 'again' };
      await (await next(shop)).commit({ status: 'retry', durationMs: 1, delayMs: 0, error });
      const delivery = await next(shop);
      const entries = outputs.map(
        (output, n) => [`run:${n} ü`, `{"n":${n},"output":${JSON.stringify(output)}}`] as const,
      );
      for (const [key, value] of entries) await delivery.checkpoint(key, value);
      const event = { type: 'reply', key: 'k é' };
      const keys = Array.from({ length: waits }, (_, n) => `wait ${n}: `);
      const open = keys.map((key, n) => ({ key, event: n === 0 ? event : { type: 'never', key }, delayMs: 600_000 }));
      await delivery.wait(open);
      expect(await delivery.commit(suspended(outputs.length))).toBe('ok');
      expect(await delivery.commit(completed())).toBe('fenced');

      // A codec encodes the key together with the payload.
      const { body: payload, key, dedupe: _, ...shown } = sent;
      const known = { status: 'suspended', attempt: 2, envelope: { ...shown, key, body: payload } };
      const record = await reader.transport.runs.get('run', sent.id);
      expect(record).toMatchObject(known);
      expect([...(record?.checkpoints ?? [])]).toEqual(entries);
      const awaited = open.map(({ key, event }) => ({
        key,
        event,
        dueAt: expect.any(Number),
        since: expect.any(Number),
      }));
      expect(new Set(record?.waits)).toEqual(new Set(awaited));
      const since = await reader.transport.runs.getSince('run', sent.id, Math.max(0, outputs.length - 1));
      expect(since).toMatchObject({ status: 'suspended', attempt: 2, envelope: shown, waits: record?.waits });
      expect([...(since?.checkpoints.keys() ?? [])]).toEqual(entries.slice(-1).map(([key]) => key));
      const [found] = await reader.transport.lookup.find(sent.id, { bodies: true });
      expect(found).toMatchObject({ status: 'suspended', body: payload, requestId: links.requestId });
      const { events } = await reader.transport.lookup.request(links.requestId);
      expect(events.map(({ id, status }) => [id, status])).toEqual([[sent.id, 'suspended']]);
      expect(await reader.transport.lookup.erase(links.requestId)).toMatchObject({ runs: 0, pending: 1 });
      const [receipt] = await shop.transport.publish([envelope('run', { dedupe: { id: 'once', windowMs: 1 } })]);
      expect(receipt).toMatchObject({ id: sent.id });
      expect(await counts(shop.transport, 'run')).toMatchObject({ received: 2, suspended: 1, active: 0 });

      await shop.transport.publish([envelope('reply', { key: event.key, id: 'signal', body: '7' })]);
      const resumed = await next(shop);
      expect(resumed).toMatchObject({ attempt: 2, envelope: delivery.envelope });
      expect([...resumed.checkpoints].slice(0, -1)).toEqual(entries);
      expect(JSON.parse(resumed.checkpoints.get(keys[0] ?? '') ?? '')).toMatchObject({ by: 'event', payload: 7 });
      await resumed.wait([{ key: 'forever', event }]);
      await resumed.commit(suspended(outputs.length + 1));
      expect(await shop.transport.runs.end('run', sent.id, failed('cancelled'), new Error('cancelled'))).toBe('ok');
      const ended = await reader.transport.runs.get('run', sent.id);
      expect(ended).toMatchObject({ ...known, status: 'failed', error: { message: 'cancelled' } });
      expect(ended?.waits).toHaveLength(Math.min(waits, retainedWaits));
      expect(ended?.waits.some(({ key }) => key === keys[0])).toBe(false);
      expect(ended?.checkpoints.size).toBe(outputs.length + 1);
      expect((await next(shop)).envelope.id).toBe(other.id);
      await advance(2);
      const [accepted] = await shop.transport.publish([envelope('run', { dedupe: { id: 'once', windowMs: 1 } })]);
      expect(accepted).not.toMatchObject({ id: sent.id });
    });
  });
}
