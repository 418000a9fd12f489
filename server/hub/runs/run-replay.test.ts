import { describe, expect, it } from 'vitest';
import { StepFailedError } from '../errors.js';
import { deferred, type TestHub, testHub } from '../hub.fixture.js';
import { entryKey, writeEntry } from './run-entry.js';
import { Replay, type StepRequest } from './run-replay.js';
import type { RunCtx } from './step.js';
import { createWorkflow } from './workflow.js';

type RunOf = (ctx: RunCtx<null>) => unknown;

/** Calls the functions of a run in turn, each in a hub of its own on the same transport, as deploys and crashes do. */
async function startVersions(
  first: RunOf,
  version?: number,
): Promise<TestHub & { runId: string; restart(run: RunOf, version?: number): Promise<TestHub> }> {
  const test = testHub();
  test.hub.event({ type: 'go' });
  test.hub.workflow(createWorkflow({ name: 'w', run: first, ...(version !== undefined && { version }) }));
  await test.hub.start();
  const { runId } = await test.hub.startWorkflow('w', null);
  await test.clock.settle();
  let current: TestHub = test;
  return {
    ...test,
    runId,
    async restart(run, nextVersion) {
      await current.hub.stop({ drainMs: 0 });
      current = testHub({ transport: test.transport });
      current.hub.event({ type: 'go' });
      current.hub.workflow(
        createWorkflow({ name: 'w', run, ...(nextVersion !== undefined && { version: nextVersion }) }),
      );
      await current.hub.start();
      await test.clock.settle();
      return current;
    },
  };
}

const never = (): Promise<never> => new Promise(() => {});

describe('replay', () => {
  it('returns recorded results without running their steps, and repeats ordinals and races', async () => {
    const ran: string[] = [];
    const gates = [deferred(), deferred()];
    const results: unknown[] = [];
    const run =
      (last: () => unknown): RunOf =>
      async ({ step }) => {
        const branch = async (index: number): Promise<unknown> => {
          await step.run(`work ${index}`, () => gates[index]?.promise);
          return step.run('send', (ctx) => {
            ran.push(`${ctx.step} of ${index}`);
            return `${ctx.step} of ${index}`;
          });
        };
        const winner = await Promise.race([branch(0), branch(1)]);
        results.push(winner);
        await step.run('last', last);
        return winner;
      };
    const test = await startVersions(run(never));
    gates[1]?.resolve();
    await test.clock.settle();
    gates[0]?.resolve();
    await test.clock.settle();
    const { hub } = await test.restart(run(() => 1));
    expect((await hub.getRun('w', test.runId)).status).toBe('completed');
    expect(ran).toEqual(['send of 1', 'send#2 of 0']);
    expect(results).toEqual(['send of 1', 'send of 1']);
  });

  it('rejects with the same StepFailedError', async () => {
    const errors: unknown[] = [];
    const run =
      (last: () => unknown): RunOf =>
      async ({ step }) => {
        await step
          .run('charge', () => Promise.reject(new TypeError('no')))
          .catch((error: unknown) => errors.push(error));
        await step.run('last', last);
      };
    const test = await startVersions(run(never));
    await test.restart(run(() => 1));
    expect(errors).toHaveLength(2);
    const [live, replayed] = errors as StepFailedError[];
    expect(live).toBeInstanceOf(StepFailedError);
    expect(replayed).toBeInstanceOf(StepFailedError);
    expect({ ...replayed, message: replayed?.message }).toEqual({ ...live, message: live?.message });
  });

  it('repeats the attempt number of a step that a stopping hub interrupted, with the same key', async () => {
    const attempts: [number, string][] = [];
    const run =
      (result: () => unknown): RunOf =>
      ({ step }) =>
        step.run('charge', ({ attempt, idempotencyKey }) => {
          attempts.push([attempt, idempotencyKey]);
          return result();
        });
    const test = await startVersions(run(never));
    await test.restart(run(() => 1));
    expect(attempts).toEqual([
      [1, `hub:${test.runId}:charge`],
      [1, `hub:${test.runId}:charge`],
    ]);
  });

  it('continues the retries of a step where they were', async () => {
    const attempts: number[] = [];
    const run: RunOf = ({ step }) =>
      step.run(
        'flaky',
        ({ attempt }) => {
          attempts.push(attempt);
          throw new Error('no');
        },
        { retry: { maxAttempts: 3, initialDelayMs: 100, jitter: false } },
      );
    const test = await startVersions(run);
    await test.restart(run);
    expect(attempts).toEqual([1]);
    await test.clock.advance(100);
    const last = await test.restart(run);
    await test.clock.advance(1_000);
    expect(attempts).toEqual([1, 2, 3]);
    expect((await last.hub.getRun('w', test.runId)).status).toBe('failed');
  });
});

