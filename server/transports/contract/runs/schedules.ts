import { describe, expect, it } from 'vitest';
import type { ScheduleOpening, ScheduleRecord, TransportManager } from '../../transport.js';
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
