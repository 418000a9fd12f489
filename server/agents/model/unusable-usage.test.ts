import { expect, test } from 'vitest';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { CutStreamError, ProviderError } from './provider-error.js';
import type { TokenUsage } from './token-usage.js';

const usageWith = (count: number): TokenUsage => ({ promptTokens: count, completionTokens: count, totalTokens: count });
const failure = { provider: 'p', retryable: true };

test.each<[string, (usage: TokenUsage) => ScriptEntry, estimated: boolean]>([
  ['an answer', (usage) => ({ content: 'ok', usage }), true],
  ['an answer that was cut', (usage) => new CutStreamError('p', usage), true],
  ['a failure', (usage) => new ProviderError('down', { ...failure, usage }), false],
])('the usage of %s counts only if it is a number of tokens', async (_, entryOf, estimated) => {
  for (const count of [-1_000, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_VALUE, 1e300]) {
    const provider = scriptedProvider([entryOf(usageWith(count)), { content: 'ok', usage: usageWith(4) }]);
    const { agent } = agentOf([], { provider, retry: { maxAttempts: 2, initialDelayMs: 0 } });
    const { status, tokenUsage } = await agent.run('x');
    expect(status).toBe('completed');
    // The second call reports 4 tokens of each kind.
    expect({ count, ok: tokenUsage.totalTokens >= (provider.calls.length - 1) * 8 }).toEqual({ count, ok: true });
    expect({ count, isFinite: tokenUsage.totalTokens < 1_000 }).toEqual({ count, isFinite: true });
    expect({ count, estimated: tokenUsage.estimated === true }).toEqual({ count, estimated });
  }
});
