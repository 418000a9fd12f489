import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createWorkflow, type Hub, type RunCtx } from 'hubline';
import { writeLedger } from '../workers/ledger.js';

/** Input of a run of the `rolling` scenario. */
interface Begun {
  readonly n: number;
  /** The run waits for the event `deployed` in its middle. */
  readonly waits: boolean;
}

/** Result of a run of the `rolling` scenario: the value that each step recorded. */
interface RollingResult {
  readonly n: number;
  readonly steps: Readonly<Record<string, string>>;
}

/**
 * Registers two versions of one workflow. `v2` books a carrier instead of a label unless the run has a label, and ends
 * with one more step.
 */
export function rolling(hub: Hub, ledger: string, variant: string): void {
  const isChanged = variant === 'v2';
  const record = (name: string, n: number) => async (): Promise<string> => {
    const value = randomUUID();
    await delay(Math.random() * 30);
    writeLedger(ledger, `${variant} ran ${name} ${value}`, String(n));
    return value;
  };
  const run = async ({ input: { n, waits }, step }: RunCtx<Begun>): Promise<RollingResult> => {
    const steps: Record<string, string> = {};
    const take = async (name: string): Promise<void> => {
      steps[name] = await step.run(name, record(name, n));
    };
    await take('reserve');
    await step.sleep('pause', Math.random() * 300);
    await take(isChanged && step.patched('use-carrier') ? 'book' : 'label');
    if (waits) await step.waitForEvent('deployed', 'deployed');
    await Promise.all([step.sleep('second', Math.random() * 300), take('pack')]);
    await take('tell');
    if (isChanged && step.patched('audit')) await take('audit');
    return { n, steps };
  };
  hub.workflow(
    createWorkflow({
      name: 'rolling',
      trigger: hub.event<Begun>({ type: 'begun' }),
      version: isChanged ? 2 : 1,
      onSuccess: 'rolled',
      onFailure: 'rolling.failed',
      retain: { completed: 10_000 },
      run,
    }),
  );
  hub.event({ type: 'deployed' });
  hub.event<RollingResult>({
    type: 'rolled',
    handler: ({ payload }) => writeLedger(ledger, `ended ${JSON.stringify(payload.steps)}`, String(payload.n)),
  });
  hub.event<{ payload: Begun; error: { message: string } }>({
    type: 'rolling.failed',
    handler: ({ payload: { payload, error } }) => writeLedger(ledger, `failed ${error.message}`, String(payload.n)),
  });
}
