import { expect, it } from 'vitest';
import { InvalidOptionError } from '../errors.js';
import { createHub } from './create-hub.js';
import { UnknownEventError } from './errors.js';
import type { Failure, FailurePayload } from './events/follow-ups.js';
import { testHub } from './hub.fixture.js';
import { createWorkflow } from './runs/workflow.js';

const workflow = createWorkflow({ name: 'fulfil', steps: [{ name: 'pick', handler: () => null }] });

it('log lines, failures and dead letters of an event name its request', async () => {
  const { hub, clock, log } = testHub();
  const retry = { maxAttempts: 2, initialDelayMs: 1, jitter: false };
  hub.event({ type: 'a', retry, handler: () => Promise.reject(new Error('no')) });
  await hub.start();
  const { id } = await hub.emit('a', 1, { requestId: 'r-1' });
  await clock.advance(100);
  const context = { requestId: 'r-1', eventType: 'a', eventId: id };
  expect(log).toMatchObject([
    { message: 'attempt failed', fields: { ...context, attempt: 1 } },
    { message: 'event failed', fields: { ...context, attempt: 2 } },
  ]);
  expect(await hub.failures('a')).toMatchObject([{ id, requestId: 'r-1', attempt: 2 }]);
  expect(await hub.deadLetters('a')).toMatchObject([{ id, requestId: 'r-1', attempt: 2 }]);
});

it('log lines, failures and dead letters of a run name its request and its step', async () => {
  const { hub, clock, log } = testHub();
  const retry = { maxAttempts: 2, initialDelayMs: 1, jitter: false };
  const pick = (): Promise<never> => Promise.reject(new Error('no'));
  hub.workflow(createWorkflow({ name: 'w', steps: [{ name: 'pick', retry, handler: pick }] }));
  await hub.start();
  const { runId } = await hub.startWorkflow('w', 1, { requestId: 'r-2' });
  await clock.advance(100);
  const context = { requestId: 'r-2', workflow: 'w', runId };
  expect(log).toMatchObject([
    { message: 'attempt failed', fields: { ...context, step: 'pick', attempt: 1 } },
    { message: 'step failed', fields: { ...context, step: 'pick', attempt: 2 } },
    { message: 'workflow failed', fields: { ...context, step: 'pick', attempt: 1 } },
  ]);
  expect(await hub.deadLetters('w')).toMatchObject([{ id: runId, requestId: 'r-2', step: 'pick' }]);
});

it('the payload of onFailure, and onFailure of the hub, name the run, its step and the attempt at it', async () => {
  const failures: Failure[] = [];
  const payloads: unknown[] = [];
  const { hub, clock } = testHub({ service: 'shop', onFailure: (failure) => failures.push(failure) });
  const declined = new Error('declined');
  const pick = (): Promise<never> => Promise.reject(declined);
  const retry = { maxAttempts: 3, initialDelayMs: 1, jitter: false };
  hub.event<FailurePayload>({ type: 'stuck', handler: ({ payload }) => void payloads.push(payload) });
  hub.workflow(
    createWorkflow({ name: 'w', onFailure: 'stuck', run: async ({ step }) => step.run('pick', pick, { retry }) }),
  );
  await hub.start();
  const { runId } = await hub.startWorkflow('w', 1, { requestId: 'r-2' });
  await clock.advance(100);
  const event = {
    kind: 'workflow',
    type: 'w',
    id: runId,
    service: 'shop',
    requestId: 'r-2',
    attempt: 3,
    step: 'pick',
  } as const;
  expect(payloads).toEqual([{ error: { name: 'Error', message: 'declined' }, event, payload: 1 }]);
  expect(failures).toEqual([{ ...event, error: declined }]);
  expect(failures[0]?.error).toBe(declined);
});

it('onFailure of the hub is called once per recorded failure: not for retries, successes and cancellations', async () => {
  const failures: unknown[] = [];
  const { hub, clock, log } = testHub({
    onFailure: async ({ type, attempt }) => {
      failures.push([type, attempt]);
      throw new Error('tracker is down');
    },
  });
  const retry = { maxAttempts: 2, initialDelayMs: 1, jitter: false };
  hub.event({ type: 'a', retry, handler: () => Promise.reject(new Error('no')) });
  hub.event({ type: 'good', handler: () => {} });
  hub.event({
    type: 'slow',
    handler: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  await hub.start();
  await hub.emit('a', 1);
  await hub.emit('good', 1);
  const { id } = await hub.emit('slow', 1);
  await clock.advance(100);
  await hub.cancel(id);
  await clock.advance(100);
  expect(failures).toEqual([['a', 2]]);
  expect(log.filter(({ message }) => message === 'onFailure of createHub failed')).toMatchObject([
    { level: 'error', fields: { eventType: 'a', err: { message: 'tracker is down' } } },
  ]);
});

it('metrics and failures of a workflow say what to call instead, also on a read-only hub', async () => {
  const { hub, transport } = testHub();
  hub.workflow(workflow);
  await hub.start();
  const observer = createHub({ transport, observer: true });
  for (const asked of [hub.metrics('fulfil'), hub.failures('fulfil'), observer.metrics('fulfil')]) {
    await expect(asked).rejects.toThrow(UnknownEventError);
    await expect(asked).rejects.toThrow('it is the name of a workflow: hub.introspect() returns the counts');
  }
});

it('an unknown type on a read-only hub names near types of the running hubs', async () => {
  const { hub, transport } = testHub();
  hub.event({ type: 'order.created', handler: () => {} });
  await hub.start();
  const observer = createHub({ transport, observer: true });
  await expect(observer.metrics('order.craeted')).rejects.toThrow('did you mean "order.created"?');
});

it('dead letters of a read-only hub without a service name the missing option', async () => {
  const { hub, transport, clock } = testHub({ service: 'shop' });
  hub.event({ type: 'a', handler: () => Promise.reject(new Error('no')) });
  await hub.start();
  await hub.emit('a', 1);
  await clock.settle();
  const asked = createHub({ transport, observer: true }).deadLetters('a');
  await expect(asked).rejects.toThrow(InvalidOptionError);
  await expect(asked).rejects.toThrow('service of createHub must be set for deadLetters of a read-only hub');
  expect(await createHub({ transport, observer: true, service: 'shop' }).deadLetters('a')).toHaveLength(1);
});

it.each(['a\ud800', 'a\u0000', '', 'x'.repeat(513), 7, undefined])('refuses the id %j everywhere', async (value) => {
  const { hub } = testHub();
  hub.event({ type: 'a', handler: () => {} });
  hub.workflow(workflow);
  await hub.start();
  const id = value as string;
  const calls = [() => hub.replay(id), () => hub.cancel(id)];
  if (value !== undefined) {
    for (const option of ['requestId', 'dedupeId']) {
      calls.push(() => hub.emit('a', 1, { [option]: id }) as never);
      calls.push(() => hub.startWorkflow('fulfil', 1, { [option]: id }) as never);
    }
  }
  for (const call of calls) await expect(call()).rejects.toThrow(InvalidOptionError);
  await expect(hub.emit('a', 1, { delayMs: Number.MAX_VALUE })).rejects.toThrow(InvalidOptionError);
  expect(await hub.metrics('a')).toMatchObject({ received: 0 });
});
