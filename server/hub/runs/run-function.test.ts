import { describe, expect, it } from 'vitest';
import { StepFailedError, UnknownEventError } from '../errors.js';
import type { HandlerCtx } from '../events/context.js';
import { deferred } from '../hub.fixture.js';
import { countsOf, startRun } from './start-run.fixture.js';
import type { RunCtx } from './step.js';

const day = 86_400_000;

describe('step.run', () => {
  it('resolves with the recorded JSON of the result', async () => {
    const seen: unknown[] = [];
    const { handle } = await startRun(
      async ({ input, step }: RunCtx<{ n: number }>) => {
        seen.push(await step.run('date', () => ({ at: new Date(0), gone: undefined, n: input.n })));
        seen.push(await step.run('nothing', () => {}));
        return step.run('context', ({ step: id, runId, attempt, idempotencyKey }) => ({
          id,
          attempt,
          idempotencyKey: idempotencyKey.replace(runId, 'run'),
        }));
      },
      { n: 1 },
    );
    expect(await handle.result()).toEqual({ id: 'context', attempt: 1, idempotencyKey: 'hub:run:context' });
    expect(seen).toEqual([{ at: '1970-01-01T00:00:00.000Z', n: 1 }, null]);
  });

  it('rejects with a StepFailedError that the function may catch', async () => {
    const { handle } = await startRun(async ({ step }: RunCtx<null>) => {
      const failure = await step
        .run('charge', () => Promise.reject(new TypeError('declined')))
        .catch((error: unknown) => error);
      if (!(failure instanceof StepFailedError)) throw new Error('not a StepFailedError');
      const { step: id, attempts, failure: cause } = failure;
      return { id, attempts, cause };
    }, null);
    const cause = { name: 'TypeError', message: 'declined' };
    expect(await handle.result()).toEqual({ id: 'charge', attempts: 1, cause });
  });

  it('fails the run with its own error if the function does not catch it', async () => {
    const { handle, log } = await startRun(
      ({ step }: RunCtx<null>) => step.run('charge', () => Promise.reject(new TypeError('declined'))),
      null,
    );
    await expect(handle.result()).rejects.toMatchObject({ failure: { name: 'TypeError', message: 'declined' } });
    expect(log.find(({ message }) => message === 'step failed')?.fields).toMatchObject({
      step: 'charge',
      attempt: 1,
      workflow: 'w',
      requestId: handle.runId,
    });
  });

  it('suspends the run until its retry, which holds no slot', async () => {
    let attempts = 0;
    const test = await startRun(async ({ step }: RunCtx<null>) => {
      await step.run(
        'flaky',
        ({ attempt }) => {
          attempts += 1;
          if (attempt < 3) throw new Error('no');
        },
        { retry: { maxAttempts: 3, initialDelayMs: 1_000, jitter: false } },
      );
      return attempts;
    }, null);
    expect(await countsOf(test)).toMatchObject({ pending: 1, active: 0, suspended: 1, retried: 1 });
    expect((await test.handle.status()).steps).toMatchObject([
      {
        name: 'flaky',
        status: 'retrying',
        attempt: 2,
        error: { message: 'no' },
        waitsFor: { dueAt: test.clock.now() + 1_000 },
      },
    ]);
    await test.clock.advance(3_000);
    expect(await test.handle.result()).toBe(3);
    expect(await countsOf(test)).toMatchObject({ completed: 1, retried: 2, suspended: 0 });
  });

  it('accepts what it emits with its result: a failed attempt emits nothing', async () => {
    const seen: unknown[] = [];
    const test = await startRun(
      async ({ step }: RunCtx<null>) =>
        step.run(
          'bill',
          async ({ attempt, emit }) => {
            await emit('billed', { attempt });
            if (attempt === 1) throw new Error('no');
          },
          { retry: { initialDelayMs: 10, jitter: false } },
        ),
      null,
      (hub) => hub.event({ type: 'billed', handler: ({ payload }: HandlerCtx) => seen.push(payload) }),
    );
    await test.clock.advance(10);
    await test.handle.result();
    await test.clock.settle();
    expect(seen).toEqual([{ attempt: 2 }]);
  });
});

