import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DuplicateNameError, InvalidOptionError } from '../../errors.js';
import { createHub } from '../create-hub.js';
import { HubStartedError, SchemaValidationError } from '../errors.js';
import { testHub } from '../hub.fixture.js';

describe('registration', () => {
  it.each([
    [{ type: '' }, 'type of hub.event must be a string of 1 to 512 characters'],
    [{ type: 'x'.repeat(513) }, 'type of hub.event must be'],
    [{ type: 'a\nb' }, 'type of hub.event must be'],
    [{ type: '\ud800' }, 'type of hub.event must be'],
    [{ type: 7 }, 'type of hub.event must be'],
    [{ type: 'a', handler: 'x' }, 'handler of event "a" must be a function, got a string'],
    [{ type: 'a', handler() {}, timeoutMs: 0 }, 'timeoutMs of event "a"'],
    [{ type: 'a', handler() {}, timeoutMs: Number.POSITIVE_INFINITY }, 'timeoutMs of event "a"'],
    [{ type: 'a', handler() {}, timeoutMs: Number.MAX_VALUE }, 'timeoutMs of event "a"'],
    [{ type: 'a', handler() {}, concurrency: 0 }, 'concurrency of event "a"'],
    [{ type: 'a', handler() {}, rate: { max: 0, perMs: 1 } }, 'rate.max of event "a"'],
    [{ type: 'a', handler() {}, rate: { max: 1, perMs: 0 } }, 'rate.perMs of event "a"'],
    [{ type: 'a', handler() {}, rate: { max: 1 } }, 'rate.perMs of event "a" must be set'],
    [{ type: 'a', handler() {}, rate: { max: 1, perMs: Number.MAX_VALUE } }, 'rate.perMs of event "a"'],
    [{ type: 'a', handler() {}, rate: 5 }, 'rate of event "a" must be an object'],
    [{ type: 'a', handler() {}, rate: { max: 1, perMs: 1, burst: 5 } }, 'option of rate of event "a"'],
    [{ type: 'a', handler() {}, retry: { maxAttempts: 0 } }, 'retry.maxAttempts of event "a"'],
    [{ type: 'a', handler() {}, retry: { maxDelayMs: Number.MAX_VALUE } }, 'retry.maxDelayMs of event "a"'],
    [{ type: 'a', handler() {}, retry: { factor: 0.5 } }, 'retry.factor of event "a"'],
    [{ type: 'a', handler() {}, retry: 3 }, 'retry of event "a"'],
    [{ type: 'a', handler() {}, onSuccess: '' }, 'onSuccess of event "a"'],
    [{ type: 'a', onSuccess: 'b' }, 'onSuccess of event "a" must be omitted if there is no handler'],
    [{ type: 'a', timeoutMs: 5 }, 'timeoutMs of event "a" must be omitted if there is no handler'],
    [{ type: 'a', description: 5 }, 'description of event "a"'],
    [{ type: 'a', schema: 'x' }, 'schema of event "a"'],
    [{ type: 'a', dedupeWindowMs: 0 }, 'dedupeWindowMs of event "a"'],
    [{ type: 'a', dedupeWindowMs: Number.MAX_VALUE }, 'dedupeWindowMs of event "a"'],
    [{ type: 'a', retries: 3 }, 'option of event "a" must be one of type, '],
    [{ type: 'a', handler() {}, retry: { attempts: 3 } }, 'option of retry of event "a" must be one of maxAttempts, '],
    [undefined, 'type of hub.event must be'],
  ])('of the event %j throws at once', (config, message) => {
    const { hub } = testHub();
    expect(() => hub.event(config as never)).toThrow(InvalidOptionError);
    expect(() => hub.event(config as never)).toThrow(message);
  });

  it('accepts each type once, and none after start', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    expect(() => hub.event({ type: 'a' })).toThrow(DuplicateNameError);
    await hub.start();
    expect(() => hub.event({ type: 'b' })).toThrow(HubStartedError);
    await expect(hub.start()).rejects.toThrow(HubStartedError);
  });

  it.each([
    [{ service: '' }, 'service'],
    [{ transport: {} }, 'transport'],
    [{ logger: { info() {} } }, 'logger'],
    [{ concurrency: 0 }, 'concurrency'],
    [{ maxPayloadBytes: 'x' }, 'maxPayloadBytes'],
    [{ allowCycles: 1 }, 'allowCycles'],
    [{ maxPayload: 5 }, 'option of createHub'],
  ])('of a hub with %j throws at once', (options, named) => {
    expect(() => createHub(options as never)).toThrow(InvalidOptionError);
    expect(() => createHub(options as never)).toThrow(named);
  });
});

it('checks payloads of a reference at compile time', async () => {
  const { hub } = testHub();
  const typed = hub.event<{ total: number }>({ type: 'typed' });
  const inferred = hub.event({ type: 'inferred', schema: z.object({ total: z.number() }) });
  await hub.start();
  await hub.emit(typed, { total: 1 });
  // @ts-expect-error total is a number
  await hub.emit(typed, { total: 'one' });
  // @ts-expect-error total is missing
  await expect(hub.emit(inferred, {})).rejects.toThrow(SchemaValidationError);
});
