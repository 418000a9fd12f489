import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EventDetails, StepIntrospection } from '../../server/dashboard/protocol.js';
import { SERVER_NOW } from '../testing/test-data.js';
import { spanOf } from '../workflows/step-bars.js';
import { traceAxis, waitsIn } from './trace-axis.js';
import { traceRows } from './trace-rows.js';

function eventOf(id: string, rest: Partial<EventDetails> = {}): EventDetails {
  return {
    id,
    kind: 'event',
    type: `type ${id}`,
    service: 'shop',
    status: 'completed',
    requestId: 'r',
    acceptedAt: SERVER_NOW,
    attempt: 1,
    attempts: [],
    ...rest,
  };
}

const outline = (events: readonly EventDetails[]): string[] =>
  traceRows(events, SERVER_NOW + 1_000).map(({ depth, name }) => `${'  '.repeat(depth)}${name}`);

test('each event precedes those that it led to', () => {
  const events = [eventOf('a'), eventOf('b', { causeId: 'a' }), eventOf('c', { causeId: 'gone' })];
  expect(outline([...events, eventOf('d', { causeId: 'b' }), eventOf('e', { causeId: 'a' })])).toEqual([
    'type a',
    '  type b',
    '    type d',
    '  type e',
    'type c',
  ]);
});

test.each<[string, Partial<EventDetails>, number]>([
  [
    'a suspended run also waits between its steps',
    { status: 'suspended', runMs: 100, steps: [stepAt(200, 300)] },
    4_900,
  ],
  ['a run whose function runs waits for nothing', { status: 'active', runMs: 100, steps: [stepAt(200, 300)] }, 200],
  ['steps of before a replay do not count', { status: 'suspended', runMs: 900, steps: [stepAt(-900, 0)] }, 5_000],
  ['an event of a clock that is ahead', { acceptedAt: SERVER_NOW + 9_000 }, 0],
  ['a function without steps', { status: 'completed', endedAt: SERVER_NOW + 2_000, steps: [] }, 100],
])('time that a run waited: %s', (_, rest, waitedMs) => {
  const [row] = traceRows([eventOf('a', { startedAt: SERVER_NOW + 100, ...rest })], SERVER_NOW + 5_000);
  expect(row?.waitedMs).toBe(waitedMs);
});

function stepAt(from: number, to: number): StepIntrospection {
  const [startedAt, endedAt] = [SERVER_NOW + from, SERVER_NOW + to];
  return { kind: 'run', name: 'pack', status: 'completed', startedAt, endedAt, durationMs: to - from };
}

test('events that several services handle lead to others once', () => {
  const events = [eventOf('a'), eventOf('a', { service: 'billing' }), eventOf('b', { causeId: 'a' })];
  expect(outline(events)).toEqual(['type a', '  type b', 'type a']);
});

test('several attempts are rows, with the time before each as waiting', () => {
  const at = SERVER_NOW;
  const [row, first, second] = traceRows(
    [
      eventOf('a', {
        status: 'failed',
        endedAt: at + 900,
        attempts: [
          { attempt: 1, startedAt: at + 100, endedAt: at + 300, error: { name: 'Error', message: 'busy' } },
          { attempt: 2, startedAt: at + 700, endedAt: at + 900, error: { name: 'Error', message: 'gone' } },
        ],
      }),
    ],
    at + 5_000,
  );
  expect(row?.bars.map(({ from, to, tone }) => [from - at, to - at, tone])).toEqual([
    [0, 100, 'waiting'],
    [100, 300, 'failed'],
    [300, 700, 'waiting'],
    [700, 900, 'failed'],
  ]);
  // Also between its attempts.
  expect(row?.waitedMs).toBe(500);
  expect([first?.note, first?.ranMs, second?.note]).toEqual(['busy', 200, 'gone']);
});

test('the running time of an event includes its running attempt so far', () => {
  const attempts = [
    { attempt: 1, startedAt: 100, endedAt: 300, error: { name: 'Error', message: 'busy' } },
    { attempt: 2, startedAt: 400 },
  ];
  const [row] = traceRows(
    [eventOf('a', { status: 'active', acceptedAt: 0, waitMs: 100, runMs: 200, attempts })],
    1_000,
  );
  expect(row).toMatchObject({ state: 'active', waitedMs: 200, ranMs: 800 });
});

