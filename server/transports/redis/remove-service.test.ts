import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { deferred } from '../../hub/hub.fixture.js';
import { envelope } from '../contract/envelope.js';
import { completed, failed } from '../contract/outcome.js';
import { type Subscription, workflowType } from '../delivery.js';
import { NotSubscribedError, PendingEventsError, ServiceRunningError } from '../errors.js';
import { scripts } from './connection/script.js';
import { redisStage } from './redis-stage.fixture.js';

const { admin, transport, prefix, connect, consume, next, until, counts } = await redisStage();
afterEach(() => {
  vi.restoreAllMocks();
});

const flow: Subscription = {
  type: workflowType('flow'),
  retainsRuns: true,
  triggers: ['a'],
};

async function subscribeOnce(service: string, subscriptions: readonly (string | Subscription)[]): Promise<void> {
  const { transport: manager } = await consume(subscriptions, { service });
  await manager.close({ drainMs: 0 });
}

/** Ends the heartbeats of processes that start later. */
function stopHeartbeats(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Does what happens after the processes are killed: without heartbeats their registrations expire. */
async function expireProcesses(): Promise<void> {
  const processes = await admin.zrange(`{${prefix()}}:registrations`, '0', '-1');
  await admin.del(...processes.map((id) => `{${prefix()}}:process:${id}`));
}

/** Does what a call of `retire` does before an interruption after its first step. */
async function unsubscribe(service: string, type: string): Promise<void> {
  await admin.hdel(`{${prefix()}}:routes:${type}`, `${service}/${type}`);
}

describe('retiring a service', () => {
  it('leaves a type to a process that starts meanwhile', async () => {
    await subscribeOnce('shop', ['a', 'b']);
    const [registered, forgotten] = [deferred(), deferred()];
    const [rebalance, forget] = [
      scripts.rebalance.run.bind(scripts.rebalance),
      scripts.forget.run.bind(scripts.forget),
    ];
    vi.spyOn(scripts.rebalance, 'run').mockImplementationOnce(async (...args) => {
      registered.resolve();
      await forgotten.promise;
      return rebalance(...args);
    });
    let starting: ReturnType<typeof consume> | undefined;
    vi.spyOn(scripts.forget, 'run').mockImplementationOnce(async (...args) => {
      starting = consume(['a', 'b']);
      await registered.promise;
      const reply = await forget(...args);
      forgotten.resolve();
      return reply;
    });
    await transport().retire('shop', { only: ['a'] });
    const shop = await starting;
    const sent = envelope('a');
    expect(await shop?.transport.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
  });

  it('ends its subscriptions, and keeps its counts and other services', async () => {
    const shop = await consume(['a']);
    await subscribeOnce('mail', ['a', { type: 'b', concurrency: 1 }, flow]);
    const handled = await consume(['a'], { service: 'mail' });
    await shop.transport.publish([envelope('b')]);
    expect(await transport().retire('mail', { only: ['b'], discard: true })).toEqual({ events: 1, deadLetters: 0 });
    await handled.transport.close({ drainMs: 0 });
    expect(await transport().retire('mail')).toEqual({ events: 0, deadLetters: 0 });
    await shop.transport.publish([envelope('a'), envelope('b')]);
    expect((await next(shop)).envelope.type).toBe('a');
    const [a, b, run] = await shop.transport.counts.get(['a', 'b', flow.type]);
    expect(a?.services).toMatchObject([{ service: 'shop', counts: { received: 1 } }]);
    const countsOf = (name: string) => b?.services.find(({ service }) => service === name)?.counts;
    expect(countsOf('mail')).toMatchObject({ received: 1, failed: 1 });
    expect(countsOf('shop')).toMatchObject({ received: 1, completed: 1 });
    expect(run?.total.received).toBe(0);
    const queues = await admin.keys(`{${prefix()}}:queue:*`);
    expect(queues.filter((key) => key.includes('mail'))).toEqual([]);
  });

  it('rejects, and discards nothing, if the data is in the layout of another build', async () => {
    await subscribeOnce('mail', ['a']);
    const manager = connect('shop');
    await manager.publish([envelope('a')]);
    await manager.close({ drainMs: 0 });
    const name = (kind: string): string => `{${prefix()}}:${kind}`;
    // Another build has its counts elsewhere.
    for (const kind of ['changes', 'counts']) await admin.del(name(kind));
    const keys = (await admin.keys(name('*'))).filter((key) => key !== name('layout')).sort();
    for (const change of [() => admin.del(name('layout')), () => admin.set(name('layout'), '1')]) {
      await change();
      await expect(transport().retire('mail')).rejects.toMatchObject({ code: 'ERR_UNEXPECTED_DATA' });
      await expect(transport().retire('mail', { discard: true })).rejects.toMatchObject({
        code: 'ERR_UNEXPECTED_DATA',
      });
      expect((await admin.keys(name('*'))).filter((key) => key !== name('layout')).sort()).toEqual(keys);
    }
  });

  it('rejects while a process of it is live, or if events or dead letters would be discarded', async () => {
    const mail = await consume(['a', 'b'], { service: 'mail' });
    const manager = connect('shop');
    await expect(transport().retire('mail', { discard: true })).rejects.toThrow(ServiceRunningError);
    await manager.publish([envelope('b')]);
    await (await next(mail)).commit(failed('no'));
    await mail.transport.close({ drainMs: 0 });
    await expect(transport().retire('mail')).rejects.toMatchObject({ pending: 0, deadLetters: 1 });
    await manager.publish([envelope('a'), envelope('a', { delayMs: 60_000 })]);
    await expect(transport().retire('mail')).rejects.toThrow(PendingEventsError);
    await expect(transport().retire('mail')).rejects.toMatchObject({ pending: 2, deadLetters: 1 });
    const again = await consume(['a'], { service: 'mail' });
    expect((await next(again)).envelope.type).toBe('a');
    await manager.publish([envelope('b')]);
    expect(await counts(manager, 'b')).toMatchObject({ received: 2, pending: 1 });
    await manager.close({ drainMs: 0 });
  });

  it('discards all pending events with discard: they count as failed', async () => {
    stopHeartbeats();
    const mail = await consume(['a', 'parked', { type: 'limited', rate: { max: 1, perMs: 60_000 } }, flow], {
      service: 'mail',
      concurrency: 3,
    });
    const shop = await consume([]);
    const sent = [envelope('a'), ...Array.from({ length: 1_500 }, () => envelope('a'))];
    await shop.transport.publish([...sent, envelope('limited'), envelope('limited', { priority: 5 })]);
    await shop.transport.publish(Array.from({ length: 700 }, () => envelope('parked', { delayMs: 60_000 })));
    const running = await next(mail);
    await (await next(mail)).commit(failed('no'));
    await until(() => mail.waiting.length >= 2);
    await expireProcesses();
    const pending = async (): Promise<number> => {
      const all = await Promise.all(['a', 'parked', 'limited', flow.type].map((type) => counts(shop.transport, type)));
      return all.reduce((sum, each) => sum + each.pending, 0);
    };
    const before = await pending();
    expect(await transport().retire('mail', { discard: true })).toEqual({ events: before, deadLetters: 1 });
    expect(await pending()).toBe(0);
    expect(await counts(shop.transport, 'a')).toMatchObject({ received: 1_501, active: 0 });
    expect(await shop.transport.counts.failures('parked')).toMatchObject(
      [...Array(20)].map(() => ({ name: 'RetiredError' })),
    );
    expect(await running.commit(completed())).toBe('already');
    for (const left of [
      'queue*',
      'dead-letter*',
      'gate*',
      'delayed*',
      'dispatch*',
      'due*',
      'turn*',
      'handlers*',
      'routes*',
      'subscribed*',
    ]) {
      expect(await admin.keys(`{${prefix()}}:${left}`)).toEqual([]);
    }
  });

  it('leaves no event to a process of it that stalled and takes others in the meantime', async () => {
    stopHeartbeats();
    const mail = await consume(['a', 'b'], { service: 'mail', concurrency: 3 });
    const shop = await consume([]);
    await shop.transport.publish(Array.from({ length: 20 }, () => envelope('a')));
    await until(() => mail.waiting.length === 3);
    await expireProcesses();
    const run = scripts.clearGate.run.bind(scripts.clearGate);
    vi.spyOn(scripts.clearGate, 'run').mockImplementationOnce(async (...args) => {
      for (let count = 0; count < 3; count += 1) expect(await mail.shift().commit(completed())).toBe('already');
      // Both have turns: a fetch that takes it takes others too.
      await shop.transport.publish([envelope('b')]);
      await until(() => mail.waiting.some(({ envelope: { type } }) => type === 'b'));
      return run(...args);
    });
    expect(await transport().retire('mail', { only: ['a'], discard: true })).toEqual({ events: 20, deadLetters: 0 });
    expect(mail.waiting).toHaveLength(1);
    expect(await counts(shop.transport, 'a')).toMatchObject({ received: 20, failed: 20, pending: 0, active: 0 });
  });

  it('ends waiting runs, and notifies those who await them', async () => {
    await subscribeOnce('mail', [flow]);
    const manager = connect('mail');
    const sent = envelope(flow.type);
    await manager.publish([sent]);
    const ended = manager.runs.ended(flow.type, sent.id, new AbortController().signal);
    expect(await transport().retire('mail', { discard: true })).toEqual({ events: 1, deadLetters: 0 });
    expect(await ended).toMatchObject({ status: 'failed', error: { code: 'ERR_RETIRED' } });
    await manager.close({ drainMs: 0 });
  });

  it('can retire some names only: types that a running service no longer handles', async () => {
    await subscribeOnce('mail', ['a', 'b', flow]);
    const mail = await consume(['b'], { service: 'mail' });
    await mail.transport.publish([envelope('a'), envelope('a', { delayMs: 60_000 }), envelope('b')]);
    await expect(transport().retire('mail', { only: ['a', 'b'] })).rejects.toThrow(ServiceRunningError);
    const retired = await transport().retire('mail', { only: ['a', 'flow'], discard: true });
    // Two events, and the runs that they triggered.
    expect(retired).toEqual({ events: 4, deadLetters: 0 });
    await mail.transport.publish([envelope('a'), envelope('b')]);
    expect([(await next(mail)).envelope.type, (await next(mail)).envelope.type]).toEqual(['b', 'b']);
    expect(await counts(mail.transport, 'a')).toMatchObject({ received: 3, completed: 1, failed: 2, pending: 0 });
    await expect(transport().retire('mail', { only: ['a'] })).rejects.toThrow(NotSubscribedError);
  });

  it('ends when a process of it starts: it subscribes again', async () => {
    await subscribeOnce('mail', ['a']);
    await transport().retire('mail');
    const mail = await consume(['a'], { service: 'mail' });
    await mail.transport.publish([envelope('a')]);
    expect((await next(mail)).envelope.type).toBe('a');
  });

  it('completes an interrupted call', async () => {
    const mail = await consume(['a', 'b'], { service: 'mail' });
    await mail.transport.publish([envelope('a', { delayMs: 60_000 }), envelope('b', { delayMs: 150 })]);
    await unsubscribe('mail', 'a');
    await mail.transport.close({ drainMs: 0 });
    expect(await transport().retire('mail', { only: ['a'], discard: true })).toEqual({ events: 1, deadLetters: 0 });
    await unsubscribe('mail', 'b');
    await consume(['c'], { service: 'mail' });
    expect(await transport().retire('mail', { only: ['b'], discard: true })).toEqual({ events: 1, deadLetters: 0 });
    expect(await counts(connect('mail'), 'b')).toMatchObject({ received: 1, failed: 1, pending: 0 });
  });

  it('ends when a process whose registration had expired registers again', async () => {
    stopHeartbeats();
    const mail = await consume(['a'], { service: 'mail' });
    await expireProcesses();
    await transport().retire('mail');
    vi.advanceTimersByTime(5_000);
    await until(async () => (await mail.transport.fleet.registered()).length === 1);
    await until(async () => (await admin.exists(`{${prefix()}}:routes:a`)) === 1);
    await mail.transport.publish([envelope('a')]);
    expect((await next(mail)).envelope.type).toBe('a');
  });

  it('rejects unknown names', async () => {
    await subscribeOnce('mail', ['a']);
    await expect(transport().retire('mial')).rejects.toThrow('services with subscriptions: "mail"');
    await expect(transport().retire('mail', { only: ['b'] })).rejects.toThrow('"mail" does not subscribe to "b"');
    await expect(transport().retire('')).rejects.toThrow(InvalidOptionError);
    await expect(transport().retire('mail', { only: [] })).rejects.toThrow('only of retire');
    await expect(transport().retire('mail', { discard: 1 } as never)).rejects.toThrow('discard of retire');
    await expect(transport().retire('mail', { force: true } as never)).rejects.toThrow(InvalidOptionError);
  });
});

it('discards released events that wait in their queue', async () => {
  const mail = await consume(['a', 'b'], { service: 'mail' });
  await mail.transport.publish(Array.from({ length: 4 }, (_, n) => envelope(n % 2 === 0 ? 'a' : 'b')));
  await until(() => mail.waiting.length === 4);
  expect(await mail.transport.close({ drainMs: 0 })).toEqual({ released: 4, overdue: 0 });
  expect(await transport().retire('mail', { only: ['a'], discard: true })).toEqual({ events: 2, deadLetters: 0 });
  const again = await consume(['a', 'b'], { service: 'mail' });
  await until(() => again.waiting.length === 2);
  expect(again.waiting.map((delivery) => delivery.envelope.type)).toEqual(['b', 'b']);
});

it('keeps a dead letter of a retired type, and rejects its replay with the reason', async () => {
  const mail = await consume(['a'], { service: 'mail' });
  const sent = envelope('a');
  await mail.transport.publish([sent]);
  await (await next(mail)).commit(failed('no'));
  await unsubscribe('mail', 'a');
  await expect(mail.transport.deadLetters.replay(sent.id)).rejects.toThrow('service "mail" does not subscribe to "a"');
  expect(await mail.transport.deadLetters.list('a', 9)).toHaveLength(1);
  const again = await consume(['a'], { service: 'mail' });
  expect(await again.transport.deadLetters.replay(sent.id)).toBe(true);
});
