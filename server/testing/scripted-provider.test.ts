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

test('answers follow the order of the script, and calls are recorded', async () => {
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

test('calls receive ids and JSON arguments', async () => {
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

test('streams delta by delta, fails after the deltas, and can be interrupted', async () => {
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

test('delays follow the clock and end with the signal', async () => {
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
  test('an unexpected call fails, also at assertDone after a run that resolved', async () => {
    const provider = scriptedProvider([]);
    const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: options });
    expect((await agent.run('x')).error).toBeInstanceOf(UnexpectedCallError);
    expect(() => provider.assertDone()).toThrow('unexpected model call 1: the script has 0 entries');
  });

  test.each<[string, unknown]>([
    ['script of scriptedProvider must be an array of entries, got "hi"', 'hi'],
    ['entry 2 of the script must be a text, an error, an answer or a function, got 5', ['a', 5]],
    ['option of entry 1 of the script must be one of content, reasoning, toolCalls, ', [{ contents: 'hi' }]],
    ['entry 1 of the script must be awaited before', [Promise.resolve('hi')]],
    ['content of entry 1 of the script must be a text', [{ content: 5 }]],
    [
      'toolCalls of entry 1 of the script must be an array of { name, arguments?, id? }',
      [{ toolCalls: { name: 'a' } }],
    ],
    ['toolCalls of entry 1 of the script must be', [{ toolCalls: [{ name: 'a', input: {} }] }]],
    ['usage of entry 1 of the script must be', [{ usage: { total: 5 } }]],
    ['finishReason of entry 1 of the script must be', [{ finishReason: 'end' }]],
    ['delayMs of entry 1 of the script must be', [{ delayMs: -1 }]],
  ])('an invalid script is refused: %s', (message, script) => {
    // Wrong on purpose: the compiler rejects it.
    expect(() => scriptedProvider(script as ScriptEntry[])).toThrow(message);
  });

  test('wrong options are refused', () => {
    const make = (wrong: object) => () => scriptedProvider([], wrong);
    expect(make({ jsonmode: true })).toThrow('option of scriptedProvider must be one of clock, jsonMode');
    expect(make({ clock: {} })).toThrow('clock of scriptedProvider must be a Clock');
  });

  test('an invalid result of a script function is refused', async () => {
    const provider = scriptedProvider([() => ({ contents: 'hi' }) as object]);
    await expect(provider.chat([], options)).rejects.toThrow('option of entry 1 of the script must be one of');
  });

  test('an unused entry fails', () => {
    expect(() => scriptedProvider(['unused']).assertDone()).toThrow(UnusedScriptError);
  });
});