describe('changed code', () => {
  it.each<[string, RunOf, string]>([
    [
      'asks for a step of another name',
      ({ step }) => step.run('other', () => 1),
      'recorded the step run:a, but the code now asks for run:other',
    ],
    [
      'asks for a step of another kind',
      ({ step }) => step.sleep('a', 1),
      'recorded the step run:a, but the code now asks for sleep:a',
    ],
    [
      'changes the order of steps',
      async ({ step }) => {
        await step.run('b', () => 1);
        await step.run('a', () => 1);
      },
      'recorded the step run:a, but the code now asks for run:b',
    ],
  ])('fails a run with WorkflowVersionError if it %s', async (_, changed, message) => {
    const test = await startVersions(async ({ step }) => {
      await step.run('a', () => 1);
      await step.run('b', never);
    });
    const { hub } = await test.restart(changed);
    expect(await hub.getRun('w', test.runId)).toMatchObject({
      status: 'failed',
      error: { name: 'WorkflowVersionError', message: expect.stringContaining(message) },
    });
  });

  it('may insert and remove steps behind step.patched', async () => {
    const old: RunOf = async ({ step }) => {
      await step.run('a', () => 1);
      await step.waitForEvent('go', 'go');
    };
    const answers: boolean[] = [];
    const patched: RunOf = async ({ step }) => {
      const isFirst = step.patched('checked');
      if (isFirst) await step.run('check', () => 1);
      await step.run('a', () => 1);
      await step.waitForEvent('go', 'go');
      const isLater = step.patched('audited');
      answers.push(isFirst, isLater);
      if (isLater) await step.sleep('audit', 1_000);
      return [isFirst, isLater];
    };
    const test = await startVersions(old);
    const next = await test.restart(patched);
    await next.hub.emit('go', null);
    await test.clock.settle();
    // The answer outlives the process: it was recorded before the sleep.
    const last = await test.restart(patched);
    await test.clock.advance(1_000);
    expect((await last.hub.getRun('w', test.runId)).status).toBe('completed');
    expect(answers).toEqual([false, true, false, true]);
    const fresh = await last.hub.startWorkflow('w', null);
    await test.clock.settle();
    await last.hub.emit('go', null);
    await test.clock.advance(1_000);
    expect(await fresh.result()).toEqual([true, true]);
  });

  it('warns once of a recorded step that it never reaches', async () => {
    const test = await startVersions(async ({ step }) => {
      await step.run('a', () => 1);
      await step.run('gone', () => 1);
      await step.run('b', never);
    });
    const { hub, log } = await test.restart(async ({ step }) => {
      await step.run('a', () => 1);
    });
    expect((await hub.getRun('w', test.runId)).status).toBe('completed');
    const warnings = log.filter(({ message }) => message === 'run completed without reaching steps that it recorded');
    expect(warnings).toMatchObject([{ level: 'warn', fields: { steps: ['run:gone'], runId: test.runId } }]);
  });

  it('releases a run that a higher version advanced, and a process with that version resumes it', async () => {
    const run =
      (last: () => unknown): RunOf =>
      async ({ step }) => {
        await step.run('a', () => 1);
        return step.run('b', last);
      };
    const test = await startVersions(run(never), 2);
    const old = await test.restart(
      run(() => 'old'),
      1,
    );
    expect((await old.hub.getRun('w', test.runId)).status).toBe('waiting');
    await test.clock.advance(5_000);
    expect(await old.hub.getRun('w', test.runId)).toMatchObject({ status: 'waiting', attempt: 1 });
    const next = await test.restart(
      run(() => 'new'),
      2,
    );
    await test.clock.advance(1_000);
    expect((await next.hub.getRun('w', test.runId, { outputs: true })).steps.at(-1)).toMatchObject({ output: 'new' });
  });

  it('releases a run whose process of a higher version died in the first step behind step.patched', async () => {
    const ran: string[] = [];
    const first =
      (label: () => unknown): RunOf =>
      async ({ step }) => {
        await step.run('a', () => 1);
        await step.run('label', label);
      };
    const next =
      (book: () => unknown): RunOf =>
      async ({ step }) => {
        await step.run('a', () => 1);
        if (step.patched('use-carrier')) await step.run('book', book);
        else await step.run('label', () => ran.push('label'));
      };
    const test = await startVersions(first(never), 1);
    await test.restart(next(never), 2);
    const old = await test.restart(
      first(() => ran.push('label')),
      1,
    );
    expect((await old.hub.getRun('w', test.runId)).status).toBe('waiting');
    const last = await test.restart(
      next(() => ran.push('book')),
      2,
    );
    await test.clock.advance(1_000);
    expect((await last.hub.getRun('w', test.runId)).status).toBe('completed');
    expect(ran).toEqual(['book']);
  });
});

