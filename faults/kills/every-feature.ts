import { setTimeout as delay } from 'node:timers/promises';
import { createHub, createWorkflow, type Hub } from 'hubline';
import { redisTransport } from 'hubline/redis';

/** Workflow whose runs last until an event `go`. */
export const patient = createWorkflow({
  name: 'patient',
  run: async ({ step }) => {
    await step.run('first', () => {});
    await step.waitForEvent('go', 'go');
  },
});

/** Event types whose handlers take the time that {@link startEveryFeature} is passed. */
export const busyTypes: readonly string[] = ['limited', 'rated', 'keyed', 'late', 'debounced'];

/**
 * Starts the hubs of one generation of processes: two that consume, with every kind of limit, a schedule and a
 * workflow, an emitter and an observer.
 *
 * @param workMs time that each handler takes
 */
export async function startEveryFeature(url: string, prefix: string, workMs: number): Promise<readonly Hub[]> {
  const options = {
    url,
    prefix,
    emitTimeoutMs: 60_000,
    lockDurationMs: 1_000,
    stalledIntervalMs: 200,
    maxCrashes: 1_000,
  };
  const open = (service: string, observer = false): Hub =>
    createHub({ service, transport: redisTransport(options), concurrency: 20, ...(observer && { observer }) });
  const work = () => delay(workMs, undefined, { ref: false });
  const consumers = [open('shop'), open('shop')];
  for (const hub of consumers) {
    hub.event({ type: 'limited', concurrency: 2, handler: work });
    hub.event({ type: 'rated', rate: { max: 100, perMs: 1_000 }, handler: work });
    hub.event<number>({ type: 'keyed', key: String, concurrencyPerKey: 1, handler: work });
    hub.event({ type: 'late', concurrency: 5, timeoutMs: 100, handler: work });
    hub.event({ type: 'debounced', debounceMs: 50, handler: work });
    const tick = hub.event({ type: 'tick', handler: () => {} });
    hub.schedule({ name: 'tick', everyMs: 200, emit: tick, payload: null });
    hub.event({ type: 'go' });
    hub.workflow(patient);
  }
  const emitter = open('web');
  for (const type of [...busyTypes, 'go']) emitter.event({ type });
  const observer = open('shop', true);
  const hubs = [...consumers, emitter, observer];
  await Promise.all(hubs.map((hub) => hub.start()));
  return hubs;
}
