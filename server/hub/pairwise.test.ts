import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FatalError } from '../errors.js';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { workflowType } from '../transports/delivery.js';
import { type Logger, silentLogger } from '../transports/transport.js';
import { createHub } from './create-hub.js';
import type { EmitOptions } from './events/emit.js';
import { createEvent, type EventSettings, type Overlap } from './events/event.js';
import { deferred } from './hub.fixture.js';
import type { Hub } from './hub.js';
import type { PauseTarget } from './pauses.js';
import { defineWorkflow } from './runs/define-workflow.js';
import { createWorkflow } from './runs/workflow.js';

interface Work {
  readonly n: number;
}

/** An event type or a workflow that has two features, and what became of its events. */
interface Subject {
  readonly name: string;
  readonly features: ReadonlySet<FeatureName>;
  readonly target: PauseTarget;
  /** Type of which the transport counts the events. */
  readonly countedType: string;
  emit(n: number): Promise<{ readonly id: string; readonly deduplicated: boolean }>;
  readonly gate: ReturnType<typeof deferred<void>>;
  /** Ids by number, in the order of acceptance. */
  readonly accepted: Map<string, number>;
  readonly ids: Map<number, string>;
  /** Ids in the order of their first start. */
  readonly started: Map<string, number>;
  /** Number of ends without an error per id. */
  readonly ended: Map<string, number>;
  readonly cancelled: Set<string>;
  /** Ids that failed for good. */
  readonly failed: Set<string>;
  /** Number of questions to the condition per number of an event. */
  readonly asked: Map<number, number>;
  readonly replayed: Set<string>;
  /** Numbers that started beside another one of their key. */
  readonly beside: Set<number>;
  deduplicated: number;
}

type Settings = Pick<EventSettings<Work>, 'rate' | 'debounceMs' | 'retry' | 'concurrencyPerKey' | 'when'>;

/** One feature: what it adds to an event type, to a workflow, and to the emit, and what it does in the middle and at the end. */
interface Feature {
  /** The feature of event types alone. */
  readonly isOfEvents?: boolean;
  readonly settings?: Settings;
  readonly overlap?: Overlap;
  readonly options?: (n: number) => EmitOptions;
  /** Number of attempts that fail. */
  readonly failures?: (n: number) => number;
  readonly fails?: (n: number) => boolean;
  act?(hub: Hub, subject: Subject): Promise<void>;
  undo?(hub: Hub, subject: Subject): Promise<void>;
}

const by = { by: 'test' };

const features = {
  pause: {
    act: (hub, { target }) => hub.pause(target, { reason: 'a test', ...by }),
    async undo(hub, { target }) {
      expect(await hub.resume(target, by)).toBe(true);
    },
  },
  cancel: {
    async act(hub, { ids, cancelled }) {
      for (const n of [0, waiting, scheduled]) {
        const id = ids.get(n);
        if (id !== undefined && (await hub.cancel(id))) cancelled.add(id);
      }
    },
  },
  overlap: { overlap: 'skip' },
  replace: { overlap: 'replace' },
  rate: { isOfEvents: true, settings: { rate: { max: 3, perMs: 40 } } },
  key: { settings: { concurrencyPerKey: 1 } },
  debounce: { isOfEvents: true, settings: { debounceMs: 40 } },
  delay: { options: () => ({ delayMs: 40 }) },
  retry: {
    settings: { retry: { maxAttempts: 2, initialDelayMs: 20, jitter: false } },
    failures: (n) => (n % 3 === 2 ? 1 : 0),
  },
  replay: { fails: (n) => n === 1 },
  erase: {
    act: async (hub, { name }) => void (await hub.erase({ requestId: name })),
    undo: async (hub, { name }) => void (await hub.erase({ requestId: name })),
  },
  priority: { options: (n) => ({ priority: n }) },
  condition: { isOfEvents: true },
  batch: { isOfEvents: true },
} satisfies Readonly<Record<string, Feature>>;

type FeatureName = keyof typeof features;

const byName: Readonly<Record<FeatureName, Feature>> = features;
const names = Object.keys(features) as FeatureName[]; // the keys of the table
// An event type cannot have both.
const refused = new Set(['overlap and debounce', 'overlap and replace', 'replace and debounce']);
const pairs = names
  .flatMap((first, index) => names.slice(index + 1).map((second) => [first, second] as const))
  .filter((pair) => !refused.has(pair.join(' and ')));