describe('limits', () => {
  it('fail a run with more than 10,000 steps, or elements of step.map', async () => {
    const steps = await startVersions(async ({ step }) => {
      for (let i = 0; i <= 10_000; i += 1) await step.run('a', () => 1);
    });
    expect(await steps.hub.getRun('w', steps.runId)).toMatchObject({
      error: { name: 'RunLimitError', message: expect.stringContaining('10000 steps') },
    });
    const elements = await startVersions(({ step }) => step.map('m', Array.from({ length: 10_001 }), () => 1));
    expect((await elements.hub.getRun('w', elements.runId)).error).toMatchObject({ name: 'RunLimitError' });
  });
});

describe('Replay', () => {
  const entry = writeEntry({ version: 1, delivery: 1, attempt: 1, startedAt: 0, durationMs: 0 }, '1');
  const keyOf = (id: string): string => entryKey({ role: 'run', generation: 0, id, attempt: 0 });

  it('gives each use of a name an ordinal, and skips one that a step is named like', () => {
    const replay = new Replay(new Map(), 0);
    expect(['send', 'send', 'send#3', 'send', 'other'].map((name) => replay.nextId(name))).toEqual([
      'send',
      'send#2',
      'send#3',
      'send#4',
      'other',
    ]);
  });

  it('releases one result per call, in the order of recording', () => {
    const released: string[] = [];
    const requestOf = (id: string): StepRequest => ({
      kind: 'run',
      id,
      slot: `run:${id}`,
      firstDelivery: 1,
      failed: undefined,
      release: () => released.push(id),
    });
    const replay = new Replay(
      new Map([
        [keyOf('b'), entry],
        [keyOf('a'), entry],
      ]),
      0,
    );
    replay.request(requestOf('a'));
    expect(replay.advance()).toBe('unrequested');
    replay.request(requestOf('b'));
    expect(replay.advance()).toBe('released');
    expect(released).toEqual(['b']);
    expect(replay.advance()).toBe('released');
    expect(replay.advance()).toBe('end');
    replay.entries.append(keyOf('c'), entry);
    expect(replay.unreachedSlots()).toEqual(['run:c']);
  });
});
