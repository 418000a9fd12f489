import { expect, test } from 'vitest';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { agentOf } from '../scripted-agent.fixture.js';
import type { ModelProvider } from './model-provider.js';
import { CutStreamError, ProviderError } from './provider-error.js';
import type { TokenUsage } from './token-usage.js';

const usageWith = (count: number): TokenUsage => ({ promptTokens: count, completionTokens: count, totalTokens: count });
const failure = { provider: 'p', retryable: true };

test.each<[string, (usage: TokenUsage) => ScriptEntry, estimated: boolean]>([
  ['an answer', () => 'ok', true],
  ['an answer that was cut', (usage) => new CutStreamError('p', usage), true],
  ['a failure', (usage) => new ProviderError('down', { ...failure, usage }), false],
])('the usage of %s counts only if it is a number of tokens', async (_, entryOf, estimated) => {
  for (const count of [-1_000, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_VALUE, 1e300]) {
    const usage = usageWith(count);
    const scripted = scriptedProvider([entryOf(usage), { content: 'ok', usage: usageWith(4) }]);
    const provider: ModelProvider = {
      async chat(...call) {
        const answer = await scripted.chat(...call);
        return scripted.calls.length === 1 ? { ...answer, usage } : answer;
      },
    };
    const { agent } = agentOf([], { provider, retry: { maxAttempts: 2, initialDelayMs: 0 } });
    const { status, tokenUsage } = await agent.run('x');
    expect(status).toBe('completed');
    // The second call reports 4 tokens of each kind.
    expect({ count, ok: tokenUsage.totalTokens >= (scripted.calls.length - 1) * 8 }).toEqual({ count, ok: true });
    expect({ count, isFinite: tokenUsage.totalTokens < 1_000 }).toEqual({ count, isFinite: true });
    expect({ count, estimated: tokenUsage.estimated === true }).toEqual({ count, estimated });
  }
});
