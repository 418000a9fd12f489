import { expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { type BoundedLog, CheckedLog } from '../../transports/bounded-log.js';
import { BackpressureError } from '../../transports/errors.js';
import { MemoryLog } from '../../transports/memory/memory-log.js';
import { silentLogger } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import { AttemptEndedError, PayloadNotJsonError, PayloadTooLargeError } from '../errors.js';
import { LiveOutput, parseOutput, readProgress } from './live-output.js';

const subject = { id: 'r', requestId: 'r', type: 'workflow:order' };

function stage(): {
  clock: ReturnType<typeof createFakeClock>;
  log: BoundedLog;
  appends: string[][];
  warnings: string[];
  state: { fails: boolean };
  output(): LiveOutput;
} {
  const clock = createFakeClock();
  const stored = new CheckedLog(new MemoryLog(clock));
  const appends: string[][] = [];
  const warnings: string[] = [];
  const state = { fails: false };
  const log: BoundedLog = {
    read: (name, options) => stored.read(name, options),
    delete: (name) => stored.delete(name),
    watch: (name, onAppend) => stored.watch(name, onAppend),
    async append(name, texts, bounds) {
      if (state.fails) throw new Error('down');
      appends.push(texts.map((text) => JSON.stringify(parseOutput(text).data)));
      return stored.append(name, texts, bounds);
    },
  };
  const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
  const host = { transport: { service: 's', clock, log }, logger, maxPayloadBytes: 1_000_000 };
  return { clock, log, appends, warnings, state, output: () => new LiveOutput(subject, true, host) };
}

it('stores the first entry at once, then those of 50 ms in one call', async () => {
  const { clock, appends, output } = stage();
  const writer = output().writer('write', 1);
  await writer.publish(1);
  await clock.advance(0);
  expect(appends).toEqual([['1']]);
  for (let i = 2; i <= 4; i += 1) await writer.publish(i);
  await clock.advance(40);
  expect(appends).toHaveLength(1);
  await clock.advance(10);
  expect(appends).toEqual([['1'], ['2', '3', '4']]);
});

it('joins entries only with a function that says how, within one attempt', async () => {
  const { appends, output } = stage();
  const live = output();
  const [writer, other] = [live.writer('a', 1), live.writer('b', 1)];
  const join = (before: unknown, next: unknown) =>
    typeof before === 'string' && typeof next === 'string' ? before + next : undefined;
  for (const text of ['x', 'y', 'z']) void writer.publish(text, join);
  void writer.publish({ tool: 1 }, join);
  void writer.publish('p');
  void writer.publish('q', join);
  void other.publish('r', join);
  await live.flush();
  expect(appends).toEqual([['"xyz"', '{"tool":1}', '"p"', '"q"', '"r"']]);
});

it('stores what the function of a run publishes once, whatever was stored when its process ended', async () => {
  for (const stored of [0, 1, 3]) {
    const { appends, output } = stage();
    const first = output();
    for (let i = 1; i <= stored; i += 1) void first.publish(i);
    await first.flush();
    await first.writer('step', 1).publish('between');
    await first.flush();
    const second = output();
    for (let i = 1; i <= 4; i += 1) void second.publish(i);
    await second.flush();
    const numbers = appends.flat().filter((data) => data !== '"between"');
    expect(numbers).toEqual(['1', '2', '3', '4']);
  }
});

it('makes publishers wait for the store, and refuses those that do not', async () => {
  const { appends, output } = stage();
  const live = output();
  const writer = live.writer(undefined, 1);
  const waits: Promise<void>[] = [];
  for (let i = 0; i < 10_000; i += 1) waits.push(writer.publish(i));
  await expect(writer.publish('more')).rejects.toThrow(BackpressureError);
  await live.flush();
  await Promise.all(waits);
  expect(appends.map(({ length }) => length)).toEqual(Array.from({ length: 10 }, () => 1_000));
});

it('refuses what is no JSON or too large, and attempts that have ended', async () => {
  const { output, warnings } = stage();
  const writer = output().writer(undefined, 1);
  await expect(writer.publish(1n)).rejects.toThrow(PayloadNotJsonError);
  await expect(writer.publish('x'.repeat(524_288))).rejects.toThrow(PayloadTooLargeError);
  writer.close();
  await expect(writer.publish(1)).rejects.toThrow(AttemptEndedError);
  expect(warnings).toEqual(['live output refused']);
});

it('loses what a failing store did not take, and says so', async () => {
  const { appends, output, state, warnings } = stage();
  const live = output();
  state.fails = true;
  void live.publish('lost');
  await live.flush();
  state.fails = false;
  void live.publish('kept');
  await live.flush();
  expect(appends).toEqual([['"kept"']]);
  expect(warnings).toEqual(['live output could not be stored']);
});

it('has the last progress, also beyond many other entries and of another delivery', async () => {
  const { log, output } = stage();
  expect(await readProgress(log, 's', 'r')).toBeUndefined();
  const live = output();
  void live.publish({ progress: 2 });
  void live.publish({ progress: 0.25, message: 'é'.repeat(300) });
  for (let i = 0; i < 50; i += 1) void live.publish(i);
  await live.flush();
  const next = output();
  await next.writer('s', 2).publish('text');
  await next.flush();
  expect(await readProgress(log, 's', 'r')).toEqual({ progress: 0.25, message: 'é'.repeat(200) });
});

it('yields how many entries a reader missed', async () => {
  const hub = createHub({ logger: false });
  hub.event({
    type: 'many',
    handler: async ({ publish }) => {
      for (let i = 0; i < 10_005; i += 1) await publish(i);
    },
  });
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  const { id } = await hub.emit('many', {});
  for await (const event of hub.stream(id)) if (event.type === 'end') break;
  const events = hub.stream(id)[Symbol.asyncIterator]();
  expect((await events.next()).value).toEqual({ type: 'missed', missed: 5, sequence: 5 });
  expect((await events.next()).value).toMatchObject({ sequence: 5, data: 5 });
  await events.return?.();
});
