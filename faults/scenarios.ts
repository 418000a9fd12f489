import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createWorkflow, FatalError, type Hub, type StepCtx, UnknownDeadLetterError } from 'hubline';
import { writeLedger } from './ledger.js';

/** Registers what a worker handles. */
type Scenario = (hub: Hub, ledger: string, variant: string) => void;

/** Payload of the `work` scenario; what becomes of it follows from its number. */
export interface Work {
  readonly n: number;
}

/** What `onComplete` tells. */
interface Ending {
  readonly status: string;
  readonly error?: { readonly code?: string };
  readonly payload: Work;
}

export const failsForGood = (n: number): boolean => n % 50 === 0;
const failsAtFirst = (n: number): boolean => n % 20 === 1;

export const workflowSteps = ['reserve', 'pay', 'pack', 'ship', 'thank'];

/** What worker processes run. */
export const scenarios: ReadonlyMap<string, Scenario> = new Map<string, Scenario>([
  ['work', work],
  ['flow', flow],
  ['stuck', stuck],
  ['long', long],
  ['poison', poison],
  ['replay', replay],
]);

/** Short handlers, some of which fail; `settled` follows each outcome. */
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

/** Five steps, one of which fails at first. The variant `changed` has one more. */
function flow(hub: Hub, ledger: string, variant: string): void {
  const names = variant === 'changed' ? [...workflowSteps, 'audit'] : workflowSteps;
  hub.workflow(
    createWorkflow({
      name: 'flow',
      trigger: 'ordered',
      onComplete: 'flow.ended',
      steps: names.map((name) => ({
        name,
        retry: { maxAttempts: 3, initialDelayMs: 20 },
        async handler({ attempt, workflow }: StepCtx) {
          // The payload of the trigger.
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

/** The variant `blocking` blocks its event loop for three times as long as its lock lasts. */
function stuck(hub: Hub, ledger: string, variant: string): void {
  hub.event({
    type: 'stuck',
    onSuccess: 'won',
    handler({ eventId, attempt }) {
      writeLedger(ledger, `start ${variant}`, eventId, attempt);
      if (variant === 'blocking') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
      writeLedger(ledger, `end ${variant}`, eventId, attempt);
      return variant;
    },
  });
  hub.event<string>({ type: 'won', handler: ({ payload, eventId }) => writeLedger(ledger, `won ${payload}`, eventId) });
}

/** A handler of a minute. */
function long(hub: Hub, ledger: string): void {
  hub.event({
    type: 'long',
    async handler({ eventId, attempt, signal }) {
      writeLedger(ledger, 'start', eventId, attempt);
      await delay(60_000, undefined, { signal });
    },
  });
}

/** A handler that kills its process where it is told to, and takes its time where it is not. */
function poison(hub: Hub, ledger: string): void {
  hub.event<{ deadly: boolean }>({
    type: 'poison',
    onFailure: 'buried',
    async handler({ eventId, attempt, payload }) {
      writeLedger(ledger, payload.deadly ? 'start deadly' : 'start', eventId, attempt);
      if (payload.deadly) process.kill(process.pid, 'SIGKILL');
      await delay(500);
    },
  });
  hub.event({ type: 'buried', handler: ({ eventId }) => writeLedger(ledger, 'buried', eventId) });
}

const healed = (ledger: string): string => join(ledger, 'healed');

/** From now on the handler of the `replay` scenario succeeds. */
export function heal(ledger: string): void {
  writeFileSync(healed(ledger), '');
}

/** A handler that fails until it is healed; each `sweep` replays all that failed. */
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
