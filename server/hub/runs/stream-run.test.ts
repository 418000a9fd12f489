import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { everyTransport } from '../../testing/every-transport.fixture.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import { UnknownRunError } from '../errors.js';
import { deferred } from '../hub.fixture.js';
import type { Hub } from '../hub.js';
import type { StreamEvent, StreamOptions } from './stream-run.js';
import { createWorkflow } from './workflow.js';

const codec = {
  encode: (text: string) => Buffer.from(text).toString('base64'),
  decode: (text: string) => Buffer.from(text, 'base64').toString(),
};

const transports = [...everyTransport, ['memory with a codec', () => memoryTransport({ codec })] as const];

/** Collects the output of a run as `sequence:step/attempt data`. */
async function collect(hub: Hub, id: string, options?: StreamOptions): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of hub.stream(id, options)) seen.push(show(event));
  return seen;
}

function show(event: StreamEvent): string {
  if (event.type === 'missed') return `missed ${event.missed}, next ${event.sequence}`;
  if (event.type === 'end') return `end ${event.status} ${event.sequence}`;
  const { sequence, data, step, attempt, begins } = event;
  const place = attempt === undefined ? '' : ` ${step ?? ''}@${attempt}${begins ? '*' : ''}`;
  return `${sequence}${place} ${JSON.stringify(data)}`;
}

