import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../scripts/property-tests.js';
import { FatalError, RetryAfterError } from '../errors.js';
import { createFakeClock, type FakeClock } from '../testing/fake-clock.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import type { Transport } from '../transports/transport.js';
import { createHub } from './create-hub.js';
import type { HandlerCtx } from './events/context.js';
import type { Hub } from './hub.js';

/** Behaviour of one attempt. The last one of a script applies to all later attempts. */
type Behaviour = 'return' | 'resolve' | 'throw' | 'reject' | 'fatal' | 'retry after' | 'hang' | 'take 30 ms';

type Step =
  | { readonly do: 'emit'; readonly type: string; readonly script: readonly Behaviour[]; readonly delayMs: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'replay'; readonly type: string; readonly place: number }
  | { readonly do: 'restart'; readonly drainMs: number; readonly afterMs: number };

interface Script {
  readonly key: number;
  readonly behaviours: readonly Behaviour[];
}

type Ctx = HandlerCtx<Script>;

const maxAttempts = 3;
const types = ['plain', 'serial', 'rated', 'chained'] as const;

/** State of one event: open from each acceptance to the outcome. */
interface LedgerEntry {
  readonly type: string;
  isOpen: boolean;
  replays: number;
  readonly outcomes: ('completed' | 'failed')[];
}

/** Record of what the handlers observed, independent of the hub's counters. */
class Ledger {
  readonly entries = new Map<number, LedgerEntry>();
  readonly running = new Map<string, number>();
  readonly violations: string[] = [];

  accept(key: number, type: string): void {
    this.entries.set(key, { type, isOpen: true, replays: 0, outcomes: [] });
  }

  replay(key: number): void {
    const entry = this.entries.get(key);
    if (entry?.isOpen !== false) throw new Error(`${key} cannot be a dead letter: it has no outcome`);
    entry.isOpen = true;
    entry.replays += 1;
  }

  begin({ payload: { key }, eventType }: Ctx): void {
    const running = (this.running.get(eventType) ?? 0) + 1;
    this.running.set(eventType, running);
    if (this.entries.get(key)?.isOpen !== true) this.violations.push(`${key} ran after its outcome`);
    if (eventType === 'serial' && running > 1)
      this.violations.push('two events of a type with concurrency 1 ran at once');
  }

  /** Records the end of an attempt; `ended` is the outcome if it was the last one. */
  end({ payload: { key }, eventType }: Ctx, ended?: 'completed' | 'failed'): void {
    this.running.set(eventType, (this.running.get(eventType) ?? 0) - 1);
    const entry = this.entries.get(key);
    if (entry === undefined || ended === undefined) return;
    if (!entry.isOpen) this.violations.push(`${key} has two outcomes`);
    entry.isOpen = false;
    entry.outcomes.push(ended);
  }

  replays(key: number): number {
    return this.entries.get(key)?.replays ?? 0;
  }

  received(type: string): number {
    return this.#of(type).reduce((sum, [, { replays }]) => sum + 1 + replays, 0);
  }

  count(type: string, outcome: 'completed' | 'failed'): number {
    return this.#of(type).flatMap(([, { outcomes }]) => outcomes.filter((ended) => ended === outcome)).length;
  }

  /** Returns the keys of failed events that were not replayed. */
  deadLetters(type: string): number[] {
    return this.#of(type)
      .filter(([, { isOpen, outcomes }]) => !isOpen && outcomes.at(-1) === 'failed')
      .map(([key]) => key);
  }

  #of(type: string): [number, LedgerEntry][] {
    return [...this.entries].filter(([, entry]) => entry.type === type);
  }
}

function handle(ctx: Ctx, ledger: Ledger, clock: FakeClock): unknown {
  const isLast = ctx.attempt === maxAttempts;
  const { key, behaviours } = ctx.payload;
  const attempt = maxAttempts * ledger.replays(key) + ctx.attempt;
  const behaviour = behaviours[Math.min(attempt, behaviours.length) - 1] ?? 'return';
  ledger.begin(ctx);
  const fail = (error: Error): Error => {
    ledger.end(ctx, isLast || FatalError.is(error) ? 'failed' : undefined);
    return error;
  };
  switch (behaviour) {
    case 'return':
      ledger.end(ctx, 'completed');
      return 'done';
    case 'resolve':
      return Promise.resolve().then(() => ledger.end(ctx, 'completed'));
    case 'throw':
      throw fail(new Error('throw'));
    case 'reject':
      return Promise.resolve().then(() => Promise.reject(fail(new Error('reject'))));
    case 'fatal':
      throw fail(new FatalError('fatal'));
    case 'retry after':
      throw fail(new RetryAfterError(70));
    default:
      return new Promise<void>((resolve, reject) => {
        const timer = clock.after(behaviour === 'hang' ? 10_000_000 : 30, () => {
          ledger.end(ctx, 'completed');
          resolve();
        });
        ctx.signal.addEventListener('abort', () => {
          timer.cancel();
          const isShutdown = (ctx.signal.reason as { code?: unknown }).code === 'ERR_SHUTDOWN';
          ledger.end(ctx, isLast && !isShutdown ? 'failed' : undefined);
          reject(ctx.signal.reason);
        });
      });
  }
}

