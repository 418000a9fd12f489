import { expect, test } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { createAgent } from '../create-agent.js';
import type { ModelOptions, ModelProvider, ModelResponse } from '../model/model-provider.js';
import { fallbackProvider } from '../providers/fallback-provider.js';

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
const answer = (content: string): ModelResponse => ({ content, usage, finishReason: 'stop' });

/** A provider that ignores its signal: the first call answers while the second one is waiting for its answer. */
function slowProvider(takesSignal: boolean, streams: boolean): ModelProvider {
  let calls = 0;
  let release: () => void = () => {};
  const second = new Promise<void>((resolve) => {
    release = resolve;
  });
  const chat = async (_: unknown, options: ModelOptions): Promise<ModelResponse> => {
    calls += 1;
    if (takesSignal) void options.signal;
    if (calls > 1) {
      release();
      // The late answer is read first.
      await new Promise((resolve) => setImmediate(resolve));
      return answer('second');
    }
    await second;
    return answer('late');
  };
  return {
    chat,
    ...(streams && {
      async *chatStream(messages: unknown, options: ModelOptions) {
        yield await chat(messages, options);
      },
    }),
  };
}

const retry = { maxAttempts: 2, initialDelayMs: 0 };

test.each([
  ['the same provider', (own: ModelProvider) => ({ provider: own, retry })],
  [
    'the next provider',
    (own: ModelProvider) => ({ provider: fallbackProvider([{ provider: own }, { provider: own }]) }),
  ],
])('a text that comes after the timeout is not part of the answer of %s', async (_, configOf) => {
  for (const takesSignal of [true, false]) {
    for (const streams of [true, false]) {
      const clock = createFakeClock();
      const model = { model: 'm', timeoutMs: 100 };
      const config = configOf(slowProvider(takesSignal, streams));
      const stream = createAgent({ name: 'a', systemPrompt: '', model, clock, ...config }).stream('x');
      await clock.advance(101);
      const texts: string[] = [];
      for await (const event of stream) if (event.type === 'text-delta') texts.push(event.text);
      expect({ takesSignal, streams, texts }).toEqual({ takesSignal, streams, texts: ['second'] });
      expect(await stream.result).toMatchObject({ status: 'completed', output: 'second' });
    }
  }
});
