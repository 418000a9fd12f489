import { describe, expect, it } from 'vitest';
import type { Delivery, Envelope, RunWait } from '../../delivery.js';
import type { KeptEventRecord } from '../../event-record.js';
import { maxKeptBytes, maxKeptEvents } from '../../limits.js';
import type { DroppedEvent } from '../../transport.js';
import type { ContractOptions, ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';
import { completed, failed, suspended } from '../outcome.js';
import { createRunStage, resolution, runs } from './run-stage.js';

/** Tests the events that runs keep from their acceptance on. */
export function describeInboxes(stage: ContractStage, { isInline = true }: ContractOptions = {}): void {
  const { advance, consume, counts, next, until } = stage;
  const { startRun } = createRunStage(stage);
  const receives = [{ type: 'paid', key: 'o-1' }];
  const paid = (n: number, fields: Partial<Envelope> = {}): Envelope =>
    envelope('paid', { key: 'o-1', body: `{"n":${n}}`, ...fields });
  const wait = (key: string): RunWait => ({ key, event: { type: 'paid', key: 'o-1' } });
  /** Collects the entries that are recorded from now on. */
  const listen = (delivery: Delivery): Map<string, string> => {
    const found = new Map<string, string>();
    delivery.onRecorded = (key, value) => found.set(key, value);
    return found;
  };
  /** Stores waits, and returns their resolutions. */
  const take = async (delivery: Delivery, ...waits: readonly RunWait[]): Promise<unknown[]> => {
    const checkpoints = listen(delivery);
    await delivery.wait(waits);
    await until(() => waits.every(({ key }) => checkpoints.has(key)));
    return waits.map(({ key }) => resolution({ checkpoints }, key));
  };
  const by = ({ id }: Envelope, n: number): unknown => ({ by: 'event', id, payload: { n } });

  describe('a run that receives events', () => {
    it('keeps those of its key from its acceptance on, and its waits take them in their order', async () => {
      const shop = await consume([runs]);
      const run = envelope('run', { receives });
      await shop.transport.publish([run]);
      const sent = [paid(1), paid(2), paid(3)];
      const others = [envelope('paid', { key: 'o-2' }), envelope('paid'), envelope('other', { key: 'o-1' })];
      await shop.transport.publish([...others, ...sent]);
      const delivery = await next(shop);
      expect(delivery.envelope.id).toBe(run.id);
      expect(delivery.checkpoints.size).toBe(0);
      expect((await shop.transport.runs.get('run', run.id))?.inbox).toEqual({ kept: 3, dropped: 0 });
      const keptBy = (id: string): Promise<readonly KeptEventRecord[]> => shop.transport.lookup.kept(id);
      const keeper = { type: 'paid', service: 'shop', runType: 'run', runId: run.id };
      for (const { id } of sent) expect(await keptBy(id)).toEqual([keeper]);
      expect(await keptBy(others[0]?.id ?? '')).toEqual([]);
      expect(await take(delivery, wait('first'), wait('second'))).toEqual([
        by(sent[0] ?? run, 1),
        by(sent[1] ?? run, 2),
      ]);
      for (const [index, { id }] of sent.entries()) expect(await keptBy(id)).toEqual(index < 2 ? [] : [keeper]);
      const any = { key: 'any', event: { type: 'paid', key: undefined } };
      expect(await take(delivery, any)).toEqual([by(sent[2] ?? run, 3)]);
      const record = await shop.transport.runs.get('run', run.id);
      expect([record?.inbox, record?.waits]).toEqual([{ kept: 0, dropped: 0 }, []]);
      expect(await counts(shop.transport, 'run')).toMatchObject({ received: 1, pending: 1 });
    });

    it('gives an event to one of its open waits, and keeps the next one', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop, { receives });
      const checkpoints = listen(delivery);
      await delivery.wait([wait('first')]);
      await delivery.wait([wait('second')]);
      const sent = [paid(1), paid(2), paid(3)];
      for (const each of sent) await shop.transport.publish([each]);
      await until(() => checkpoints.size === 2);
      expect(resolution({ checkpoints }, 'first')).toEqual(by(sent[0] ?? paid(0), 1));
      expect(resolution({ checkpoints }, 'second')).toEqual(by(sent[1] ?? paid(0), 2));
      expect((await shop.transport.runs.get('run', delivery.envelope.id))?.inbox).toEqual({ kept: 1, dropped: 0 });
      expect(await take(delivery, wait('third'))).toEqual([by(sent[2] ?? paid(0), 3)]);
    });

    it('keeps events while it is suspended, and resumes only for those that it waits for', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop, { receives });
      await delivery.wait([{ key: 'other', event: { type: 'go', key: undefined } }]);
      await delivery.commit(suspended(0));
      const sent = paid(1);
      await shop.transport.publish([sent]);
      expect(await shop.transport.runs.get('run', delivery.envelope.id)).toMatchObject({
        status: 'suspended',
        inbox: { kept: 1, dropped: 0 },
        waits: [{ key: 'other' }],
      });
      await shop.transport.publish([envelope('go')]);
      const resumed = await next(shop);
      expect(await take(resumed, wait('paid'))).toEqual([by(sent, 1)]);
      await resumed.wait([wait('more')]);
      await resumed.commit(suspended(2));
      const later = paid(2);
      await shop.transport.publish([later]);
      expect(resolution(await next(shop), 'more')).toEqual(by(later, 2));
    });

    it('is a receiver of the event, which counts as such', async () => {
      const shop = await consume([runs]);
      const once = (): Envelope => paid(1, { dedupe: { id: 'pay-1', windowMs: 3_600_000 } });
      await startRun(shop, { receives });
      const sent = once();
      expect(await shop.transport.publish([sent])).toMatchObject([{ id: sent.id, deduplicated: false }]);
      expect(await shop.transport.publish([once()])).toEqual([{ id: sent.id, deduplicated: true }]);
    });

    it(`keeps at most ${maxKeptEvents} events, and drops the oldest one`, async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop, { receives });
      const sent = Array.from({ length: maxKeptEvents + 2 }, (_, n) => paid(n));
      for (let from = 0; from < sent.length; from += 250) await shop.transport.publish(sent.slice(from, from + 250));
      const { id } = delivery.envelope;
      expect((await shop.transport.runs.get('run', id))?.inbox).toEqual({ kept: maxKeptEvents, dropped: 2 });
      expect(await take(delivery, wait('first'))).toEqual([by(sent[2] ?? paid(0), 2)]);
    });

    it.runIf(isInline)('reports once per minute that it drops events, to one connection of its service', async () => {
      const web = await consume([], { service: 'web' });
      const first = await consume([runs]);
      const large = (n: number): Envelope =>
        paid(n, { body: JSON.stringify({ n, text: 'x'.repeat(maxKeptBytes / 2) }) });
      const [suspendedRun, running] = [await startRun(first, { receives }), await startRun(first, { receives })];
      await suspendedRun.wait([{ key: 'other', event: { type: 'go', key: undefined } }]);
      await suspendedRun.commit(suspended(0));
      const second = await consume([runs]);
      const reports = (): readonly DroppedEvent[] => [...first.dropped, ...second.dropped];
      await web.transport.publish([large(1)]);
      for (let n = 2; n < 5; n += 1) await web.transport.publish([large(n)]);
      await until(() => reports().length > 1);
      await advance(20);
      const report = ({ envelope: { type: runType, id: runId } }: Delivery): DroppedEvent => {
        return { runType, runId, eventType: 'paid', dropped: 1 };
      };
      const byRun = reports().toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
      expect(byRun).toEqual([report(suspendedRun), report(running)].toSorted((a, b) => (a.runId < b.runId ? -1 : 1)));
      expect(web.dropped).toEqual([]);
      expect((await web.transport.runs.get('run', running.envelope.id, 'shop'))?.inbox).toEqual({
        kept: 1,
        dropped: 3,
      });
    });

    it.runIf(isInline)(`keeps at most ${maxKeptBytes} bytes of payloads`, async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop, { receives });
      const large = (n: number): Envelope =>
        paid(n, { body: JSON.stringify({ n, text: 'x'.repeat(maxKeptBytes / 2) }) });
      for (let n = 0; n < 3; n += 1) await shop.transport.publish([large(n)]);
      const { id } = delivery.envelope;
      expect((await shop.transport.runs.get('run', id))?.inbox).toEqual({ kept: 1, dropped: 2 });
      expect(await take(delivery, wait('first'))).toMatchObject([{ payload: { n: 2 } }]);
    });

    it('deletes them when it ends, and keeps those that follow a replay', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop, { receives });
      await shop.transport.publish([paid(1)]);
      await delivery.commit(failed('no'));
      const { id } = delivery.envelope;
      const ended = await shop.transport.runs.get('run', id);
      expect([ended?.inbox, ended?.waits]).toEqual([undefined, []]);
      await shop.transport.publish([paid(2)]);
      expect(await shop.transport.deadLetters.replay(id)).toBe(true);
      const sent = paid(3);
      await shop.transport.publish([sent]);
      const again = await next(shop);
      expect(await take(again, wait('first'))).toEqual([by(sent, 3)]);
      await again.commit(completed());
      expect((await shop.transport.runs.get('run', id))?.status).toBe('completed');
    });

    it('loses those of an erased request', async () => {
      const shop = await consume([runs]);
      const delivery = await startRun(shop, { receives });
      const kept = paid(2);
      await shop.transport.publish([paid(1, { requestId: 'private' }), kept]);
      await shop.transport.lookup.erase('private');
      expect(await take(delivery, wait('first'))).toEqual([by(kept, 2)]);
    });

    it('keeps them for a child run', async () => {
      const shop = await consume([runs, { type: 'child', retainsRuns: true }]);
      const parent = await startRun(shop);
      const { type, id } = parent.envelope;
      const child = envelope('child', { parent: { type, id, wait: 'invoke' }, causeId: id, receives });
      await parent.wait([{ key: 'invoke', run: child }]);
      const sent = paid(1);
      await shop.transport.publish([sent]);
      const delivery = await next(shop);
      expect(await take(delivery, wait('first'))).toEqual([by(sent, 1)]);
    });

    it('keeps them in a service that has yet to start', async () => {
      const web = await consume([], { service: 'web' });
      const run = envelope('run', { service: 'shop', receives });
      await web.transport.publish([run]);
      const sent = paid(1);
      await web.transport.publish([sent]);
      const delivery = await next(await consume([runs]));
      expect(await take(delivery, wait('first'))).toEqual([by(sent, 1)]);
    });
  });
}