describe.each(transports)('live output on the %s transport', (_, createTransport) => {
  async function started(transport: Transport, register: (hub: Hub) => void, service = 'shop'): Promise<Hub> {
    const hub = createHub({ transport, service, logger: false });
    register(hub);
    await hub.start();
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    return hub;
  }

  it('is yielded in every process, from a number on, in order, until the run ends', async () => {
    const transport = createTransport();
    const [half, whole] = [deferred(), deferred()];
    const order = createWorkflow({
      name: 'order',
      run: async ({ step }) => {
        await step.publish({ progress: 0 });
        await step.run('pack', async ({ publish }) => {
          for (let i = 0; i < 3; i += 1) await publish(i);
          await half.promise;
          await publish('last');
        });
        await step.waitForEvent('paid', 'paid');
        await step.publish({ progress: 1 });
        await whole.promise;
      },
    });
    const register = (hub: Hub): void => {
      hub.workflow(order);
      hub.event({ type: 'paid' });
    };
    const worker = await started(transport, register);
    const web = await started(transport, () => {}, 'web');
    const { runId } = await worker.startWorkflow(order, null);
    const [own, other] = [collect(worker, runId), collect(web, runId)];
    const late: string[] = [];
    for await (const event of web.stream(runId)) {
      late.push(show(event));
      if (late.length === 4) break;
    }
    half.resolve();
    await vi.waitFor(async () => expect((await worker.waits()).waits).toHaveLength(1));
    await worker.emit('paid', {});
    whole.resolve();
    const expected = [
      '0 {"progress":0}',
      '1 pack@1* 0',
      '2 pack@1 1',
      '3 pack@1 2',
      '4 pack@1 "last"',
      '5 {"progress":1}',
      'end completed 6',
    ];
    expect(await own).toEqual(expected);
    expect(await other).toEqual(expected);
    expect(late).toEqual(expected.slice(0, 4));
    expect(await collect(web, runId, { from: 4 })).toEqual(expected.slice(4));
    expect(await collect(web, runId, { from: 6 })).toEqual(['end completed 6']);
  });

  it('has each entry of the function once, and marks the attempts of a step that repeats', async () => {
    const transport = createTransport();
    let calls = 0;
    const order = createWorkflow({
      name: 'order',
      run: async ({ step }) => {
        await step.publish('begin');
        await step.run('pick', () => {});
        await step.publish('picked');
        await step.run(
          'pack',
          async ({ publish }) => {
            calls += 1;
            await publish(`half ${calls}`);
            if (calls < 2) throw new Error('the tape is empty');
            await publish('whole');
          },
          { retry: { maxAttempts: 2, initialDelayMs: 1, jitter: false } },
        );
        await step.publish('packed');
      },
    });
    const hub = await started(transport, (each) => each.workflow(order));
    const { runId } = await hub.startWorkflow(order, null);
    expect(await collect(hub, runId)).toEqual([
      '0 "begin"',
      '1 "picked"',
      '2 pack@1* "half 1"',
      '3 pack@2* "half 2"',
      '4 pack@2 "whole"',
      '5 "packed"',
      'end completed 6',
    ]);
  });

  it('continues in another process after a shutdown in the middle of a step', async () => {
    const transport = createTransport();
    const stuck = deferred();
    let isFirst = true;
    const order = createWorkflow({
      name: 'order',
      run: async ({ step }) => {
        await step.publish('begin');
        await step.run('pack', async ({ publish, signal }) => {
          await publish('half');
          if (!isFirst) return publish('whole');
          stuck.resolve();
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        });
        return step.publish('packed');
      },
    });
    const first = createHub({ transport, service: 'shop', logger: false });
    first.workflow(order);
    await first.start();
    const second = await started(transport, () => {}, 'web');
    const { runId } = await first.startWorkflow(order, null);
    const seen = collect(second, runId);
    await stuck.promise;
    await vi.waitFor(async () => expect((await second.transport.log.read(`output\nshop\n${runId}`)).next).toBe(2));
    isFirst = false;
    await first.stop({ drainMs: 0 });
    await started(transport, (hub) => hub.workflow(order));
    const [zero, one, ...rest] = await seen;
    expect([zero, one]).toEqual(['0 "begin"', '1 pack@1* "half"']);
    expect(rest.map((text) => text.replace(/@\d/, '@n'))).toEqual([
      '2 pack@n* "half"',
      '3 pack@n "whole"',
      '4 "packed"',
      'end completed 5',
    ]);
  });

  it('is that of one service for an event that several handle, each attempt marked', async () => {
    const transport = createTransport();
    const retry = { maxAttempts: 2, initialDelayMs: 1, jitter: false };
    const shop = await started(transport, (hub) =>
      hub.event({
        type: 'asked',
        retry,
        handler: async ({ publish, attempt }) => {
          await publish({ attempt });
          if (attempt === 1) throw new Error('again');
        },
      }),
    );
    const mail = await started(
      transport,
      (hub) => hub.event({ type: 'asked', handler: ({ publish }) => void publish('mail') }),
      'mail',
    );
    const { id } = await shop.emit('asked', {});
    expect(await collect(shop, id)).toEqual(['0 @1* {"attempt":1}', '1 @2* {"attempt":2}', 'end completed 2']);
    expect(await collect(shop, id, { service: 'mail' })).toEqual(['0 @1* "mail"', 'end completed 1']);
    expect(await collect(mail, id)).toEqual(['0 @1* "mail"', 'end completed 1']);
  });

  it('ends with a failure and a cancellation, and refuses what it does not know', async () => {
    const transport = createTransport();
    const failing = createWorkflow({
      name: 'failing',
      run: ({ step }) => step.run('fail', () => Promise.reject(new Error('no'))),
    });
    const waiting = createWorkflow({ name: 'waiting', run: ({ step }) => step.sleep('long', 1_000_000) });
    const hub = await started(transport, (each) => {
      each.workflow(failing);
      each.workflow(waiting);
    });
    const failed = await hub.startWorkflow(failing, null);
    expect(await collect(hub, failed.runId)).toEqual(['end failed 0']);
    const cancelled = await hub.startWorkflow(waiting, null);
    const seen = collect(hub, cancelled.runId);
    await vi.waitFor(async () => expect((await cancelled.status()).status).toBe('suspended'));
    await cancelled.cancel();
    expect(await seen).toEqual(['end cancelled 0']);
    await expect(collect(hub, 'unknown')).rejects.toThrow(UnknownRunError);
    const left = new AbortController();
    const rest = collect(hub, (await hub.startWorkflow(waiting, null)).runId, { signal: left.signal });
    left.abort(new Error('left'));
    await expect(rest).rejects.toThrow('left');
    expect(() => hub.stream('x', { from: -1 })).toThrow(InvalidOptionError);
    // @ts-expect-error an option that nobody reads
    expect(() => hub.stream('x', { to: 1 })).toThrow(InvalidOptionError);
  });
});