test('an interrupted attempt is a row and a bar of its own, and so it is in a run', () => {
  const attempts = [
    { attempt: 1, startedAt: 100, endedAt: 300, isInterrupted: true },
    { attempt: 1, startedAt: 400, endedAt: 600 },
  ];
  const times = { acceptedAt: 0, startedAt: 100, endedAt: 600 };
  const [row, lost, kept] = traceRows([eventOf('a', { ...times, attempts })], 1_000);
  expect(row?.bars.map(({ from, to, tone }) => [from, to, tone])).toEqual([
    [0, 100, 'waiting'],
    [100, 300, 'interrupted'],
    [300, 400, 'waiting'],
    [400, 600, 'completed'],
  ]);
  expect(lost).toMatchObject({ name: 'Attempt 1', state: 'interrupted', ranMs: null });
  expect(kept).toMatchObject({ name: 'Attempt 1', state: 'completed', ranMs: 200 });
  expect(lost?.key).not.toBe(kept?.key);

  const waiting = eventOf('b', { status: 'waiting', acceptedAt: 0, attempts: attempts.slice(0, 1) });
  expect(traceRows([waiting], 1_000).map(({ state }) => state)).toEqual(['waiting', 'interrupted']);

  const steps: StepIntrospection[] = [{ name: 'pick', kind: 'run', status: 'completed', startedAt: 400, endedAt: 600 }];
  const run = eventOf('c', { ...times, kind: 'workflow', attempts: attempts.slice(0, 1), steps });
  const [whole, ...parts] = traceRows([run], 1_000);
  expect(whole?.bars.map(({ tone }) => tone)).toEqual(['waiting', 'completed']);
  expect(parts.map(({ name, state }) => [name, state])).toEqual([
    ['Attempt 1', 'interrupted'],
    ['pick', 'completed'],
  ]);
});

test('an event that a condition refused ran, and did not wait, while the condition was checked', () => {
  const attempts = [{ attempt: 1, startedAt: 100, endedAt: 300 }];
  const [row] = traceRows([eventOf('a', { status: 'filtered', acceptedAt: 0, endedAt: 300, attempts })], 1_000);
  expect(row?.bars.map(({ tone }) => tone)).toEqual(['waiting', 'completed']);
  expect(row?.waitedMs).toBe(100);
});

test('the tokens of turns are as wide as each other', () => {
  const turnOf = (promptTokens: number, completionTokens: number): StepIntrospection => ({
    ...stepAt(0, 100),
    kind: 'model',
    turn: { usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, cost: 0.0021 } },
  });
  const run = eventOf('a', { kind: 'workflow', steps: [turnOf(640, 1_212), turnOf(1_640, 12)] });
  const [, ...turns] = traceRows([run], SERVER_NOW);
  expect(turns.map(({ note }) => note.replaceAll('\u2007', '_').replace('\u00a0', ' '))).toEqual([
    '__640 in 1,212 out · cost 0.0021',
    '1,640 in ___12 out · cost 0.0021',
  ]);
});

test('a wait that its run ended with says what it waited for', () => {
  const wait = { kind: 'event', status: 'cancelled', startedAt: 200, endedAt: 900, durationMs: 700 } as const;
  const waits = [
    { ...wait, name: 'a', waitsFor: { since: 200, event: { type: 'paid' } } },
    { ...wait, name: 'b', waitsFor: { since: 200, runId: '0123456789' } },
    { ...wait, name: 'c', waitsFor: { since: 200, dueAt: 9_000 } },
    { ...wait, name: 'd', waitsFor: { since: 200 } },
  ];
  const run = eventOf('a', { kind: 'workflow', acceptedAt: 0, endedAt: 900, status: 'cancelled', steps: waits });
  const [, ...rows] = traceRows([run], 5_000);
  expect(rows.map(({ note }) => note)).toEqual([
    'waited for paid',
    'waited for run 01234567',
    'waited for its time',
    'waited',
  ]);
  for (const row of rows) {
    expect(row).toMatchObject({ state: 'cancelled', waitedMs: 700, ranMs: null });
    expect(row.bars).toEqual([{ from: 200, to: 900, tone: 'cancelled' }]);
  }
});

