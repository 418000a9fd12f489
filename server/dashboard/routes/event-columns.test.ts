import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { EventOverview } from '../protocol.js';
import { eventColumns } from './event-columns.js';

const count = fc.constantFrom(0, 0, 1, 3_000);
const minutes = fc.array(count, { minLength: 20, maxLength: 20 });
const time = fc.option(fc.constantFrom(1_700_000_000_000, 1_700_000_060_000), { nil: undefined });
const percentile = fc.constantFrom(null, 0, 12.5);

const overview: fc.Arbitrary<EventOverview> = fc
  .record({
    metrics: fc.record({
      received: count,
      completed: count,
      filtered: count,
      failed: count,
      cancelled: count,
      pending: count,
      active: count,
      delayed: count,
      suspended: count,
      retried: count,
      deduplicated: count,
      deadLetters: count,
      oldestPendingAt: time,
    }),
    last5Min: fc.record({ received: count, completed: count, failed: count, cancelled: count, retried: count }),
    waitP95Ms: percentile,
    durationP95Ms: percentile,
    received: minutes,
    failed: minutes,
    processes: fc.option(fc.constantFrom(0, 2), { nil: undefined }),
    kind: fc.constantFrom('handler', 'declared'),
  })
  .map(({ metrics: { oldestPendingAt, ...metrics }, processes, kind, received, failed, ...recent }) => ({
    type: 'a',
    kind,
    ...(processes !== undefined && { processes }),
    metrics: { ...metrics, ...(oldestPendingAt !== undefined && { oldestPendingAt }) },
    recent: { ...recent, minutes: { received, failed } },
  }));

/** Returns the text of minutes as the page reads it: without leading zeros. */
function textOf(counts: readonly number[]): string {
  return counts.join(' ').replace(/^(0 )*0?$|^(0 )+/, '');
}

it('has the values of all types in its columns, and omits columns without values', () => {
  fc.assert(
    fc.property(fc.array(overview, { maxLength: 4 }), fc.boolean(), (events, isRead) => {
      // Minutes that were read before have a text already.
      if (isRead) eventColumns(events.slice(1));
      const { metrics, last5Min, minutes, types, details, ...columns } = eventColumns(events);
      const column = <T>(values: readonly T[], empty: T): readonly T[] | undefined =>
        values.every((value) => value === empty) ? undefined : values;
      expect(types).toEqual(events.map(({ type }) => type));
      for (const name of ['received', 'failed', 'deadLetters'] as const) {
        expect(metrics[name]).toEqual(
          column(
            events.map((event) => event.metrics[name]),
            0,
          ),
        );
      }
      expect(metrics.oldestPendingAt).toEqual(
        column(
          events.map((event) => event.metrics.oldestPendingAt ?? null),
          null,
        ),
      );
      expect(last5Min.retried).toEqual(
        column(
          events.map(({ recent }) => recent.last5Min.retried),
          0,
        ),
      );
      expect(minutes.received).toEqual(
        column(
          events.map(({ recent }) => textOf(recent.minutes.received)),
          '',
        ),
      );
      expect(minutes.failed).toEqual(
        column(
          events.map(({ recent }) => textOf(recent.minutes.failed)),
          '',
        ),
      );
      expect(columns.waitP95Ms).toEqual(
        column(
          events.map(({ recent }) => recent.waitP95Ms),
          null,
        ),
      );
      expect(columns.processes).toEqual(
        column(
          events.map(({ processes }) => processes ?? null),
          null,
        ),
      );
      expect(details.map(({ index }) => index)).toEqual(
        events.flatMap(({ kind }, index) => (kind === 'handler' ? [] : [index])),
      );
    }),
  );
});
