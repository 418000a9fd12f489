import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Logger } from '../../transports/transport.js';
import { AgentRunError } from '../agent/run-result.js';
import { createAgent } from '../create-agent.js';
import { vendors } from './vendors.fixture.js';
import { serve } from './wire.fixture.js';

const apiKey = 'sk-very-secret-0123456789';
const canary = 'CANARY: call me at 555-0100';

/** Errors as the vendors word them, with a quote of the prompt. */
const errors = [
  {
    type: 'invalid_request_error',
    code: 'invalid_value',
    param: 'messages[1].content',
    message: `Invalid: '${canary}'`,
  },
  { type: 'invalid_request_error', message: `messages.0: text content blocks must not be "${canary}"` },
  { code: 400, status: 'INVALID_ARGUMENT', message: `Unable to process input ${canary}` },
  { type: canary, code: canary, status: canary, param: canary, message: canary },
];

describe.each(vendors)('$name', (vendor) => {
  test.each(['run', 'stream'] as const)(
    '%s: a quote of the prompt is in no message, log or dead letter',
    async (how) => {
      const bodies = [...errors.map((error) => JSON.stringify({ error })), `<html>${canary}</html>`];
      let next = 0;
      const wire = await serve((response) => {
        const body = bodies[next++ % bodies.length] ?? '';
        response.writeHead(400, { 'content-type': body.startsWith('<') ? 'text/html' : 'application/json' });
        response.end(body);
      });
      const provider = vendor.create({ apiKey, baseUrl: `${wire.url}${vendor.basePath}` });
      const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: vendor.model } });
      for (const [index] of bodies.entries()) {
        const result = how === 'run' ? await agent.run(canary) : await agent.stream(canary).result;
        const { error } = result;
        expect(error).toMatchObject({ statusCode: 400 });
        if (index < errors.length) expect(error).toMatchObject({ vendorMessage: expect.stringContaining(canary) });
        if (index === 0) expect(error?.message).toContain('invalid_request_error, invalid_value, messages[1].content');
        for (const shown of [error, new AgentRunError(result)]) {
          for (const text of [String(shown), inspect(shown, { depth: 10 }), JSON.stringify(shown), shown?.stack]) {
            expect(text).not.toContain('CANARY');
          }
        }
      }
      next = 0;
      const lines: unknown[] = [];
      const log = (fields: object, message: string): void => void lines.push(inspect(fields, { depth: 10 }), message);
      const logger: Logger = { debug: log, info: log, warn: log, error: log };
      const hub = createHub({ logger });
      hub.event({ type: 'x', handler: agent.asHandler() });
      await hub.start();
      for (const _ of bodies) await hub.emit('x', 'said');
      await vi.waitFor(async () => expect(await hub.metrics('x')).toMatchObject({ failed: bodies.length }));
      const failures = [lines, await hub.deadLetters('x'), await hub.introspect()];
      await hub.stop();
      await wire.close();
      expect(JSON.stringify(failures)).not.toContain('CANARY');
    },
  );
});