const [batch, total] = [4, 8];
/** Numbers of the events that wait for a slot or are suspended, and of those that wait for their time, when others act. */
const [waiting, scheduled] = [2, 3];
// Longer than the others take to act.
const laterMs = 4_000;
const keys = ['0', '1', 'scheduled'];
const numbers = Array.from({ length: total }, (_, n) => n);
const keyOf = (n: number): string => (n % batch === scheduled ? 'scheduled' : String(n % 2));

/** Returns whether the condition refuses an event. */
function isRefused({ features: used, accepted, ids }: Subject, id: string): boolean {
  if (!used.has('condition')) return false;
  // In a debounce window the last payload replaces the others.
  const numbers = [...ids].flatMap(([n, each]) => (each === id ? n : []));
  return ((used.has('debounce') ? numbers.at(-1) : accepted.get(id)) ?? 0) % 4 === 3;
}

/** Does the work of a handler, or of the last step of a run. */
function work(subject: Subject, id: string, n: number, attempt: number): void {
  for (const name of subject.features) {
    if (attempt <= (byName[name].failures?.(n) ?? 0)) throw new Error('fails at first');
    if (byName[name].fails?.(n) === true && !subject.failed.has(id)) {
      subject.failed.add(id);
      throw new FatalError('fails until it is replayed');
    }
  }
  subject.ended.set(id, (subject.ended.get(id) ?? 0) + 1);
}

function register(hub: Hub, pair: readonly [FeatureName, FeatureName], kind: 'event' | 'run'): Subject {
  const name = `${pair.join(' and ')} of ${kind === 'event' ? 'an event' : 'a run'}`;
  const used = pair.map((each) => byName[each]);
  const key = ({ n }: Work): string => keyOf(n);
  const overlap = used.find((each) => each.overlap !== undefined)?.overlap;
  const definition = { key, ...(overlap !== undefined && { overlap }) };
  const settings: Settings = Object.assign({}, ...used.map((each) => each.settings));
  const optionsOf = (n: number): EmitOptions =>
    Object.assign(
      { requestId: name },
      ...used.map((each) => each.options?.(n)),
      n === scheduled && { delayMs: laterMs },
    );
  const gate = deferred<void>();
  const common = {
    name,
    features: new Set(pair),
    gate,
    accepted: new Map<string, number>(),
    ids: new Map<number, string>(),
    started: new Map<string, number>(),
    ended: new Map<string, number>(),
    cancelled: new Set<string>(),
    failed: new Set<string>(),
    asked: new Map<number, number>(),
    replayed: new Set<string>(),
    beside: new Set<number>(),
    deduplicated: 0,
  };
  const begin = (id: string, n: number): Promise<void> | undefined => {
    const { started, ended, failed, beside } = common;
    const isOpen = ([other, m]: [string, number]): boolean =>
      other !== id && keyOf(m) === keyOf(n) && !ended.has(other) && !failed.has(other);
    // A run that is cancelled while it is suspended has no end here, and neither has an event that waits for its retry.
    const isReplaced = common.features.has('replace');
    const mayHaveNoEnd =
      kind === 'run' ? isReplaced || common.features.has('cancel') : isReplaced && common.features.has('retry');
    if (!mayHaveNoEnd && [...started].some(isOpen)) beside.add(n);
    if (!started.has(id)) started.set(id, n);
    return n < waiting ? gate.promise : undefined;
  };
  if (kind === 'event') {
    const event = createEvent<Work>({ type: name, ...definition });
    const subject: Subject = Object.assign(common, {
      target: { type: name },
      countedType: name,
      emit: (n: number) => hub.emit(event, { n }, optionsOf(n)),
    });
    const when = ({ n }: Work): boolean => {
      common.asked.set(n, (common.asked.get(n) ?? 0) + 1);
      return n % 4 !== 3;
    };
    const options = { concurrency: waiting, ...settings, ...(common.features.has('condition') && { when }) };
    if (common.features.has('batch')) {
      hub.event(event, {
        ...options,
        batch: { max: 3, waitMs: 20 },
        async handler(events, ctx) {
          for (const each of events) {
            const { id, attempt } = each;
            await begin(id, each.payload.n);
            try {
              work(subject, id, each.payload.n, attempt);
            } catch (error) {
              ctx.fail(each, error);
            }
          }
        },
      });
      return subject;
    }
    hub.event(event, {
      ...options,
      async handler({ payload: { n }, eventId, attempt }) {
        await begin(eventId, n);
        work(subject, eventId, n, attempt);
      },
    });
    return subject;
  }
  const { concurrencyPerKey, retry } = settings;
  const workflow = createWorkflow(defineWorkflow<Work>({ name, ...definition }), {
    ...(concurrencyPerKey !== undefined && { concurrencyPerKey }),
    run: async ({ input: { n }, step, runId }) => {
      await step.run('begin', () => begin(runId, n));
      if (n % batch === waiting) await step.sleep('nap', n === waiting ? laterMs : 100);
      await step.run('work', ({ attempt }) => work(subject, runId, n, attempt), {
        ...(retry !== undefined && { retry }),
      });
    },
  });
  const subject: Subject = Object.assign(common, {
    target: { workflow: name },
    countedType: workflowType(name),
    async emit(n: number) {
      const { runId } = await hub.startWorkflow(workflow, { n }, optionsOf(n));
      return { id: runId, deduplicated: common.accepted.has(runId) };
    },
  });
  hub.workflow(workflow);
  return subject;
}