test.each<[string, Partial<StepIntrospection>, [number, number, string][], number | null, number | null]>([
  ['a step that ran', { startedAt: 100, endedAt: 400, durationMs: 300 }, [[100, 400, 'completed']], null, 300],
  [
    'a step whose second attempt succeeded',
    { startedAt: 100, endedAt: 900, durationMs: 200, attempt: 2 },
    [
      [100, 700, 'waiting'],
      [700, 900, 'completed'],
    ],
    600,
    200,
  ],
  ['a running step', { status: 'active', startedAt: 600 }, [[600, 1_000, 'active']], null, 400],
  ['a step that has not started', { status: 'waiting' }, [], null, null],
  [
    'a wait',
    { kind: 'event', status: 'waiting', waitsFor: { since: 200, event: { type: 'paid' } } },
    [[200, 1_000, 'waiting']],
    800,
    null,
  ],
  ['a failed step', { status: 'failed', startedAt: 0, endedAt: 50, durationMs: 50 }, [[0, 50, 'failed']], null, 50],
])('%s', (_, rest, bars, waitedMs, ranMs) => {
  const step: StepIntrospection = { name: 'outer / inner', kind: 'run', status: 'completed', ...rest };
  const [, row] = traceRows([eventOf('a', { kind: 'workflow', acceptedAt: 0, steps: [step] })], 1_000);
  expect(row).toMatchObject({ name: 'inner', depth: 2, waitedMs, ranMs });
  expect(row?.bars.map(({ from, to, tone }) => [from, to, tone])).toEqual(bars);
});

test('a child run follows the step that invoked it, and other effects follow all steps', () => {
  const steps: StepIntrospection[] = ['first', 'second'].map((name) => ({ name, kind: 'invoke', status: 'completed' }));
  const parent = eventOf('p', {
    kind: 'workflow',
    steps: [...steps, { name: 'end', kind: 'run', status: 'completed' }],
  });
  const child = (id: string, parentStep: string): EventDetails =>
    eventOf(id, { kind: 'workflow', causeId: 'p', parentStep });
  const events = [parent, eventOf('e', { causeId: 'p' }), child('b', 'second'), child('a', 'first')];
  expect(outline(events)).toEqual(['type p', '  first', '    type a', '  second', '    type b', '  end', '  type e']);
});

test('a step says that the run which it invoked is no longer retained', () => {
  const steps = (['completed', 'waiting'] as const).map(
    (status): StepIntrospection => ({ name: status, kind: 'invoke', status }),
  );
  const notesOf = (...events: EventDetails[]): string[] => traceRows(events, 0).map(({ note }) => note);
  const parent = eventOf('p', { kind: 'workflow', steps });
  expect(notesOf(parent)).toEqual(['', 'its run is no longer retained', '']);
  // It may be among the events that were left out, or follow the origin of a fork.
  const others = Array.from({ length: 999 }, (_, n) => eventOf(`e${n}`));
  expect(notesOf(parent, ...others).filter((note) => note !== '')).toEqual([]);
  expect(notesOf({ ...parent, forkOf: { runId: 'origin', step: 'waiting' } })).toEqual(['', '', '']);
});

test('a run runs while its steps run, and waits between them', () => {
  const step = (name: string, kind: StepIntrospection['kind'], from: number, to: number): StepIntrospection => {
    return { name, kind, status: 'completed', startedAt: from, endedAt: to, durationMs: to - from };
  };
  const steps = [
    step('pick', 'run', 100, 200),
    step('rest', 'sleep', 200, 900),
    step('paid', 'event', 150, 800),
    step('poll', 'run', 400, 500),
    step('ship', 'run', 950, 1_000),
  ];
  const run = eventOf('a', { kind: 'workflow', acceptedAt: 0, startedAt: 100, endedAt: 1_000, steps });
  const [row] = traceRows([run], 2_000);
  expect(row?.bars.map(({ from, to, tone }) => [from, to, tone])).toEqual([
    [0, 100, 'waiting'],
    [100, 200, 'completed'],
    [200, 400, 'waiting'],
    [400, 500, 'completed'],
    [500, 950, 'waiting'],
    [950, 1_000, 'completed'],
  ]);
  expect(row?.note).toBe('');

  // What ran before the first step that is known is not known to have waited.
  const later = { ...run, startedAt: 50, omittedSteps: 7 };
  const [cut] = traceRows([later], 2_000);
  expect(cut?.bars.slice(0, 3).map(({ from, to, tone }) => [from, to, tone])).toEqual([
    [0, 50, 'waiting'],
    [50, 200, 'completed'],
    [200, 400, 'waiting'],
  ]);
  expect(cut?.note).toBe('the first 7 steps are left out');

  const { endedAt: _, ...open } = later;
  const [running] = traceRows([{ ...open, status: 'active', steps: steps.slice(0, 1) }], 2_000);
  expect(running?.bars.at(-1)).toEqual({ from: 50, to: 2_000, tone: 'active' });

  // What a run did before its wait no longer runs.
  const tonesOf = (rest: Partial<EventDetails>): unknown =>
    traceRows([{ ...open, ...rest }], 2_000)[0]?.bars.map(({ tone }) => tone);
  const scanned: StepIntrospection = { name: 'scanned', kind: 'event', status: 'waiting', startedAt: 200 };
  expect(tonesOf({ status: 'suspended', steps: [...steps.slice(0, 1), scanned] })).toEqual([
    ...['waiting', 'completed', 'waiting'],
  ]);
  expect(tonesOf({ status: 'active', omittedSteps: 0, startedAt: 100, steps: steps.slice(0, 2) })).toEqual([
    ...['waiting', 'completed', 'waiting', 'active'],
  ]);
});

