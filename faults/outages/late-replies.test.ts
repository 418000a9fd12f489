import { createHub, createWorkflow } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { expect, it, onTestFinished } from 'vitest';
import { patientMs, setScene, until } from '../workers/scene.js';
import { startProxy } from './proxy.js';

it('a lease that expires before its reply arrives starts no handler', async () => {
  const { hub: web, server, workers } = await setScene(['sent']);
  const proxy = await startProxy(Number(new URL(server.url).port));
  onTestFinished(() => proxy.close());
  const { prefix } = workers('work');
  const log: string[] = [];
  const open = async (name: string, url: string, lockDurationMs: number): Promise<() => Promise<void>> => {
    const transport = redisTransport({
      url,
      prefix,
      emitTimeoutMs: patientMs,
      lockDurationMs,
      stalledIntervalMs: 200,
    });
    const hub = createHub({ service: 'shop', transport });
    hub.event<string>({ type: 'sent', handler: ({ payload }) => void log.push(`${name} handles ${payload}`) });
    hub.workflow(
      createWorkflow({
        name: 'sending',
        trigger: 'sent',
        run: ({ input, step }) => step.run('send', () => void log.push(`${name} sends ${String(input)}`)),
      }),
    );
    await hub.start();
    let stopped: Promise<unknown> | undefined;
    const stop = async (): Promise<void> => {
      stopped ??= hub.stop();
      await stopped;
    };
    onTestFinished(stop);
    return stop;
  };
  const ended = (count: number): Promise<void> =>
    until(`${count} events and runs have ended`, async () => {
      const [events, runs] = await web.transport.counts.get(['sent', 'workflow\u001fsending']);
      return events?.total.completed === count && runs?.total.completed === count;
    });

  await open('slow', `redis://127.0.0.1:${proxy.port}`, 1_000);
  const reply = proxy.withhold('parcel');
  await web.emit('sent', 'parcel');
  await reply.isSent;
  const stopQuick = await open('quick', server.url, patientMs);
  await ended(1);
  await stopQuick();
  reply.release();
  await web.emit('sent', 'letter');
  await ended(2);
  expect(log.slice(0, 2).toSorted()).toEqual(['quick handles parcel', 'quick sends parcel']);
  // Its leases are so short that a machine that stands still may end one.
  expect(new Set(log.slice(2))).toEqual(new Set(['slow handles letter', 'slow sends letter']));
});
