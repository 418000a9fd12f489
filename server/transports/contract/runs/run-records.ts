import { describe, expect, it } from 'vitest';
import { runLogs } from '../../stored-keys.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed } from '../outcome.js';
import { createRunStage, runs } from './run-stage.js';

/** Registers the tests of the entries of a run and of the retention of ended runs. */
export function describeRunRecords(stage: ContractStage): void {
  const { advance, consume, counts, next, until } = stage;
  const { startRun } = createRunStage(stage);

  describe('entries of a run', () => {
    it('are accepted with the events that they emit, once', async () => {
      const shop = await consume([runs, 'a']);
      const delivery = await startRun(shop);
      expect(await delivery.checkpoint('step', '1', [envelope('a'), envelope('a')])).toBe('ok');
      expect(await delivery.checkpoint('step', '1', [envelope('a')])).toBe('already');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 2 });
      await next(shop);
      await next(shop);
      expect(shop.waiting).toEqual([]);
    });

    it('are refused from another delivery that records the same key', async () => {
      const shop = await consume([runs, 'a'], { concurrency: 1 });
      const first = await startRun(shop);
      await first.checkpoint('step', '1');
      await first.commit({ status: 'released', durationMs: 1, delayMs: 0 });
      const second = await next(shop);
      expect(await second.checkpoint('step', '2', [envelope('a')])).toBe('fenced');
      expect(second.checkpoints.get('step')).toBe('1');
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 0 });
    });
  });

  describe('retention of runs', () => {
    it('counts completed and failed runs apart', async () => {
      const shop = await consume([{ ...runs, retain: { completed: 2, failed: 1 } }]);
      const ids: string[] = [];
      for (const outcome of [completed(), failed('no'), completed(), completed(), failed('no')]) {
        const delivery = await startRun(shop);
        ids.push(delivery.envelope.id);
        await delivery.commit(outcome);
      }
      const records = await Promise.all(ids.map((id) => shop.transport.runs.get('run', id)));
      expect(records.map((record) => record?.status)).toEqual([
        undefined,
        undefined,
        'completed',
        'completed',
        'failed',
      ]);
    });

    it('removes the logs of a run with the run', async () => {
      const shop = await consume([{ ...runs, retain: { completed: 1, failed: 1 } }]);
      const { log } = shop.transport;
      const ids: string[] = [];
      for (let i = 0; i < 3; i += 1) {
        const delivery = await startRun(shop);
        const { id } = delivery.envelope;
        ids.push(id);
        const bounds = { maxEntries: 9, maxBytes: 99, maxAgeMs: 3_600_000 };
        for (const name of runLogs('shop', id)) await log.append(name, ['1'], bounds);
        await delivery.commit(completed());
      }
      const logs = ids.flatMap((id) => runLogs('shop', id));
      const sizes = () => Promise.all(logs.map(async (name) => (await log.read(name)).next));
      await until(async () => (await shop.transport.runs.get('run', ids[1] ?? '')) === undefined);
      await until(async () => (await sizes()).join() === '0,0,0,0,1,1');
    });

    it('ends with their age, and not before for a result that is awaited', async () => {
      const retain = { completed: 9, failed: 9 };
      const kept = { ...runs, type: 'kept', retain: { ...retain, ageMs: 60_000 } };
      const shop = await consume([{ ...runs, retain: { ...retain, ageMs: 500 } }, kept]);
      const other = envelope('kept');
      await shop.transport.publish([other]);
      await (await next(shop)).commit(completed());
      const delivery = await startRun(shop);
      const { id } = delivery.envelope;
      const ended = shop.transport.runs.ended('run', id, new AbortController().signal);
      await delivery.commit({ ...completed(), result: '1' });
      expect(await ended).toMatchObject({ result: '1' });
      await advance(600);
      await until(async () => (await shop.transport.runs.get('run', id)) === undefined);
      expect(await shop.transport.runs.get('kept', other.id)).toMatchObject({ status: 'completed' });
    });
  });
}
