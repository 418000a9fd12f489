import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.js';
import { deriveId } from '../../transports/derived-ids.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import type { HandlerCtx } from '../events/context.js';
import type { Hub } from '../hub.js';
import type { StepCtx } from './step.js';
import { createWorkflow } from './workflow.js';

/** Behaviour of one attempt at a step. An `effect` must not happen under two idempotency keys. */
type Behaviour = 'succeed' | 'fail' | 'effect and fail' | 'hang' | 'effect and hang' | 'effect and take 30 ms';

type Disturbance =
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'crash' }
  | { readonly do: 'cancel'; readonly run: number };

const stepNames = ['one', 'two', 'three'];
const maxAttempts = 3;

/** Observations of the steps. */
class Journal {
  /** Idempotency keys under which each step of each run had its effect. */
  readonly effects = new Map<string, Set<string>>();
  readonly payloads = new Map<string, unknown>();
  readonly followUps: string[] = [];

  effect(ctx: StepCtx): void {
    const name = `${ctx.workflow.runId} ${ctx.workflow.step}`;
    this.effects.set(name, (this.effects.get(name) ?? new Set()).add(ctx.idempotencyKey));
  }

  payload(ctx: StepCtx): void {
    this.payloads.set(`${ctx.workflow.runId} ${ctx.workflow.step}`, ctx.payload);
  }
}

function perform(ctx: StepCtx, script: readonly Behaviour[], journal: Journal, clock: FakeClock): unknown {
  const behaviour = script[ctx.attempt - 1] ?? 'succeed';
  journal.payload(ctx);
  if (behaviour === 'succeed' || behaviour.startsWith('effect')) journal.effect(ctx);
  if (behaviour === 'succeed') return ctx.workflow.step;
  if (behaviour.endsWith('fail')) throw new Error(behaviour);
  return new Promise((resolve) => {
    // A hanging step resolves after its timeout, so its output must be discarded.
    clock.after(behaviour.endsWith('30 ms') ? 30 : 500, () => resolve(ctx.workflow.step));
  });
}

async function startHub(transport: Transport, clock: FakeClock, script: Script, journal: Journal): Promise<Hub> {
  const hub = createHub({ transport });
  const follow = (ctx: HandlerCtx): number => journal.followUps.push(ctx.eventId);
  for (const type of ['ok', 'bad', 'done']) hub.event({ type, handler: follow });
  hub.workflow(
    createWorkflow({
      name: 'w',
      onSuccess: 'ok',
      onFailure: 'bad',
      onComplete: 'done',
      steps: stepNames.map((name, index) => ({
        name,
        timeoutMs: 100,
        retry: { maxAttempts, initialDelayMs: 20, jitter: false },
        handler: (ctx: StepCtx) => perform(ctx, script[index] ?? [], journal, clock),
      })),
    }),
  );
  await hub.start();
  return hub;
}

type Script = readonly (readonly Behaviour[])[];

const behaviour = fc.constantFrom<Behaviour>(
  'succeed',
  'fail',
  'effect and fail',
  'hang',
  'effect and hang',
  'effect and take 30 ms',
);
const script: fc.Arbitrary<Script> = fc.array(fc.array(behaviour, { maxLength: maxAttempts }), {
  minLength: stepNames.length,
  maxLength: stepNames.length,
});
const disturbance: fc.Arbitrary<Disturbance> = fc.oneof(
  fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 150 }) }),
  fc.record({ do: fc.constant('crash' as const) }),
  fc.record({ do: fc.constant('cancel' as const), run: fc.nat(2) }),
);

it('ends every run once and in order, for any failures, timeouts, crashes and cancellations', async () => {
  await fc.assert(
    fc.asyncProperty(script, fc.array(disturbance, { maxLength: 15 }), async (steps, disturbances) => {
      const clock = createFakeClock();
      const transport = memoryTransport({ clock });
      const journal = new Journal();
      let hub = await startHub(transport, clock, steps, journal);
      const runs = [await hub.startWorkflow('w', 0), await hub.startWorkflow('w', 1), await hub.startWorkflow('w', 2)];
      for (const current of disturbances) {
        if (current.do === 'advance') await clock.advance(current.ms);
        else if (current.do === 'cancel') await runs[current.run]?.cancel();
        else {
          await hub.stop({ drainMs: 0 });
          hub = await startHub(transport, clock, steps, journal);
        }
        await clock.settle();
      }
      await clock.advance(100_000);

      const [workflow] = (await hub.introspect()).workflows;
      expect(workflow?.metrics).toMatchObject({ received: 3, pending: 0, active: 0 });
      for (const run of workflow?.runs ?? []) {
        const isCompleted = run.status === 'completed';
        expect(run.endedAt).toBeDefined();
        const done = run.steps.filter(({ status }) => status === 'completed').length;
        expect(run.steps.slice(0, done).every(({ status }) => status === 'completed')).toBe(true);
        expect(done === stepNames.length).toBe(isCompleted);
        // Each step receives the previous output, and all attempts at an effect use one key.
        for (const [index, step] of stepNames.slice(0, done).entries()) {
          const name = `${run.id} ${step}`;
          if (index > 0) expect(journal.payloads.get(name)).toBe(stepNames[index - 1]);
          expect(journal.effects.get(name)?.size ?? 1).toBe(1);
        }
        const expected = ['complete', isCompleted ? 'success' : 'failure'].map((place) =>
          deriveId('hub', run.id, place),
        );
        for (const id of expected) expect(journal.followUps.filter((other) => other === id)).toHaveLength(1);
      }
      expect(journal.followUps).toHaveLength(6);
      await hub.stop();
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: runs(100) },
  );
});
