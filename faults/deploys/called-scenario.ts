import { setTimeout as delay } from 'node:timers/promises';
import { createWorkflow, defineWorkflow, type Hub, WorkflowFailedError, type WorkflowHandle } from 'hubline';
import { readLedger, writeLedger } from '../workers/ledger.js';

/** Input of a run of the `called` scenario. */
interface Call {
  readonly n: number;
}

/** Workflow that the web process starts, and the workers of two versions run. */
const called = defineWorkflow<Call, Call>({
  name: 'called',
  service: 'shop',
  retain: { completed: 10_000, failed: 10_000 },
});

/** Number of runs that a web process starts at once. */
const atOnce = 20;

/**
 * Returns `true` for the calls that the web process cancels. The first ones are made before the service has ever started,
 * so that nobody knows its follow-ups.
 */
export const isCancelled = (n: number): boolean => n >= atOnce && n % 5 === 0;

/**
 * Registers a version of the workflow; the variant `web <count>` starts, awaits and cancels so many runs of it instead,
 * and continues those of its predecessor.
 */
export function call(hub: Hub, ledger: string, variant: string): (() => Promise<void>) | undefined {
  if (variant.startsWith('web')) {
    return async () => void serve(hub, ledger, Number(variant.slice('web '.length)));
  }
  const isNew = variant === 'v2';
  hub.event({ type: 'called.failed' });
  hub.workflow(
    createWorkflow(called, {
      version: isNew ? 2 : 1,
      onFailure: 'called.failed',
      run: async ({ input: { n }, step }) => {
        await step.run('reserve', () => delay(Math.random() * 50));
        await step.sleep('pause', Math.random() * 300);
        if (isNew && step.patched('audit')) await step.run('audit', () => delay(Math.random() * 50));
        return step.run('ship', () => {
          writeLedger(ledger, 'shipped', String(n));
          return { n };
        });
      },
    }),
  );
  return undefined;
}

async function serve(hub: Hub, ledger: string, count: number): Promise<void> {
  const entries = readLedger(ledger);
  const awaited = new Set(entries.filter(({ what }) => what.startsWith('awaited')).map(({ key }) => Number(key)));
  const started = new Map(
    entries.flatMap(({ what, key }) =>
      what.startsWith('started ') ? [[Number(key), what.slice('started '.length)]] : [],
    ),
  );
  const open = Array.from({ length: count }, (_, n) => n).filter((n) => !awaited.has(n));
  const next = open.values();
  const work = async (): Promise<void> => {
    for (const n of next) {
      const runId = started.get(n);
      const run = runId === undefined ? await start(hub, ledger, n) : hub.workflowHandle(called, runId);
      if (isCancelled(n)) await cancel(run, ledger, n);
      writeLedger(ledger, `awaited ${await resultOf(run)}`, String(n));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function start(hub: Hub, ledger: string, n: number): Promise<WorkflowHandle<Call>> {
  // The predecessor may have started it, and died before it wrote that down.
  const run = await hub.startWorkflow(called, { n }, { dedupeId: String(n) });
  writeLedger(ledger, `started ${run.runId}`, String(n));
  return run;
}

async function cancel(run: WorkflowHandle<Call>, ledger: string, n: number): Promise<void> {
  await delay(Math.random() * 600);
  writeLedger(ledger, `cancel ${await run.cancel('enough')}`, String(n));
}

async function resultOf(run: WorkflowHandle<Call>): Promise<string> {
  try {
    return String((await run.result()).n);
  } catch (error) {
    if (error instanceof WorkflowFailedError) return error.failure.code ?? error.failure.message;
    throw error;
  }
}
