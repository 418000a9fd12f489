import { describe, expect, it, vi } from 'vitest';
import { FatalError, HubError, InvalidOptionError, RetryAfterError } from './errors.js';
import { testHub } from './hub/hub.fixture.js';

vi.resetModules();
const copy = await import('./index.js');

describe('errors of another copy of the package', () => {
  it('are recognised without being instances', () => {
    const fatal = new copy.FatalError('gone');
    expect(fatal).not.toBeInstanceOf(HubError);
    expect(HubError.is(fatal)).toBe(true);
    expect(FatalError.is(fatal)).toBe(true);
    expect(RetryAfterError.is(fatal)).toBe(false);
    expect(RetryAfterError.is(new copy.RetryAfterError(5))).toBe(true);
    expect(copy.HubError.is(new InvalidOptionError('a', 'b', 'c'))).toBe(true);
  });

  it('do not include other values', () => {
    for (const value of [undefined, null, 'text', {}, new Error('x'), { name: 'HubError', code: 'ERR_FATAL' }]) {
      expect(HubError.is(value)).toBe(false);
      expect(FatalError.is(value)).toBe(false);
    }
    expect(FatalError.is(new HubError('ERR_X', 'x'))).toBe(false);
    expect(InvalidOptionError.is(new FatalError('x'))).toBe(false);
    expect(InvalidOptionError.is(new InvalidOptionError('a', 'b', 'c'))).toBe(true);
  });

  it('end an event after one attempt if the handler throws a FatalError', async () => {
    const { hub, clock } = testHub();
    const attempts: number[] = [];
    hub.event({
      type: 'a',
      retry: { maxAttempts: 5 },
      handler: ({ attempt }) => {
        attempts.push(attempt);
        throw new copy.FatalError('gone');
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(600_000);
    expect(attempts).toEqual([1]);
    expect(await hub.metrics('a')).toMatchObject({ failed: 1, retried: 0 });
  });

  it('set the delay of the next attempt if the handler throws a RetryAfterError', async () => {
    const { hub, clock } = testHub();
    const attempts: number[] = [];
    hub.event({
      type: 'a',
      retry: { jitter: false },
      handler: ({ attempt }) => {
        attempts.push(attempt);
        if (attempt === 1) throw new copy.RetryAfterError(90_000);
      },
    });
    await hub.start();
    await hub.emit('a', 1);
    await clock.advance(89_999);
    expect(attempts).toEqual([1]);
    await clock.advance(1);
    expect(attempts).toEqual([1, 2]);
  });
});
