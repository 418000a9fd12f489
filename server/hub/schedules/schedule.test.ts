import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { testHub } from '../hub.fixture.js';
import type { ScheduleConfig } from './schedule.js';

const minute = 60_000;

describe('hub.schedule', () => {
  const valid = { name: 'a', everyMs: minute, emit: 'tick', payload: null };

  it.each<[string, object]>([
    ['cron of schedule "a" must be a cron expression', { ...valid, everyMs: undefined, cron: '61 * * * *' }],
    ['cron of schedule "a" must be a cron expression', { ...valid, everyMs: undefined, cron: '* * * * * * *' }],
    ["must be a cron expression without '?'", { ...valid, everyMs: undefined, cron: '? 2 * * *' }],
    ['must be a cron expression with a due time', { ...valid, everyMs: undefined, cron: '0 0 30 2 *' }],
    ['must be a cron expression, got 5', { ...valid, everyMs: undefined, cron: 5 }],
    ['cron of schedule "a" must be set if everyMs is not', { ...valid, everyMs: undefined }],
    ['cron of schedule "a" must be set if everyMs is not', { ...valid, cron: '0 2 * * *' }],
    [
      'timeZone of schedule "a" must be an IANA time zone, such as Europe/Oslo, got "Europe/Olso"',
      { ...valid, everyMs: undefined, cron: '0 2 * * *', timeZone: 'Europe/Olso' },
    ],
    ['timeZone of schedule "a" must be set only with cron', { ...valid, timeZone: 'UTC' }],
    ['everyMs of schedule "a" must be milliseconds, from 100 to', { ...valid, everyMs: 99 }],
    ['everyMs of schedule "a" must be milliseconds', { ...valid, everyMs: Number.MAX_VALUE }],
    ['emit of schedule "a" must be set if start is not', { ...valid, emit: undefined }],
    ['emit of schedule "a" must be set if start is not', { ...valid, start: 'flow' }],
    ['emit of schedule "a" must be the type of an event', { ...valid, emit: {} }],
    ['start of schedule "a" must be the name of a workflow', { ...valid, emit: undefined, start: {} }],
    ['payload of schedule "a" must be a JSON value or a function', { ...valid, payload: undefined }],
    ["catchUp of schedule \"a\" must be 'last', 'all' or 'none'", { ...valid, catchUp: 'first' }],
    ['option of schedule "a" must be one of', { ...valid, every: 5 }],
    ['name of hub.schedule must be', { ...valid, name: '' }],
  ])('rejects: %s', (message, config) => {
    // Wrong on purpose: what the compiler would not let through.
    expect(() => testHub().hub.schedule(config as ScheduleConfig)).toThrow(message);
  });

  it('rejects a second schedule of the same name, and registration after start', async () => {
    const { hub } = testHub();
    hub.event({ type: 'tick' });
    hub.schedule({ name: 'a', everyMs: minute, emit: 'tick', payload: null });
    expect(() => hub.schedule({ name: 'a', everyMs: minute, emit: 'tick', payload: null })).toThrow(
      'schedule "a" is already registered',
    );
    await hub.start();
    expect(() => hub.schedule({ name: 'b', everyMs: minute, emit: 'tick', payload: null })).toThrow(
      'after hub.start()',
    );
  });

  it('rejects start if the target is unknown or the payload is invalid', async () => {
    const unknown = testHub().hub;
    unknown.event({ type: 'report.due' });
    unknown.schedule({ name: 'a', everyMs: minute, emit: 'report.deu', payload: null });
    await expect(unknown.start()).rejects.toThrow('did you mean "report.due"?');
    const invalid = testHub().hub;
    const reportDue = invalid.event({ type: 'report.due', schema: z.object({ to: z.email() }) });
    invalid.schedule({ name: 'a', everyMs: minute, emit: reportDue, payload: { to: 'nobody' } });
    await expect(invalid.start()).rejects.toMatchObject({ code: 'ERR_SCHEMA_VALIDATION' });
  });
});
