import { setTimeout as delay } from 'node:timers/promises';
import { createEvent, createWorkflow, defineWorkflow, type Hub } from 'hubline';
import { readLedger, writeLedger } from '../workers/ledger.js';

/** Event of the `judged` scenario: number of the run, and number of the event among those of its run. */
interface Part {
  readonly n: number;
  readonly part: number;
}

const offered = createEvent({ type: 'offered', key: ({ n }: Part) => String(n) });
const withdrawn = createEvent({ type: 'withdrawn', key: ({ n }: Part) => String(n) });

/** Payload of `onComplete`. */
interface Ending {
  readonly error?: { readonly code?: string };
  readonly result?: readonly number[];
  readonly payload: { readonly n: number };
}

/** Events per run about which its waits decide. */
const offersPerRun = 4;
/** Events per run that would cancel it, of which one is final if the run is withdrawn. */
const withdrawalsPerRun = 3;

/** Number of the event that the first wait of a run takes. */
const takenPart = (n: number): number => n % offersPerRun;

/** Returns `true` for runs that an event cancels. */
const isWithdrawn = (n: number): boolean => n % 3 === 0;

/** Ends the process now and then, while it decides or while the verdict is on its way. */
function dieAtRandom(): void {
  if (Math.random() < 0.005) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Math.random() * 5);
}

/** Returns the error of a run that is withdrawn, or else its result: the first event is the one that it wants. */
export function endOf(n: number): string {
  const parts = Array.from({ length: offersPerRun }, (_, part) => part);
  const rest = parts.filter((part) => part !== takenPart(n));
  return isWithdrawn(n) ? 'ERR_WORKFLOW_CANCELLED' : `${[takenPart(n), ...rest]}`;
}

const judged = defineWorkflow<{ n: number }, readonly number[]>({
  name: 'judged',
  service: 'shop',
  receives: [{ event: offered, key: ({ n }) => String(n) }],
  cancelOn: [
    {
      event: withdrawn,
      key: ({ n }) => String(n),
      when: ({ n, part }) => {
        dieAtRandom();
        return isWithdrawn(n) && part === withdrawalsPerRun - 1;
      },
    },
  ],
  retain: { completed: 10_000, failed: 10_000 },
});

/**
 * Registers a workflow whose waits decide by `when` about the events of a run; the variant `web <count>` starts so many
 * runs and emits their events instead, and continues after its predecessor.
 */
export function judge(hub: Hub, ledger: string, variant: string): (() => Promise<void>) | undefined {
  if (variant.startsWith('web')) return async () => void serve(hub, ledger, Number(variant.slice('web '.length)));
  hub.workflow(
    createWorkflow(judged, {
      onComplete: 'judged.ended',
      run: async ({ input: { n }, step }) => {
        const take = async (name: string, when: (event: Part) => boolean): Promise<number> => {
          const { part } = await step.waitForEvent(name, offered, {
            key: String(n),
            when: (event) => {
              const [what, key] = [`asked ${name}`, `${n}.${event.part}`];
              // The verdict is lost, so that another process has to decide.
              const isLost = n % 50 === 1 && name === 'first' && !hasAsked(ledger, what, key);
              writeLedger(ledger, what, key);
              if (isLost) process.kill(process.pid, 'SIGKILL');
              dieAtRandom();
              return when(event);
            },
          });
          return part;
        };
        // The wait of a run that is withdrawn refuses all until then.
        const parts = [await take('first', ({ part }) => !isWithdrawn(n) && part === takenPart(n))];
        // Later waits take those that the first one refused.
        while (parts.length < offersPerRun) parts.push(await take(`next ${parts.length}`, () => true));
        return parts;
      },
    }),
  );
  hub.event<Ending>({
    type: 'judged.ended',
    handler: ({ payload: { error, result, payload }, eventId }) =>
      writeLedger(ledger, `ended ${error?.code ?? result} ${eventId}`, String(payload.n)),
  });
  return undefined;
}

function hasAsked(ledger: string, what: string, key: string): boolean {
  return readLedger(ledger).some((entry) => entry.what === what && entry.key === key);
}

async function serve(hub: Hub, ledger: string, count: number): Promise<void> {
  const emitted = new Set(readLedger(ledger).flatMap(({ what, key }) => (what === 'emitted' ? [Number(key)] : [])));
  const open = Array.from({ length: count }, (_, n) => n).filter((n) => !emitted.has(n));
  const next = open.values();
  const work = async (): Promise<void> => {
    for (const n of next) {
      // The predecessor may have started the run or emitted its events, and died before it wrote that down.
      await hub.startWorkflow(judged, { n }, { dedupeId: String(n) });
      for (let part = 0; part < Math.max(offersPerRun, withdrawalsPerRun); part += 1) {
        await delay(Math.random() * 50);
        if (part < offersPerRun) await hub.emit(offered, { n, part }, { dedupeId: `${n}.${part}` });
        if (part < withdrawalsPerRun) await hub.emit(withdrawn, { n, part }, { dedupeId: `${n}.${part}` });
      }
      writeLedger(ledger, 'emitted', String(n));
    }
  };
  await Promise.all(Array.from({ length: 20 }, work));
}
