import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFuzzing, runs } from '../scripts/property-tests.js';
import { createDashboardHandler } from './dashboard/index.js';
import { serve, type TestServer } from './dashboard/test-server.fixture.js';
import { HubError } from './errors.js';
import { createHub } from './hub/create-hub.js';
import type { Hub } from './hub/hub.js';
import { parseDescription } from './hub/introspection/hub-description.js';
import { compileJsonSchema } from './json-schema.js';
import { cpuMsSince } from './testing/cpu-time.fixture.js';

const fuzzingMs = 60_000;

/** Returns the settings of a property: in `npm test` a number of runs, because a time would draw more on a fast machine. */
function settings(count: number) {
  return { numRuns: runs(count), ...(isFuzzing && { interruptAfterTimeLimit: fuzzingMs }) };
}

/** Bound of one call, far above what it takes on a busy machine. */
const maxMs = 3_000;

let hub: Hub;
let server: TestServer;
beforeAll(async () => {
  hub = createHub();
  hub.event({ type: 'open' });
  hub.event({
    type: 'checked',
    schema: {
      type: 'array',
      uniqueItems: true,
      items: {
        anyOf: [{ type: 'string', pattern: '^[a-z]+$' }, { type: 'array', items: { $ref: '#' } }, { type: 'object' }],
      },
    },
  });
  await hub.start();
});
afterAll(() => hub.stop({ drainMs: 0 }));

/** Awaits a call that may throw only errors of Hubline, and returns if it succeeded. */
async function bounded(act: () => unknown): Promise<boolean> {
  const before = process.cpuUsage();
  try {
    await act();
    return true;
  } catch (error) {
    expect(HubError.is(error), String(error)).toBe(true);
    return false;
  } finally {
    expect(cpuMsSince(before)).toBeLessThan(maxMs);
  }
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 600 }),
  fc.constantFrom('', '\ud800', 'a\udc00', '\u0000', '__proto__', 'constructor', '../..', '%', '%ff', 'x'.repeat(600)),
);

const anyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 12, withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 0, -0, 1e308, Number.NaN, 10n, undefined, new Date(Number.NaN)),
    text,
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(text, tie('value'), { maxKeys: 6 }),
  ),
})).value;

// Properties that run for as long as the default timeout of a test would always exceed it.
describe('fuzzing', { timeout: fuzzingMs + 120_000 }, () => {
  it('ids and options of emit', async () => {
    const options = fc.record(
      { requestId: text, dedupeId: text, delayMs: fc.double(), priority: fc.double() },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.constant('open')), options, async (type, emitOptions) => {
        await bounded(() => hub.emit(type, null, emitOptions));
      }),
      settings(5_000),
    );
    expect(await hub.emit('open', null)).toMatchObject({ deduplicated: false });
  });

  it('payloads', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('open', 'checked'), anyJson, async (type, payload) => {
        await bounded(() => hub.emit(type, payload));
      }),
      settings(5_000),
    );
  });

  it('schemas, and values against them', async () => {
    const keyword = fc.constantFrom(
      'anyOf',
      'oneOf',
      'allOf',
      'items',
      'properties',
      'not',
      'contains',
      'additionalProperties',
      'uniqueItems',
      'enum',
      'required',
      'minLength',
      '$ref',
      'type',
      'if',
      'then',
      'dependentSchemas',
      'propertyNames',
      '$defs',
    );
    const leaf = fc.constantFrom<unknown>('string', 'object', '#', '#/$defs/a', 1, true, false, ['a'], {});
    const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 5 },
        leaf,
        fc.array(tie('schema'), { maxLength: 4 }),
        fc.dictionary(fc.oneof(keyword, fc.constantFrom('a', 'b')), tie('schema'), { maxKeys: 4 }),
      ),
    }));
    const objects = schema.filter((value) => typeof value === 'object' && value !== null && !Array.isArray(value));
    await fc.assert(
      fc.asyncProperty(objects, anyJson, async (made, value) => {
        // The filter lets through objects only.
        await bounded(() => compileJsonSchema(made as Record<string, unknown>, 'x', 'value')(value));
      }),
      settings(1_000),
    );
  });

  it('descriptions of other hubs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.json()), async (description) => {
        expect(await bounded(() => parseDescription(description))).toBe(true);
      }),
      settings(10_000),
    );
  });

  it('request targets and hosts of the dashboard', async () => {
    server = await serve(createDashboardHandler(hub, { allowedHosts: ['localhost'] }));
    const target = fc
      .oneof(fc.webPath(), fc.webQueryParameters(), text.map(encodeWellFormed))
      .map((rest) => `/api/events/${rest}`.replace(/[^\x21-\x7e]/g, ''));
    const host = fc.oneof(fc.constant('localhost'), fc.webAuthority(), fc.string().map(encodeURIComponent));
    await fc.assert(
      fc.asyncProperty(target, host, async (path, name) => {
        const before = process.cpuUsage();
        const { status } = await server.get(path, { host: name });
        expect([200, 400, 403, 404]).toContain(status);
        expect(cpuMsSince(before)).toBeLessThan(maxMs);
      }),
      settings(500),
    );
  });
});

function encodeWellFormed(value: string): string {
  return encodeURIComponent(value.replace(/\p{Cs}/gu, ''));
}
