import { describe, expect, it } from 'vitest';
import {
  maxStoredSchedules,
  type ScheduleClaim,
  type ScheduleOpening,
  type ScheduleRecord,
  type StoredSchedule,
  storedScheduleId,
  type TransportManager,
} from '../../transport.js';
import type { ContractStage } from '../contract-stage.js';
import { envelope } from '../envelope.js';

/** Tests of opening schedules and claiming their due times. */
export function describeSchedules({ consume, counts, next, now }: ContractStage): void {
  const definition = { name: 'nightly', definition: 'd-1', times: 't-1' };

  const recordOf = async (transport: TransportManager, name = 'nightly'): Promise<ScheduleRecord | undefined> =>
    (await transport.schedules.list()).find((record) => record.service === transport.service && record.name === name);

  /** Opens one schedule after reading its record. */
  const open = async (
    transport: TransportManager,
    position: number,
    fields: Partial<ScheduleOpening> = {},
  ): Promise<boolean> => {
    const revision = (await recordOf(transport, fields.name))?.revision;
    return transport.schedules.open([{ ...definition, position, revision, ...fields }]);
  };

  describe('schedules', () => {
    it('are recorded when they are opened, per service', async () => {
      const shop = await consume(['a']);
      const mail = await consume(['a'], { service: 'mail' });
      expect(await shop.transport.schedules.list()).toEqual([]);
      expect(await open(shop.transport, 1_000)).toBe(true);
      const record = { ...definition, service: 'shop', position: 1_000, lastDue: undefined };
      const state = { isOpen: true, isRemoved: false, revision: expect.any(Number) };
      expect(await mail.transport.schedules.list()).toEqual([{ ...record, ...state }]);
      expect(await open(mail.transport, 2_000)).toBe(true);
      expect(await recordOf(mail.transport)).toMatchObject({ service: 'mail', position: 2_000 });
      expect(await recordOf(shop.transport)).toMatchObject({ service: 'shop', position: 1_000 });
      const overview = await shop.transport.lookup.overview({ types: [], runTypes: [], runLimit: 1 });
      expect(overview.schedules).toHaveLength(2);
    });

    it('are not opened by a process that has not seen the last change', async () => {
      const one = await consume(['a']);
      const two = await consume(['a']);
      expect(await open(one.transport, 1_000)).toBe(true);
      expect(await open(two.transport, 5_000, { revision: undefined })).toBe(false);
      const revision = (await recordOf(two.transport))?.revision;
      await one.transport.schedules.claim({ ...definition, dueAt: 2_000, events: [] });
      const openings = [
        { ...definition, name: 'other', position: 5_000, revision: undefined },
        { ...definition, position: 5_000, revision },
      ];
      expect(await two.transport.schedules.open(openings)).toBe(false);
      expect(await recordOf(two.transport, 'other')).toBeUndefined();
      expect(await recordOf(two.transport)).toMatchObject({ position: 2_000 });
    });

    it('are open until the last connection that has them is closed', async () => {
      const one = await consume(['a']);
      const two = await consume(['a']);
      await open(one.transport, 1_000);
      await open(two.transport, 1_000);
      await one.transport.close({ drainMs: 0 });
      expect(await recordOf(two.transport)).toMatchObject({ isOpen: true });
      const observer = await consume(['a']);
      await two.transport.close({ drainMs: 0 });
      expect(await recordOf(observer.transport)).toMatchObject({ isOpen: false, position: 1_000 });
    });

    it('are removed when other schedules of the service are opened', async () => {
      const one = await consume(['a']);
      const two = await consume(['a']);
      const mail = await consume(['a'], { service: 'mail' });
      await open(one.transport, 1_000);
      await open(mail.transport, 1_000, { name: 'mailing' });
      expect(await recordOf(one.transport)).toMatchObject({ isRemoved: false });
      expect(await two.transport.schedules.open([])).toBe(true);
      expect(await recordOf(one.transport)).toMatchObject({ isRemoved: false });
      await open(two.transport, 1_000, { name: 'other' });
      expect(await recordOf(one.transport)).toMatchObject({ isRemoved: true, isOpen: true });
      await open(two.transport, 1_000);
      expect(await recordOf(one.transport)).toMatchObject({ isRemoved: false });
    });
  });

  describe('stored schedules', () => {
    const stored = (name: string, fields: Partial<StoredSchedule> = {}): Omit<StoredSchedule, 'lastDue'> => {
      const schedule = { id: storedScheduleId(name, 'ada'), definition: 'd-1', position: 1_000, lookAt: 2_000 };
      return { ...schedule, body: `{"name":"${name}\\u0000"}`, ...fields };
    };

    const idsOf = (schedules: readonly StoredSchedule[]): readonly string[] => schedules.map(({ body }) => body).sort();

    it('are stored, changed and removed by any process', async () => {
      const one = (await consume(['a'])).transport.schedules;
      const two = (await consume([], { service: 'web' })).transport.schedules;
      const [first, second] = [stored('first/ä'), stored('second', { lookAt: undefined })];
      expect(await two.get(first.id)).toBeUndefined();
      expect(await two.put(first, undefined)).toBe('stored');
      expect(await one.put(second, undefined)).toBe('stored');
      const shown = { ...first, id: expect.any(String), lastDue: undefined };
      expect(await one.get(first.id)).toEqual(shown);
      expect(await one.put(first, undefined)).toBe('changed');
      expect(await one.put(first, 'd-0')).toBe('changed');
      const changed = { ...first, definition: 'd-2', position: 500, lookAt: 3_000, body: '{}' };
      expect(await one.put(changed, 'd-1')).toBe('stored');
      expect(await two.get(first.id)).toEqual({ ...shown, definition: 'd-2', lookAt: 3_000, body: '{}' });
      expect(await two.remove(first.id)).toBe(true);
      expect(await one.remove(first.id)).toBe(false);
      expect(await one.get(first.id)).toBeUndefined();
      expect(await two.page('', 10)).toEqual({ total: 1, schedules: [await one.get(second.id)] });
      expect((await one.take(10, 1_000)).schedules).toEqual([]);
    });

    it('are read in pages', async () => {
      const { schedules } = (await consume(['a'])).transport;
      const names = ['b', 'B', 'a b', 'a', 'ä', 'a.b'];
      for (const name of names) await schedules.put(stored(name), undefined);
      const ids: string[] = [];
      for (;;) {
        const page = await schedules.page(ids.at(-1) ?? '', 2);
        expect(page.total).toBe(names.length);
        ids.push(...page.schedules.map(({ id }) => id));
        if (page.schedules.length < 2) break;
        expect(page.schedules).toHaveLength(2);
      }
      expect(ids).toEqual([...ids].sort());
      expect(new Set(ids).size).toBe(names.length);
    });

    it('are taken by one process when they are due, and again after a time unless it claims them', async () => {
      const one = (await consume(['a'])).transport.schedules;
      const two = (await consume(['a'])).transport.schedules;
      const later = (await now()) + 3_600_000;
      expect(await one.take(2, 0)).toEqual({ nextInMs: undefined, schedules: [] });
      for (const name of ['x', 'y', 'z']) await one.put(stored(name), undefined);
      await one.put(stored('later', { lookAt: later }), undefined);
      const first = await one.take(2, 0);
      expect(first.schedules).toHaveLength(2);
      expect(first.nextInMs).toBe(0);
      const held = await two.take(10, 60_000);
      expect(idsOf(held.schedules)).toEqual(
        idsOf(['x', 'y', 'z'].map((name) => ({ ...stored(name), lastDue: undefined }))),
      );
      expect(held.nextInMs).toBeGreaterThan(50_000);
      expect(held.nextInMs).toBeLessThanOrEqual(60_000);
      const [taken] = held.schedules;
      if (taken === undefined) throw new Error('nothing was taken');
      const claim: ScheduleClaim = {
        name: taken.id,
        definition: 'd-1',
        times: '',
        dueAt: 1_500,
        events: [],
        stored: {
          lookAt: 1_600,
        },
      };
      expect(await two.claim(claim)).toEqual({ status: 'claimed' });
      expect((await one.take(10, 60_000)).schedules).toEqual([
        { ...taken, position: 1_500, lastDue: 1_500, lookAt: 1_600 },
      ]);
      expect(await two.claim({ ...claim, dueAt: 1_600, stored: { lookAt: undefined } })).toEqual({ status: 'claimed' });
      expect((await one.take(10, 60_000)).schedules).toEqual([]);
      expect(await one.get(taken.id)).toMatchObject({ position: 1_600, lastDue: 1_600, lookAt: undefined });
    });

    it('grant each due time once and accept its events with it, unless they were changed or removed', async () => {
      const one = await consume(['a']);
      const two = await consume(['a'], { service: 'mail' });
      const schedule = stored('nightly');
      await one.transport.schedules.put(schedule, undefined);
      const claim = (dueAt: number, fields: Partial<ScheduleClaim> = {}): ScheduleClaim => {
        const events = [envelope('a', { key: 'k' })];
        return { name: schedule.id, definition: 'd-1', times: '', dueAt, events, stored: { lookAt: 9_000 }, ...fields };
      };
      const claims = [one, two, one].map(({ transport }) => transport.schedules.claim(claim(2_000)));
      const results = await Promise.all(claims);
      expect(results.map(({ status }) => status).sort()).toEqual(['already', 'already', 'claimed']);
      expect(await two.transport.schedules.claim(claim(1_900))).toEqual({ status: 'already', position: 2_000 });
      expect(await counts(one.transport, 'a')).toMatchObject({ received: 2 });
      const early = await one.transport.schedules.claim(claim((await now()) + 60_000));
      expect(early.status).toBe('early');
      expect(await one.transport.schedules.claim(claim(3_000, { definition: 'd-0' }))).toEqual({ status: 'replaced' });
      const changed = { ...schedule, definition: 'd-2', lookAt: 4_000 };
      expect(await one.transport.schedules.put(changed, 'd-1')).toBe('stored');
      expect(await one.transport.schedules.get(schedule.id)).toMatchObject({ position: 2_000, lastDue: 2_000 });
      expect(await two.transport.schedules.claim(claim(3_000))).toEqual({ status: 'replaced' });
      await one.transport.schedules.remove(schedule.id);
      expect(await two.transport.schedules.claim(claim(3_000, { definition: 'd-2' }))).toEqual({ status: 'replaced' });
      expect(await counts(one.transport, 'a')).toMatchObject({ received: 2 });
    });

    it('change the revision, and wake who watches for them', async () => {
      const { transport } = await consume(['a']);
      const woken = new Promise<void>((resolve) => void transport.schedules.watch(resolve));
      const revision = await transport.counts.revision();
      await transport.schedules.put(stored('nightly'), undefined);
      expect(await transport.counts.revision()).not.toBe(revision);
      await woken;
      expect(maxStoredSchedules).toBe(100_000);
    });
  });

  describe('claims', () => {
    it('grant each due time once and accept its events with it', async () => {
      const one = await consume(['a']);
      const two = await consume(['a']);
      await open(one.transport, 1_000);
      await open(two.transport, 1_000);
      const claims = [one, two, one].map(({ transport }) =>
        transport.schedules.claim({
          ...definition,
          dueAt: 2_000,
          events: [envelope('a', { key: 'k' }), envelope('a')],
        }),
      );
      const results = await Promise.all(claims);
      expect(results.map(({ status }) => status).sort()).toEqual(['already', 'already', 'claimed']);
      expect(await counts(one.transport, 'a')).toMatchObject({ received: 2 });
      expect(await recordOf(one.transport)).toMatchObject({ position: 2_000, lastDue: 2_000 });
      expect(await two.transport.schedules.claim({ ...definition, dueAt: 1_500, events: [envelope('a')] })).toEqual({
        status: 'already',
        position: 2_000,
      });
      expect(await two.transport.schedules.claim({ ...definition, dueAt: 4_000, events: [] })).toEqual({
        status: 'claimed',
      });
      expect(await counts(one.transport, 'a')).toMatchObject({ received: 2 });
    });

    it('deliver their events', async () => {
      const shop = await consume(['a']);
      await open(shop.transport, 1_000);
      const event = envelope('a', { body: '"due"' });
      await shop.transport.schedules.claim({ ...definition, dueAt: 2_000, events: [event] });
      expect((await next(shop)).envelope).toMatchObject({ id: event.id, body: '"due"' });
    });

    it('are refused before the due time by the clock of the transport', async () => {
      const shop = await consume(['a']);
      await open(shop.transport, 1_000);
      const dueAt = (await now()) + 60_000;
      const result = await shop.transport.schedules.claim({ ...definition, dueAt, events: [envelope('a')] });
      expect(result.status).toBe('early');
      const earlyMs = result.status === 'early' ? result.earlyMs : Number.NaN;
      expect(earlyMs).toBeGreaterThanOrEqual(dueAt - (await now()));
      expect(earlyMs).toBeLessThanOrEqual(60_000);
      expect(await counts(shop.transport, 'a')).toMatchObject({ received: 0 });
      expect(await recordOf(shop.transport)).toMatchObject({ position: 1_000, lastDue: undefined });
    });

    it('are refused to a definition that another open one replaced', async () => {
      const one = await consume(['a']);
      const two = await consume(['a']);
      await open(one.transport, 1_000);
      await open(two.transport, 1_500, { definition: 'd-2', times: 't-2' });
      const claim = { ...definition, dueAt: 2_000, events: [envelope('a')] };
      expect(await one.transport.schedules.claim(claim)).toEqual({ status: 'replaced' });
      expect(await recordOf(one.transport)).toMatchObject({ definition: 'd-2', times: 't-2', position: 1_500 });
      await two.transport.close({ drainMs: 0 });
      expect(await one.transport.schedules.claim(claim)).toEqual({ status: 'claimed' });
      expect(await recordOf(one.transport)).toMatchObject({ definition: 'd-1', times: 't-1', position: 2_000 });
    });

    it('create the record if the store has lost it', async () => {
      const shop = await consume(['a']);
      expect(await shop.transport.schedules.claim({ ...definition, dueAt: 2_000, events: [] })).toEqual({
        status: 'claimed',
      });
      expect(await recordOf(shop.transport)).toMatchObject({ ...definition, position: 2_000, isOpen: true });
    });

    it('change the revision', async () => {
      const shop = await consume(['a']);
      await open(shop.transport, 1_000);
      const revision = await shop.transport.counts.revision();
      await shop.transport.schedules.claim({ ...definition, dueAt: 2_000, events: [] });
      expect(await shop.transport.counts.revision()).not.toBe(revision);
    });
  });
}