/** A random tree: each event is caused by an earlier one or comes from outside. */
const trees = fc
  .array(
    fc.record({
      cause: fc.nat(),
      isRoot: fc.boolean(),
      waits: fc.array(fc.nat(1_000), { maxLength: 4 }),
      runs: fc.array(fc.nat(1_000), { minLength: 4, maxLength: 4 }),
      isOpen: fc.boolean(),
    }),
    { maxLength: 40 },
  )
  .map((nodes) =>
    nodes.map(({ cause, isRoot, waits, runs, isOpen }, index) => {
      const acceptedAt = SERVER_NOW + index;
      let at = acceptedAt;
      const attempts = waits.map((wait, number) => {
        const startedAt = at + wait;
        at = startedAt + (runs[number] ?? 0);
        return { attempt: number + 1, startedAt, endedAt: at };
      });
      const isPending = isOpen || attempts.length === 0;
      return eventOf(String(index), {
        acceptedAt,
        attempts,
        status: isPending ? 'waiting' : 'completed',
        ...(!isRoot && index > 0 && { causeId: String(cause % index) }),
        ...(!isPending && { endedAt: at }),
      });
    }),
  );

test('the rows of a random request are its tree, and their bars its times', () => {
  fc.assert(
    fc.property(trees, (events) => {
      const now = SERVER_NOW + 10_000;
      const rows = traceRows(events, now);
      const ofEvents = rows.filter((row) => row.event !== null);
      expect(ofEvents.map((row) => row.event?.id).sort()).toEqual(events.map(({ id }) => id).sort());
      const depths = new Map(ofEvents.map((row) => [row.event?.id, row.depth]));
      const span = spanOf(rows);
      for (const [index, { event, depth, bars }] of rows.entries()) {
        if (event === null) continue;
        expect(depth).toBe(event.causeId === undefined ? 0 : (depths.get(event.causeId) ?? 0) + 1);
        if (event.causeId !== undefined) {
          expect(rows.slice(0, index).some((row) => row.event?.id === event.causeId)).toBe(true);
        }
        // Bars follow each other without a gap, from the acceptance to the end.
        expect(bars[0]?.from).toBe(event.acceptedAt);
        expect(bars.at(-1)?.to).toBe(event.endedAt ?? now);
        for (const [at, bar] of bars.entries()) if (at > 0) expect(bar.from).toBe(bars[at - 1]?.to);
        const ran = bars.filter(({ tone }) => tone !== 'waiting').reduce((sum, { from, to }) => sum + to - from, 0);
        expect(ran).toBe(event.attempts.reduce((sum, { startedAt, endedAt = now }) => sum + endedAt - startedAt, 0));
        for (const bar of bars) {
          const axes = [traceAxis(span, []), traceAxis(span, waitsIn(span, rows))];
          for (const { place } of axes) {
            expect(place(bar.from)).toBeGreaterThanOrEqual(0);
            expect(place(bar.to)).toBeGreaterThanOrEqual(place(bar.from));
            expect(place(bar.to)).toBeLessThanOrEqual(100.01);
          }
        }
      }
    }),
  );
});