async function startHub(transport: Transport, clock: FakeClock, ledger: Ledger): Promise<Hub> {
  const hub = createHub({ transport, concurrency: 3 });
  const retry = { maxAttempts, initialDelayMs: 10, jitter: false };
  const handler = (ctx: Ctx): unknown => handle(ctx, ledger, clock);
  hub.event({ type: 'plain', handler, retry, timeoutMs: 50 });
  hub.event({ type: 'serial', handler, retry, timeoutMs: 50, concurrency: 1 });
  hub.event({ type: 'rated', handler, retry, timeoutMs: 50, rate: { max: 2, perMs: 100 } });
  hub.event({ type: 'chained', handler, retry, timeoutMs: 50, onSuccess: 'followed', onComplete: 'ended' });
  hub.event({ type: 'followed', handler: () => {}, concurrency: 1 });
  hub.event({ type: 'ended' });
  await hub.start();
  return hub;
}

async function check(hub: Hub, ledger: Ledger): Promise<void> {
  expect(ledger.violations).toEqual([]);
  for (const type of types) {
    const counts = await hub.metrics(type);
    const completed = ledger.count(type, 'completed');
    const failed = ledger.count(type, 'failed');
    const received = ledger.received(type);
    expect(counts).toMatchObject({ received, completed, failed, pending: received - completed - failed });
    expect(counts.active).toBe(ledger.running.get(type) ?? 0);
    expect(counts.histories.minutes.received.reduce((sum, count) => sum + count, 0)).toBe(received);
    const keys = (await hub.deadLetters<Script>(type)).map(({ payload }) => payload.key);
    expect(keys.sort((a, b) => a - b)).toEqual(ledger.deadLetters(type));
  }
  const followed = await hub.metrics('followed');
  expect(followed.received).toBe(ledger.count('chained', 'completed'));
  const ended = await hub.metrics('ended');
  expect(ended.received).toBe(ledger.count('chained', 'completed') + ledger.count('chained', 'failed'));
}

const behaviour = fc.constantFrom<Behaviour>(
  'return',
  'resolve',
  'throw',
  'reject',
  'fatal',
  'retry after',
  'hang',
  'take 30 ms',
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('emit' as const),
      type: fc.constantFrom(...types),
      script: fc.array(behaviour, { minLength: 1, maxLength: 6 }),
      delayMs: fc.constantFrom(0, 0, 0, 25),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 120 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('replay' as const), type: fc.constantFrom(...types), place: fc.nat(9) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('restart' as const),
      drainMs: fc.constantFrom(0, 20, 200),
      afterMs: fc.integer({ min: 0, max: 300 }),
    }),
  },
);

/** Replays a dead letter, if there is one, with two concurrent calls: exactly one succeeds. */
async function replayOne(hub: Hub, ledger: Ledger, type: string, place: number): Promise<void> {
  const deadLetters = await hub.deadLetters<Script>(type);
  const deadLetter = deadLetters[place % deadLetters.length];
  if (deadLetter === undefined) return;
  ledger.replay(deadLetter.payload.key);
  const tries = await Promise.allSettled([hub.replay(deadLetter.id), hub.replay(deadLetter.id)]);
  expect(tries.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
}

it('counts exactly at every instant, over any schedule of emits, failures, timeouts, replays and restarts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = createFakeClock();
      const transport = memoryTransport({ clock });
      const ledger = new Ledger();
      let hub = await startHub(transport, clock, ledger);
      for (const current of steps) {
        if (current.do === 'emit') {
          const script: Script = { key: ledger.entries.size, behaviours: current.script };
          ledger.accept(script.key, current.type);
          await hub.emit(current.type, script, { delayMs: current.delayMs });
        } else if (current.do === 'advance') {
          await clock.advance(current.ms);
        } else if (current.do === 'replay') {
          await replayOne(hub, ledger, current.type, current.place);
        } else {
          const stopped = hub.stop({ drainMs: current.drainMs });
          await clock.advance(current.drainMs);
          await stopped;
          await clock.settle();
          expect(clock.pendingTimers).toBe(0);
          await check(hub, ledger);
          await clock.advance(current.afterMs);
          hub = await startHub(transport, clock, ledger);
        }
        await clock.settle();
        await check(hub, ledger);
      }
      const stopped = hub.stop({ drainMs: 600_000 });
      await clock.advance(600_000);
      expect(await stopped).toEqual({ released: 0, overdue: 0 });
      await check(hub, ledger);
      for (const type of types) expect(await hub.metrics(type)).toMatchObject({ pending: 0, active: 0 });
    }),
    { numRuns: runs(150) },
  );
});