async function emitAll(subjects: readonly Subject[], from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += 1) {
    await Promise.all(
      subjects.map(async (subject) => {
        const { id, deduplicated } = await subject.emit(n);
        subject.ids.set(n, id);
        if (deduplicated) subject.deduplicated += 1;
        else subject.accepted.set(id, n);
      }),
    );
  }
}

/** Adds the events that another one replaced to the cancelled ones, and returns them. */
async function findReplaced(hub: Hub, { features, accepted, cancelled, failed }: Subject): Promise<readonly number[]> {
  if (!features.has('replace')) return [];
  const replaced: number[] = [];
  for (const [id, n] of accepted) {
    const copies = await hub.find(id);
    if (cancelled.has(id) || copies.some(({ status }) => status !== 'cancelled')) continue;
    replaced.push(n);
    cancelled.add(id);
    // Its handler returned too late.
    failed.delete(id);
  }
  // Nothing replaces the last ones of their keys.
  const last = keys.map((key) => numbers.findLast((n) => keyOf(n) === key));
  expect(replaced.filter((n) => last.includes(n))).toEqual([]);
  return replaced;
}

/** Returns what does not hold of a subject after its end. */
function violations(subject: Subject, counts: Readonly<Record<string, unknown>>): object {
  const { accepted, cancelled, ended, started, replayed, deduplicated } = subject;
  const received = accepted.size + replayed.size;
  const failed = subject.failed.size + cancelled.size;
  const refused = [...accepted.keys()].filter((id) => isRefused(subject, id) && !cancelled.has(id));
  const ends = { completed: received - failed, filtered: refused.length, failed, cancelled: cancelled.size };
  const expected = { received, ...ends, deduplicated };
  const idle = { pending: 0, active: 0, delayed: 0, suspended: 0 };
  const found: Record<string, unknown> = {};
  for (const [name, count] of Object.entries({ ...expected, ...idle })) {
    if (counts[name] !== count) found[name] = { expected: count, got: counts[name] };
  }
  const finished = [...accepted.keys()].filter((id) => !cancelled.has(id));
  // Erased dead letters cannot be replayed.
  const endsOf = (id: string): number =>
    (subject.failed.has(id) && !replayed.has(id)) || refused.includes(id) ? 0 : 1;
  const wrong = finished.filter((id) => (ended.get(id) ?? 0) !== endsOf(id));
  const repeated = [...subject.asked].filter(([, times]) => times > 1);
  if (repeated.length > 0) found['asked again'] = repeated;
  if (wrong.length > 0) found['not exactly once'] = wrong.map((id) => [accepted.get(id), ended.get(id) ?? 0]);
  const isOneByOne = subject.features.has('key') || subject.features.has('replace');
  if (isOneByOne && subject.beside.size > 0) found['beside others of the key'] = [...subject.beside];
  if (subject.features.has('key') && !subject.features.has('priority')) {
    for (const key of keys) {
      const order = [...started.values()].filter((n) => keyOf(n) === key && n !== scheduled);
      if (order.some((n, index) => n < (order[index - 1] ?? 0))) found[`order of key ${key}`] = order;
    }
  }
  return found;
}

