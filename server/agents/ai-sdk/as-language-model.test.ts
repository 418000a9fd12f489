import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createLimit } from '../../hub/limits/limit.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { ProviderError } from '../model/provider-error.js';
import type { TokenUsage } from '../model/token-usage.js';
import { fallbackProvider } from '../providers/fallback-provider.js';
import { asLanguageModel } from './as-language-model.js';

const signature = { vendor: [{ type: 'reasoning', text: 'hm' }] };
const script: ScriptEntry[] = [
  { content: 'Let me see.', reasoning: 'hm', toolCalls: [{ name: 'look', arguments: { at: 'sea' } }] },
  'A boat.',
];

function look(seen: unknown[]) {
  return tool({
    description: 'Looks',
    inputSchema: z.object({ at: z.string() }),
    execute: async ({ at }) => {
      seen.push(at);
      return { found: 'boat' };
    },
  });
}

/** Returns a provider whose first answer has what its vendor expects back. */
function signing(entries: readonly ScriptEntry[]) {
  const provider = scriptedProvider(entries);
  const { chat, chatStream } = provider;
  return Object.assign(provider, {
    chat: async (...args: Parameters<typeof chat>) => ({ ...(await chat(...args)), providerMetadata: signature }),
    async *chatStream(...args: Parameters<typeof chatStream>) {
      yield* chatStream(...args);
      yield { providerMetadata: signature };
    },
  });
}

describe('a provider as a language model of the AI SDK', () => {
  it.each(['generateText', 'streamText'])(
    'runs the tools of %s, and receives back what its vendor expects',
    async (of) => {
      const seen: unknown[] = [];
      const provider = signing(script);
      const settings = {
        model: asLanguageModel(provider, { model: 'm', topP: 0.5 }),
        tools: { look: look(seen) },
        system: 'You look.',
        prompt: 'What is there?',
        temperature: 0,
        topK: 3,
        stopWhen: stepCountIs(3),
      };
      const result = of === 'generateText' ? await generateText(settings) : streamText(settings);
      const [text, usage, steps] = await Promise.all([result.text, result.totalUsage, result.steps]);
      expect([text, usage.totalTokens, steps.length, seen]).toEqual(['A boat.', 30, 2, ['sea']]);
      expect(steps[0]?.text).toBe('Let me see.');
      if (of === 'streamText') expect(steps[0]?.reasoningText).toBe('hm');
      expect(steps[0]?.warnings).toEqual([{ type: 'unsupported', feature: 'topK' }]);
      const [first, second] = provider.calls;
      expect(first?.options).toMatchObject({ model: 'm', topP: 0.5, temperature: 0, tools: [{ name: 'look' }] });
      const toolCalls = [{ id: 'call_1', name: 'look', arguments: '{"at":"sea"}' }];
      expect(second?.messages).toEqual([
        { role: 'system', content: 'You look.' },
        { role: 'user', content: 'What is there?' },
        { role: 'assistant', content: 'Let me see.', toolCalls, providerMetadata: signature },
        { role: 'tool', toolCallId: 'call_1', content: '{"found":"boat"}' },
      ]);
      provider.assertDone();
    },
  );

  it.each([true, false])('returns typed output, with a JSON mode: %s', async (jsonMode) => {
    const provider = scriptedProvider(['{"city":"Bergen"}'], { jsonMode });
    const { output } = await generateText({
      model: asLanguageModel(provider, 'm'),
      prompt: 'Where?',
      output: Output.object({ schema: z.object({ city: z.string() }) }),
    });
    expect(output.city).toBe('Bergen');
    const [call] = provider.calls;
    expect(call?.options.responseFormat === undefined).toBe(!jsonMode);
    expect(JSON.stringify(call?.messages).includes('Answer with JSON only')).toBe(!jsonMode);
  });

  it('reads files and images, and results with media', async () => {
    const provider = scriptedProvider(['ok']);
    await generateText({
      model: asLanguageModel(provider, 'm'),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Read' },
            { type: 'file', data: new Uint8Array([1, 2]), mediaType: 'application/pdf', filename: 'a.pdf' },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'draw', input: {} }] },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c',
              toolName: 'draw',
              output: { type: 'content', value: [{ type: 'image-data', data: 'AQI=', mediaType: 'image/png' }] },
            },
          ],
        },
      ],
    });
    const [user, , result] = provider.calls[0]?.messages ?? [];
    expect(user?.parts?.[1]).toEqual({ type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', data: 'AQI=' });
    expect(result).toMatchObject({ content: '[image: image/png, 2 bytes]', parts: [{ type: 'image', data: 'AQI=' }] });
  });

  it('continues with the next provider, within a limit', async () => {
    const down = new ProviderError('down', { provider: 'a', retryable: true });
    const [first, second] = [scriptedProvider([down, down]), scriptedProvider(['hello'])];
    const provider = fallbackProvider([{ provider: first }, { provider: second, model: { model: 'other' } }]);
    const usages: TokenUsage[] = [];
    const model = asLanguageModel(provider, 'm', {
      retry: { maxAttempts: 2, initialDelayMs: 1 },
      limit: createLimit({ name: 'as-language-model', max: 3, perMs: 3_600_000 }),
      onTokenUsage: (usage) => usages.push(usage),
    });
    expect((await generateText({ model, prompt: 'a', maxOutputTokens: 7 })).text).toBe('hello');
    for (const used of [first, second]) used.assertDone();
    expect(second.calls[0]?.options).toMatchObject({ model: 'other', maxTokens: 7 });
    expect(usages).toHaveLength(1);
    // The limit has no permit left.
    const waiting = generateText({ model, prompt: 'b', abortSignal: AbortSignal.timeout(20) });
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it.each(['generateText', 'streamText'])('reports the typed error of a provider to %s', async (of) => {
    const wrong = new ProviderError('wrong', { provider: 'p', retryable: false });
    const model = asLanguageModel(scriptedProvider([wrong]), 'm');
    if (of === 'generateText') return expect(generateText({ model, prompt: 'a' })).rejects.toBe(wrong);
    const errors: unknown[] = [];
    const stream = streamText({ model, prompt: 'a', onError: ({ error }) => void errors.push(error) });
    await stream.consumeStream();
    return expect(errors).toEqual([wrong]);
  });

  it('refuses wrong options', () => {
    const provider = scriptedProvider([]);
    expect(() => asLanguageModel(provider, '')).toThrow('model');
    const misspelt = { retries: 3 };
    expect(() => asLanguageModel(provider, 'm', misspelt as object)).toThrow('option of asLanguageModel');
  });
});
