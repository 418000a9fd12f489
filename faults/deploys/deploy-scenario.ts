import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createEvent, createWorkflow, FatalError, type Hub } from 'hubline';
import { writeLedger } from '../workers/ledger.js';

/** Payload of the events of the scenario; the number is unique. */
export interface Deployed {
  readonly n: number;
}

/** Event whose key and limits per key differ between versions. */
export const keyedDeployed = createEvent({ type: 'keyed', key: ({ n }: Deployed) => String(n % 3) });

/** Types that the test emits. Only the version `wider` handles `c`. */
export const deployedTypes: readonly string[] = ['a', 'b', 'broken', 'keyed'];

/** Versions of the service: see {@link deploy}. */
export const deployedVersions: readonly string[] = ['stable', 'limited', 'wider'];

const failsAtFirst = (n: number): boolean => n % 20 === 1;

/**
 * Registers versions of one service. `stable`; `limited`, which has other limits and another trigger; `wider`, which
 * handles one more type and not the type `b`. The first attempts at `broken` fail for good; it succeeds if replayed.
 */
export function deploy(hub: Hub, ledger: string, variant: string): void {
  const isLimited = variant === 'limited';
  const work = async (type: string, n: number, attempt: number): Promise<void> => {
    writeLedger(ledger, `start ${type}`, String(n), attempt);
    await delay(Math.random() * 30);
    if (failsAtFirst(n) && attempt === 1) throw new Error('flaky');
    writeLedger(ledger, `end ${type}`, String(n), attempt);
  };
  for (const type of variant === 'wider' ? ['a', 'c'] : ['a', 'b']) {
    hub.event<Deployed>({
      type,
      retry: { maxAttempts: 2, initialDelayMs: 30 },
      ...(isLimited && (type === 'a' ? { concurrency: 3 } : { rate: { max: 20, perMs: 1_000 } })),
      handler: ({ payload: { n }, attempt }) => work(type, n, attempt),
    });
  }
  hub.event(keyedDeployed, {
    retry: { maxAttempts: 2, initialDelayMs: 30 },
    ...(isLimited && { concurrencyPerKey: 1 }),
    ...(variant === 'wider' && { rate: { max: 20, perMs: 500, perKey: true } }),
    handler: ({ payload: { n }, attempt }) => work('keyed', n, attempt),
  });
  hub.event<Deployed>({
    type: 'broken',
    async handler({ payload: { n }, attempt }) {
      const fixed = join(ledger, `fixed-${n}`);
      if (!existsSync(fixed)) {
        writeFileSync(fixed, '');
        throw new FatalError('broken');
      }
      await work('broken', n, attempt + 1);
    },
  });
  hub.workflow(
    createWorkflow({
      name: 'deployed',
      trigger: isLimited ? 'b' : 'a',
      steps: [{ name: 'only', handler: () => variant }],
    }),
  );
  hub.workflow(
    createWorkflow({
      name: 'patient',
      trigger: 'a',
      run: async ({ input, step }) => {
        // The trigger emits `Deployed`.
        const { n } = input as Deployed;
        await step.sleep('pause', Math.random() * 500);
        await step.run('after', () => writeLedger(ledger, 'end patient', String(n)));
      },
    }),
  );
}