describe('step.sleep', () => {
  it('suspends the run for a year, without memory of its process', async () => {
    const test = await startRun(async ({ step }: RunCtx<null>) => {
      await step.sleep('long', 365 * day);
      await step.sleepUntil('past', 0);
      return 'awake';
    }, null);
    expect(await countsOf(test)).toMatchObject({ active: 0, suspended: 1 });
    await test.clock.advance(364 * day);
    expect((await test.handle.status()).status).toBe('suspended');
    await test.clock.advance(day);
    expect(await test.handle.result()).toBe('awake');
  });

  it('refuses durations and times that no transport can store', async () => {
    const { handle } = await startRun(async ({ step }: RunCtx<null>) => {
      const errors = await Promise.allSettled([
        step.sleep('a', -1),
        step.sleep('b', Number.MAX_VALUE),
        step.sleepUntil('c', new Date('nonsense')),
        step.sleepUntil('d', Number.MAX_SAFE_INTEGER),
      ]);
      return errors.map((result) => result.status === 'rejected' && (result.reason as Error).message);
    }, null);
    expect(await handle.result()).toEqual([
      expect.stringContaining('ms of step.sleep'),
      expect.stringContaining('ms of step.sleep'),
      expect.stringContaining('time of step.sleepUntil'),
      expect.stringContaining('time of step.sleepUntil'),
    ]);
  });
});

describe('step.waitForEvent', () => {
  it('resolves with the payload of an event that its own step provokes', async () => {
    const test = await startRun(
      async ({ step }: RunCtx<null>) => {
        const reply = step.waitForEvent('reply', 'replied');
        await step.emit('ask', 'asked', { q: 1 });
        return reply;
      },
      null,
      (hub) => {
        hub.event({ type: 'replied' });
        hub.event({ type: 'asked', handler: ({ emit, payload }) => emit('replied', { to: payload }) });
      },
    );
    expect(await test.handle.result()).toEqual({ to: { q: 1 } });
  });

  it('resolves with null after its timeout', async () => {
    const test = await startRun(
      ({ step }: RunCtx<null>) => step.waitForEvent('reply', 'replied', { timeoutMs: 2 * day }),
      null,
      (hub) => hub.event({ type: 'replied' }),
    );
    expect((await test.handle.status()).steps).toMatchObject([
      { name: 'reply', kind: 'event', status: 'waiting', waitsFor: { event: { type: 'replied' } } },
    ]);
    await test.clock.advance(2 * day);
    expect(await test.handle.result()).toBeNull();
  });

  it('fails the run if the type is not registered', async () => {
    const { handle } = await startRun(({ step }: RunCtx<null>) => step.waitForEvent('reply', 'replied'), null);
    await expect(handle.result()).rejects.toMatchObject({ failure: { name: UnknownEventError.name } });
  });
});

describe('step.map', () => {
  it('runs each element as a step, at most `concurrency` at once', async () => {
    let running = 0;
    let most = 0;
    const gate = deferred();
    const test = await startRun(
      ({ step }: RunCtx<number[]>) =>
        step.map(
          'mail',
          [1, 2, 3, 4, 5],
          async (n, ctx) => {
            running += 1;
            most = Math.max(most, running);
            await gate.promise;
            running -= 1;
            return `${ctx.step} ${n}`;
          },
          { concurrency: 2 },
        ),
      [],
    );
    gate.resolve();
    expect(await test.handle.result()).toEqual(['mail[0] 1', 'mail[1] 2', 'mail[2] 3', 'mail[3] 4', 'mail[4] 5']);
    expect(most).toBe(2);
  });

  it('rejects with the first failure after the running elements have ended, and starts no more', async () => {
    const ran: number[] = [];
    const test = await startRun(
      ({ step }: RunCtx<null>) =>
        step.map(
          'mail',
          [0, 1, 2, 3],
          (n) => {
            ran.push(n);
            if (n === 0) throw new Error('bounced');
          },
          { concurrency: 2 },
        ),
      null,
    );
    await expect(test.handle.result()).rejects.toMatchObject({ failure: { message: 'bounced' } });
    expect(ran).toEqual([0, 1]);
  });
});

describe('cancel', () => {
  it('aborts the signal of the run and of its running step', async () => {
    const reasons: unknown[] = [];
    const test = await startRun(async ({ step, signal }: RunCtx<null>) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      await step.run('hang', (ctx) => {
        ctx.signal.addEventListener('abort', () => reasons.push(ctx.signal.reason));
        return new Promise(() => {});
      });
    }, null);
    await test.handle.cancel();
    expect(reasons).toMatchObject([{ code: 'ERR_WORKFLOW_CANCELLED' }, { code: 'ERR_WORKFLOW_CANCELLED' }]);
  });
});
