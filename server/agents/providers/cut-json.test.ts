import { expect, test } from 'vitest';
import { createAgent } from '../create-agent.js';
import { CutStreamError } from '../model/provider-error.js';
import { vendors } from './vendors.fixture.js';
import { serve } from './wire.fixture.js';

const cases = vendors.flatMap((vendor) => [
  { ...vendor, how: 'ends early', isLost: false },
  { ...vendor, how: 'is lost with its connection', isLost: true },
]);

test.each(cases)(
  '$name: an answer whose JSON $how is retried, and its tokens are estimated',
  async ({ isLost, ...vendor }) => {
    let calls = 0;
    const wire = await serve((response) => {
      calls += 1;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"id":"x","choices":[{"message":{"content":"hel', () => {
        if (isLost) response.destroy();
        else response.end();
      });
    });
    const provider = vendor.create({ apiKey: 'sk-very-secret-0123456789', baseUrl: `${wire.url}${vendor.basePath}` });
    const model = { model: vendor.model };
    const retry = { maxAttempts: 2, initialDelayMs: 0 };
    const { error, tokenUsage } = await createAgent({ name: 'a', systemPrompt: '', provider, model, retry }).run('x');
    expect(error).toBeInstanceOf(CutStreamError);
    expect(error).toMatchObject({ retryable: true, message: expect.stringContaining('ended') });
    expect(calls).toBe(2);
    expect(tokenUsage).toMatchObject({ estimated: true });
    expect(tokenUsage.totalTokens).toBeGreaterThan(0);
  },
);
