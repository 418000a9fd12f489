import { describe, expect, test } from 'vitest';
import { createAgent } from '../agents/create-agent.js';
import { createFakeClock } from './fake-clock.js';
import { type ScriptEntry, scriptedProvider, UnexpectedCallError, UnusedScriptError } from './scripted-provider.js';

const options = { model: 'm' };

async function stream(provider: ReturnType<typeof scriptedProvider>) {
  const chunks = [];
  for await (const chunk of provider.chatStream([], options)) chunks.push(chunk);
  return chunks;
}

test('answers come in the order of the script, and calls are kept', async () => {
  const provider = scriptedProvider(['one', { content: ['t', 'wo'] }, ({ messages }) => `${messages.length}`]);
  const messages = [{ role: 'user' as const, content: 'x' }];
  expect(await provider.chat(messages, options)).toEqual({
    content: 'one',
    usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15 },
    finishReason: 'stop',
  });
  expect(await provider.chat(messages, options)).toMatchObject({ content: 'two' });
  expect(await provider.chat(messages, options)).toMatchObject({ content: '1' });
  expect(provider.calls).toEqual([1, 2, 3].map(() => ({ messages, options })));
  provider.assertDone();
});

test('calls get ids and JSON arguments', async () => {
  const call = { name: 't', arguments: { a: 1 } };
  const provider = scriptedProvider([
    { toolCalls: [call, { name: 'u', arguments: '{bad', id: 'mine' }] },
    { toolCalls: [call] },
  ]);
  expect(await provider.chat([], options)).toMatchObject({
    finishReason: 'tool_calls',
    toolCalls: [
      { id: 'call_1', name: 't', arguments: '{"a":1}' },
      { id: 'mine', name: 'u', arguments: '{bad' },
    ],
  });
  expect(await provider.chat([], options)).toMatchObject({ toolCalls: [{ id: 'call_3' }] });
});

test('streams piece by piece, fails after the pieces, and can be cut', async () => {
  const provider = scriptedProvider([{ content: ['a', 'b'] }, { content: 'a', finishReason: null }]);
  expect(await stream(provider)).toEqual([
    { content: 'a' },
    { content: 'b' },
    { usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15 } },
    { finishReason: 'stop' },
  ]);
  expect((await stream(provider)).some(({ finishReason }) => finishReason)).toBe(false);
  await expect(stream(scriptedProvider([{ content: 'a', error: new Error('broken') }]))).rejects.toThrow('broken');
});

test('delays count on the clock and end with the signal', async () => {
  const clock = createFakeClock();
  const provider = scriptedProvider([{ content: 'late', delayMs: 100 }, { delayMs: 100 }], { clock });
  const answer = provider.chat([], options);
  await clock.advance(100);
  expect(await answer).toMatchObject({ content: 'late' });
  const controller = new AbortController();
  const aborted = provider.chat([], { ...options, signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  expect(clock.pendingTimers).toBe(0);
});

describe('the script is strict', () => {
  test('a call too many fails, and is not forgotten where the run swallows it', async () => {
    const provider = scriptedProvider([]);
    const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: options });
    expect((await agent.run('x')).error).toBeInstanceOf(UnexpectedCallError);
    expect(() => provider.assertDone()).toThrow('model call 1 came, but the script has 0 entries');
  });

  test.each<[string, unknown]>([
    ['script of scriptedProvider must be an array of entries, got "hi"', 'hi'],
    ['an entry of a script must be a text, an error, an answer or a function, got 5', [5]],
    ['option of a script entry must be one of content, toolCalls, ', [{ contents: 'hi' }]],
  ])('it cannot be misread: %s', (message, script) => {
    // Wrong on purpose: what the compiler would not let through.
    expect(() => scriptedProvider(script as ScriptEntry[])).toThrow(message);
  });

  test('nor can what a function of it returns', async () => {
    const provider = scriptedProvider([() => ({ contents: 'hi' }) as object]);
    await expect(provider.chat([], options)).rejects.toThrow('option of a script entry must be one of');
  });

  test('an entry too many fails', () => {
    expect(() => scriptedProvider(['unused']).assertDone()).toThrow(UnusedScriptError);
  });
});
