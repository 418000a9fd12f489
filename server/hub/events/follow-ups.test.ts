import { describe, expect, it } from 'vitest';
import { FatalError } from '../../errors.js';
import { deriveId } from '../../transports/derived-ids.js';
import { EventCycleError, HubNotStartedError } from '../errors.js';
import { testHub } from '../hub.fixture.js';
import type { HandlerCtx } from './context.js';

describe('follow-ups', () => {
  it('carry the result, the error and the payload', async () => {
    const { hub, clock } = testHub();
    const seen: [string, unknown][] = [];
    const record = ({ eventType, payload }: HandlerCtx): void => {
      seen.push([eventType, payload]);
    };
    const names = { onSuccess: 'ok', onFailure: 'bad', onComplete: 'done' };
    hub.event<{ fail: boolean }>({
      type: 'a',
      ...names,
      handler: ({ payload }) => {
        if (payload.fail) throw new FatalError('declined');
        return { paid: true };
      },
    });
    for (const type of Object.values(names)) hub.event({ type, handler: record });
    await hub.start();
    await hub.emit('a', { fail: false });
    await clock.settle();
    const { id } = await hub.emit('a', { fail: true }, { requestId: 'r-1' });
    await clock.settle();
    const event = { kind: 'event', type: 'a', id, service: 'hub', requestId: 'r-1', attempt: 1 };
    const error = { name: 'FatalError', message: 'declined', code: 'ERR_FATAL' };
    expect(seen).toEqual([
      ['ok', { paid: true }],
      ['done', { status: 'completed', result: { paid: true }, payload: { fail: false } }],
      ['bad', { error, event, payload: { fail: true } }],
      ['done', { status: 'failed', error, event, payload: { fail: true } }],
    ]);
  });

  it('have ids that derive from the causing event, and its requestId', async () => {
    const { hub, clock } = testHub();
    const seen: HandlerCtx[] = [];
    hub.event({ type: 'a', onSuccess: 'b', handler: () => {} });
    hub.event({ type: 'b', handler: (ctx) => seen.push(ctx) });
    await hub.start();
    const { id } = await hub.emit('a', 1, { requestId: 'r-1' });
    await clock.settle();
    expect(seen).toMatchObject([
      { eventId: deriveId('hub', id, 'success'), requestId: 'r-1', depth: 1, payload: null },
    ]);
  });

  it('fail the event without a retry if its result is not JSON', async () => {
    const { hub, clock } = testHub();
    let ran = 0;
    hub.event({
      type: 'a',
      retry: {},
      onSuccess: 'b',
      handler: () => {
        ran += 1;
        return { total: 10n };
      },
    });
    hub.event({ type: 'b' });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(60_000);
    expect(ran).toBe(1);
    expect(await hub.failures('a')).toMatchObject([{ message: expect.stringContaining('result.total is a bigint') }]);
  });

  it('leave the result unchecked if the event has none', async () => {
    const { hub, clock } = testHub();
    hub.event({ type: 'a', handler: () => 10n });
    await hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    expect(await hub.metrics('a')).toMatchObject({ completed: 1 });
  });

  it('that form a cycle make start reject with the cycle', async () => {
    const { hub } = testHub();
    const handler = (): void => {};
    hub.event({ type: 'x', handler, onSuccess: 'a' });
    hub.event({ type: 'a', handler, onSuccess: 'b' });
    hub.event({ type: 'b', handler, onComplete: 'c' });
    hub.event({ type: 'c', handler, onFailure: 'a' });
    const error: unknown = await hub.start().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EventCycleError);
    expect(String(error)).toContain('"a" -> "b" -> "c" -> "a"');
    await expect(hub.emit('a', 1)).rejects.toThrow(HubNotStartedError);
  });

  it('may form a cycle with allowCycles, which ends at depth 64 as a dead letter', async () => {
    const { hub, clock } = testHub({ allowCycles: true });
    let ran = 0;
    hub.event({
      type: 'a',
      onSuccess: 'a',
      onFailure: 'a',
      handler: () => {
        ran += 1;
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.settle();
    expect(ran).toBe(65);
    expect(await hub.metrics('a')).toMatchObject({ received: 66, completed: 65, failed: 1, pending: 0 });
    expect(await hub.failures('a')).toMatchObject([{ name: 'DepthLimitError' }]);
  });

  it('must be registered before start', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a', handler: () => {}, onSuccess: 'order.payed' });
    hub.event({ type: 'order.paid' });
    await expect(hub.start()).rejects.toThrow(
      'event type "order.payed", the onSuccess of "a", is not registered: did you mean "order.paid"?',
    );
    hub.event({ type: 'order.payed' });
    await hub.start();
  });
});
