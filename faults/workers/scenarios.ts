import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createEvent,
  createWorkflow,
  FatalError,
  type HandlerCtx,
  type Hub,
  type StepCtx,
  UnknownDeadLetterError,
} from 'hubline';
import { call } from '../deploys/called-scenario.js';
import { deploy } from '../deploys/deploy-scenario.js';
import { rolling } from '../deploys/rolling-scenario.js';
import { agent } from '../kills/agent-scenario.js';
import { handOver } from '../kills/handoff-scenario.js';
import { judge } from '../kills/judged-scenario.js';
import { storeLarge } from '../kills/large-outputs.js';
import { publishLive } from '../kills/live-scenario.js';
import { writeLedger } from './ledger.js';

/** Registers the events of a scenario on a worker's hub. May return a function to call after the start. */
type Scenario = (hub: Hub, ledger: string, variant: string) => (() => Promise<void>) | void;

/** Payload of the `work` scenario; the number determines the outcome. */
export interface Work {
  readonly n: number;
}

/** Payload of `onComplete`. */
interface Ending {
  readonly status: string;
  readonly error?: { readonly code?: string };
  readonly payload: Work;
}

export const failsForGood = (n: number): boolean => n % 50 === 0;
const failsAtFirst = (n: number): boolean => n % 20 === 1;

export const workflowSteps = ['reserve', 'pay', 'pack', 'ship', 'thank'];

/** Scenarios of the worker processes, by name. */
export const scenarios: ReadonlyMap<string, Scenario> = new Map<string, Scenario>([
  ['work', work],
  ['flow', flow],
  ['durable', durable],
  ['stuck', stuck],
  ['long', long],
  ['poison', poison],
  ['replay', replay],
  ['deploy', deploy],
  ['ticks', ticks],
  ['keyed', keyed],
  ['abortable', abort],
  ['rolling', rolling],
  ['called', call],
  ['agent', agent],
  ['handoff', handOver],
  ['judged', judge],
  ['live', publishLive],
  ['large', storeLarge],
]);

/** Registers short handlers, some of which fail; `settled` follows each outcome. */
function work(hub: Hub, ledger: string): void {
  hub.event<Work>({
    type: 'work',
    retry: { maxAttempts: 3, initialDelayMs: 20 },
    onComplete: 'settled',
    async handler({ payload: { n }, attempt }) {
      writeLedger(ledger, 'start', String(n), attempt);
      await delay(Math.random() * 100);
      if (failsForGood(n)) throw new FatalError('broken');
      if (failsAtFirst(n) && attempt === 1) throw new Error('flaky');
      writeLedger(ledger, 'end', String(n), attempt);
    },
  });
  hub.event<Ending>({
    type: 'settled',
    handler: ({ payload: { status, error, payload } }) =>
      writeLedger(ledger, `settled ${error?.code ?? status}`, String(payload.n)),
  });
}

/** Steps of the variants of the `flow` scenario that differ from `workflowSteps`. */
const changedSteps: Readonly<Record<string, readonly string[]>> = {
  appended: [...workflowSteps, 'audit'],
  reversed: workflowSteps.toReversed(),
};

/** Registers five steps, one of which fails at first. The variants `appended` and `reversed` have other lists. */
function flow(hub: Hub, ledger: string, variant: string): void {
  const names = changedSteps[variant] ?? workflowSteps;
  hub.workflow(
    createWorkflow({
      name: 'flow',
      trigger: 'ordered',
      onComplete: 'flow.ended',
      steps: names.map((name) => ({
        name,
        retry: { maxAttempts: 3, initialDelayMs: 20 },
        async handler({ attempt, workflow }: StepCtx) {
          // The trigger emits `Work`.
          const { n } = workflow.input as Work;
          writeLedger(ledger, `start ${name}`, String(n), attempt);
          await delay(variant === 'slow' && name === 'pack' ? 60_000 : Math.random() * 200);
          if (name === 'pay' && attempt === 1) throw new Error('flaky');
          writeLedger(ledger, `end ${name}`, String(n), attempt);
          return name;
        },
      })),
    }),
  );
  hub.event({ type: 'ordered' });
  hub.event<Ending>({
    type: 'flow.ended',
    handler: ({ payload: { status, error, payload } }) =>
      writeLedger(ledger, `ended ${error?.code ?? status}`, String(payload.n)),
  });
}

/** Time that a run of the `durable` scenario sleeps. */
const durableSleepMs = 2_000;

/** Registers a workflow of which every second run waits for `go`, and the others sleep, between two steps. */
function durable(hub: Hub, ledger: string): void {
  hub.workflow(
    createWorkflow({
      name: 'durable',
      trigger: 'begun',
      onComplete: 'durable.ended',
      run: async ({ input, step }) => {
        // The trigger emits `Work`.
        const { n } = input as Work;
        await step.run('before', () => writeLedger(ledger, 'before', String(n)));
        if (n % 2 === 0) await step.waitForEvent('go', 'go');
        else await step.sleep('pause', durableSleepMs);
        await step.run('after', () => writeLedger(ledger, 'after', String(n)));
      },
    }),
  );
  hub.event({ type: 'begun' });
  hub.event({ type: 'go' });
  hub.event<Ending>({
    type: 'durable.ended',
    handler: ({ payload: { status, error, payload } }) =>
      writeLedger(ledger, `ended ${error?.code ?? status}`, String(payload.n)),
  });
}

