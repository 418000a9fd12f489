import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Counts, EventColumnsDetails, EventOverview } from '../../server/dashboard/protocol.js';
import { eventColumns, withoutStart } from '../../server/dashboard/routes/event-columns.js';
import { eventColumns as decodeColumns } from '../api/decode-introspection.js';
import { countsOf } from '../testing/test-data.js';
import { countAt, overviewAt } from './event-row.js';

const count = fc.oneof(fc.constant(0), fc.nat({ max: 1_000_000_000_000 }));
const duration = fc.option(fc.double({ min: 0, max: 1e9, noNaN: true }));
const counts = fc.record({ received: count, completed: count, failed: count, cancelled: count, retried: count });
const minutes = fc.array(count, { maxLength: 20 });
const metrics: fc.Arbitrary<Counts> = fc
  .tuple(
    counts,
    fc.record(
      {
        approvals: count,
        oldestPendingAt: count,
        lastReceivedAt: count,
        lastFailedAt: count,
        pending: count,
        deadLetters: count,
      },
      { requiredKeys: ['pending', 'deadLetters'] },
    ),
  )
  .map(([ended, rest]) => countsOf(0, 0, { ...ended, ...rest }));

const overview: fc.Arbitrary<EventOverview> = fc
  .record({
    type: fc.string(),
    details: fc.record<Partial<Omit<EventColumnsDetails, 'index' | 'kind'>>>(
      {
        description: fc.string(),
        onSuccess: fc.string(),
        lastFailure: fc.record({ at: count, name: fc.string(), message: fc.string() }),
        services: fc.array(fc.record({ service: fc.string(), metrics })),
      },
      { requiredKeys: [] },
    ),
    kind: fc.constantFrom('handler', 'agent', 'declared'),
    processes: fc.option(fc.nat()),
    metrics,
    recent: fc.record({
      last5Min: counts,
      waitP95Ms: duration,
      durationP95Ms: duration,
      minutes: fc.record({ received: minutes, failed: minutes }),
    }),
  })
  .map(({ details, processes, ...rest }) => ({ ...rest, ...details, ...(processes !== null && { processes }) }));

/** Returns an event as the page receives it: minutes begin with the first that has a count. */
function withoutEarlyMinutes(event: EventOverview): EventOverview {
  const { received, failed } = event.recent.minutes;
  const sent = { received: withoutStart(received), failed: withoutStart(failed) };
  return { ...event, recent: { ...event.recent, minutes: sent } };
}

test('columns that were sent as JSON hold the same events', () => {
  fc.assert(
    fc.property(fc.array(overview, { maxLength: 6 }), (events) => {
      const columns = decodeColumns(JSON.parse(JSON.stringify(eventColumns(events))));
      const details = new Map(columns.details.map((each) => [each.index, each]));
      const read = events.map((_, index) => overviewAt(columns, index, details.get(index)));
      expect(JSON.parse(JSON.stringify(read))).toEqual(JSON.parse(JSON.stringify(events.map(withoutEarlyMinutes))));
      expect(read.map((_, index) => countAt(columns, index, 'pending'))).toEqual(
        events.map((event) => event.metrics.pending),
      );
    }),
  );
});