describe.each(everyTransport)('on the %s transport', (_name, createTransport) => {
  it('every feature works with every other one, on events and runs that are scheduled, waiting, running and suspended', async () => {
    const logger: Logger = silentLogger;
    const hub = createHub({ transport: createTransport(), concurrency: 2_000, logger });
    onTestFinished(async () => {
      await hub.stop({ drainMs: 0 });
    });
    const ofRuns = pairs.filter((pair) => pair.every((name) => byName[name].isOfEvents !== true));
    const subjects = [
      ...pairs.map((pair) => register(hub, pair, 'event')),
      ...ofRuns.map((pair) => register(hub, pair, 'run')),
    ];
    const countsOf = async (): Promise<readonly Readonly<Record<string, unknown>>[]> => {
      const all = await hub.transport.counts.get(subjects.map(({ countedType }) => countedType));
      return all.map(({ total: counts }) => ({ ...counts }));
    };
    const until = (condition: () => Promise<void> | void): Promise<void> =>
      vi.waitFor(condition, { interval: 20, timeout: 60_000 });
    const untilEnded = (which: readonly Subject[]): Promise<void> =>
      until(async () => {
        const all = await countsOf();
        const open = subjects.filter((subject, index) => which.includes(subject) && all[index]?.['pending'] !== 0);
        expect(open.map(({ name }) => name)).toEqual([]);
      });
    await hub.start();

    await emitAll(subjects, 0, waiting);
    await until(() => expect(subjects.flatMap(({ name, started }) => (started.size > 0 ? [] : name))).toEqual([]));
    await emitAll(subjects, waiting, batch);
    await until(async () => {
      const all = await countsOf();
      const sum = (name: string): number => all.reduce((total, counts) => total + Number(counts[name]), 0);
      const [active, suspended, delayed] = [sum('active'), sum('suspended'), sum('delayed')];
      const states = [active, suspended, delayed, sum('pending') - active - suspended - delayed];
      // Otherwise it shows nothing.
      expect(states.map((count) => count > 10)).toEqual([true, true, true, true]);
    });
    const act = (phase: 'act' | 'undo'): Promise<unknown> =>
      Promise.all(
        subjects.map(async (subject) => {
          for (const name of subject.features) await byName[name][phase]?.(hub, subject);
        }),
      );
    await act('act');
    await emitAll(subjects, batch, total);
    for (const { gate } of subjects) gate.resolve();
    const isPaused = ({ features: used }: Subject): boolean => used.has('pause');
    await untilEnded(subjects.filter((subject) => !isPaused(subject)));
    for (const { name, accepted, started } of subjects.filter(isPaused)) {
      const late = [...accepted].filter(([id, n]) => n >= batch && started.has(id));
      expect(late, `${name}: started while it was paused`).toEqual([]);
    }
    await act('undo');
    await untilEnded(subjects);
    for (const subject of subjects.filter(({ features: used }) => used.has('replay'))) {
      for (const { id } of await hub.deadLetters(subject.name)) {
        subject.replayed.add(id);
        await hub.replay(id);
      }
    }
    await untilEnded(subjects);
    // Otherwise it shows nothing.
    for (const effect of ['cancelled', 'failed', 'replayed', 'asked'] as const) {
      expect(
        subjects.reduce((sum, subject) => sum + subject[effect].size, 0),
        effect,
      ).toBeGreaterThan(10);
    }
    expect(subjects.reduce((sum, { deduplicated }) => sum + deduplicated, 0)).toBeGreaterThan(10);
    const replaced = await Promise.all(subjects.map((subject) => findReplaced(hub, subject)));
    expect(replaced.flat().length).toBeGreaterThan(10);
    const counts = await countsOf();
    const found = subjects.map((subject, index) => [subject.name, violations(subject, counts[index] ?? {})] as const);
    expect(Object.fromEntries(found.filter(([, wrong]) => Object.keys(wrong).length > 0))).toEqual({});
  });
});