/** Registers a handler that, in the variant `blocking`, blocks the event loop until a handler of `second` has begun. */
function stuck(hub: Hub, ledger: string, variant: string): void {
  const taken = join(ledger, 'taken-over');
  hub.event({
    type: 'stuck',
    onSuccess: 'won',
    handler({ eventId, attempt }) {
      writeLedger(ledger, `start ${variant}`, eventId, attempt);
      if (variant === 'second') writeFileSync(taken, '');
      while (!existsSync(taken)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
      writeLedger(ledger, `end ${variant}`, eventId, attempt);
      return variant;
    },
  });
  hub.event<string>({ type: 'won', handler: ({ payload, eventId }) => writeLedger(ledger, `won ${payload}`, eventId) });
}

/** Registers a handler that takes one minute. */
function long(hub: Hub, ledger: string): void {
  hub.event({
    type: 'long',
    async handler({ eventId, attempt, signal }) {
      writeLedger(ledger, 'start', eventId, attempt);
      await delay(60_000, undefined, { signal });
    },
  });
}

/** Registers a handler that works, and then kills its process if the payload is `deadly`. */
function poison(hub: Hub, ledger: string): void {
  hub.event<{ deadly: boolean }>({
    type: 'poison',
    onFailure: 'escalated',
    async handler({ eventId, attempt, payload }) {
      writeLedger(ledger, payload.deadly ? 'start deadly' : 'start', eventId, attempt);
      // Events that run beside it have started by then.
      await delay(payload.deadly ? 50 : 200);
      if (payload.deadly) process.kill(process.pid, 'SIGKILL');
      writeLedger(ledger, 'end', eventId, attempt);
    },
  });
  hub.event({ type: 'escalated', handler: ({ eventId }) => writeLedger(ledger, 'escalated', eventId) });
}

const healed = (ledger: string): string => join(ledger, 'healed');

/** Makes the handler of the `replay` scenario succeed from now on. */
export function heal(ledger: string): void {
  writeFileSync(healed(ledger), '');
}

/** Registers a handler that fails until `heal`; each `sweep` replays the dead letters. */
function replay(hub: Hub, ledger: string): void {
  hub.event<Work>({
    type: 'ailing',
    onComplete: 'treated',
    async handler({ payload: { n }, idempotencyKey }) {
      await delay(Math.random() * 10);
      if (!existsSync(healed(ledger))) throw new FatalError('ill');
      writeLedger(ledger, `well ${n}`, idempotencyKey);
    },
  });
  hub.event({ type: 'treated', handler: () => {} });
  hub.event({
    type: 'sweep',
    async handler() {
      for (const { id } of await hub.deadLetters('ailing')) {
        await hub.replay(id).catch((error: unknown) => {
          // Another sweep was first.
          if (!(error instanceof UnknownDeadLetterError)) throw error;
        });
      }
    },
  });
}

/** Names of the schedules of the `ticks` scenario. */
export const tickNames: readonly string[] = ['tick-1', 'tick-2', 'tick-3'];

/** Event of the schedules that the test of the `ticks` scenario sets at run time. */
export const storedTick = 'stored-tick';

/** Registers schedules with a due time per second; the handler writes the due time and the id of its event. */
function ticks(hub: Hub, ledger: string): void {
  for (const name of tickNames) {
    const tick = hub.event<number>({
      type: name,
      handler: ({ payload, eventId }) => writeLedger(ledger, `${name} ${payload}`, eventId),
    });
    hub.schedule({ name, everyMs: 1_000, catchUp: 'all', emit: tick, payload: (dueAt) => dueAt.getTime() });
  }
  hub.event<string>({
    type: storedTick,
    handler: ({ payload, eventId }) => writeLedger(ledger, `${storedTick} ${payload}`, eventId),
  });
}

/** Number of keys of the `keyed` scenario. */
export const keyCount = 10;

/** Event of the `keyed` scenario. */
export const keyedWork = createEvent({ type: 'keyed', key: ({ n }: Work) => String(n % keyCount) });

/** Registers a handler that runs one event of a key at a time. */
function keyed(hub: Hub, ledger: string): void {
  hub.event(keyedWork, {
    concurrencyPerKey: 1,
    retry: { maxAttempts: 3, initialDelayMs: 20 },
    async handler({ payload: { n }, attempt }) {
      writeLedger(ledger, 'start', String(n), attempt);
      await delay(Math.random() * 30);
      if (failsAtFirst(n) && attempt === 1) throw new Error('flaky');
      writeLedger(ledger, 'end', String(n), attempt);
    },
  });
}

/** Event of the `abortable` scenario. */
export const abortable = createEvent({ type: 'abortable', key: ({ n }: Work) => String(n % keyCount) });

/** Event of the `abortable` scenario that replaces another one of its key. */
export const replaceable = createEvent({
  type: 'replaceable',
  key: ({ n }: Work) => String(n % keyCount),
  overlap: 'replace',
});

/** Registers handlers that run one event of a key at a time, and return late if they are aborted. */
function abort(hub: Hub, ledger: string): void {
  const handler = async ({ payload: { n }, signal, emit }: HandlerCtx<Work>): Promise<void> => {
    writeLedger(ledger, 'start', String(n));
    await emit('aborted.done', { n });
    await delay(Math.random() * 300, undefined, { signal }).catch(() => {
      writeLedger(ledger, 'aborted', String(n));
      return delay(Math.random() * 50);
    });
    writeLedger(ledger, 'return', String(n));
  };
  hub.event(abortable, { concurrencyPerKey: 1, onFailure: 'aborted.failed', handler });
  hub.event(replaceable, { handler });
  hub.event<Work>({
    type: 'aborted.done',
    handler: ({ payload: { n } }) => writeLedger(ledger, 'done', String(n)),
  });
  hub.event<Ending>({
    type: 'aborted.failed',
    handler: ({ payload: { payload } }) => writeLedger(ledger, 'failed', String(payload.n)),
  });
}
