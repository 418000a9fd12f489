import { describe, expect, test } from 'vitest';
import { agentOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import { estimateMessageTokens } from './message.js';
import { type InputPart, MediaResult, type Part } from './part.js';

const png = 'iVBORw0KGgo=';
const bytes = Buffer.from(png, 'base64');
const image: Part = { type: 'image', mediaType: 'image/png', data: png };

describe('an input with parts', () => {
  test.each<[string, InputPart, Part]>([
    ['base64', image, image],
    ['bytes', { type: 'image', mediaType: 'image/png', data: new Uint8Array(bytes) }, image],
    ['a blob', { type: 'image', blob: new Blob([bytes], { type: 'image/png' }) }, image],
    [
      'a file with a name and parameters',
      { type: 'file', filename: 'a.txt', blob: new File(['hi'], 'b.txt', { type: 'text/plain;charset=utf-8' }) },
      { type: 'file', filename: 'a.txt', mediaType: 'text/plain', data: 'aGk=' },
    ],
    ['a data: URL', { type: 'image', mediaType: 'image/png', url: `data:image/png;base64,${png}` }, image],
    [
      'a data: URL without base64',
      { type: 'file', mediaType: 'text/plain', url: 'data:,gr%C3%BC%C3%9F' },
      { type: 'file', mediaType: 'text/plain', data: Buffer.from('grüß').toString('base64') },
    ],
    [
      'an address',
      { type: 'audio', mediaType: 'audio/wav', url: 'https://example.com/a' },
      { type: 'audio', mediaType: 'audio/wav', url: 'https://example.com/a' },
    ],
  ])('takes %s', async (_, part, stored) => {
    const { agent, provider } = agentOf(['a cat']);
    const { messages } = await agent.run([{ type: 'text', text: 'What is' }, part, { type: 'text', text: 'this?' }]);
    const content = 'What is\n\nthis?';
    const parts = [{ type: 'text', text: 'What is' }, stored, { type: 'text', text: 'this?' }];
    expect(messages[1]).toEqual({ role: 'user', content, parts });
    expect(provider.calls[0]?.messages[1]).toEqual({ role: 'user', content, parts });
    expect(JSON.parse(JSON.stringify(messages[1]))).toEqual(messages[1]);
  });

  test('is a text if all parts are texts', async () => {
    const { messages } = await agentOf(['hi']).agent.run(['a', 'b\ud800'].map((text) => ({ type: 'text', text })));
    expect(messages[1]).toEqual({ role: 'user', content: 'a\n\nb\ufffd' });
  });

  test.each<[string, unknown]>([
    ['input of agent "calculator" must be a string or a list of parts', 5],
    ['input of agent "calculator" must be a string or a list of at least one part', []],
    ['part 1 of input of agent "calculator" must be an object', ['hi']],
    ['text of part 1 of input of agent "calculator" must be a string', [{ type: 'text' }]],
    ['type of part 2 of input of agent "calculator" must be "text", "image", "file" or "audio"', [image, {}]],
    ['mediaType of part 1 of input of agent "calculator" must be a media type', [{ ...image, mediaType: 'image/*' }]],
    ['must be a media type such as image/png', [{ ...image, mediaType: 'audio/wav' }]],
    ['must be a media type such as application/pdf', [{ ...image, type: 'file', mediaType: undefined }]],
    ['must be given exactly one of data, url and blob', [{ type: 'image', mediaType: 'image/png' }]],
    ['must be given exactly one of data, url and blob', [{ ...image, url: 'https://example.com/a' }]],
    ['must be bytes, or base64 without line breaks; pass a data: URL as url', [{ ...image, data: `data:,${png}` }]],
    ['must be bytes, or base64 without line breaks', [{ ...image, data: '=AAA' }]],
    ['must be bytes, or base64 without line breaks', [{ ...image, data: '' }]],
    ['url of part 1 of input of agent "calculator" must be an absolute URL', [{ ...image, data: undefined, url: 'a' }]],
    ['must be a data: URL with escapes of UTF-8', [{ ...image, data: undefined, url: 'data:,%FF' }]],
    ['blob of part 1 of input of agent "calculator" must be a Blob', [{ ...image, data: undefined, blob: {} }]],
    ['field of part 1 of input of agent "calculator" must be one of type, text, mediaType', [{ ...image, src: 'a' }]],
    ['parts of at most 33554432 characters of base64 together', [{ ...image, data: 'A'.repeat(33_554_436) }]],
  ])('is refused: %s', async (message, input) => {
    const { agent, provider } = agentOf([]);
    // Wrong on purpose: the compiler rejects it.
    await expect(agent.run(input as string)).rejects.toThrow(message);
    expect(() => agent.stream(input as string)).toThrow(message);
    expect(provider.calls).toEqual([]);
  });
});

describe('tokens of media are estimated', () => {
  const tokensOf = (part: Part): number =>
    estimateMessageTokens([{ role: 'user', content: '', parts: [part] }]) -
    estimateMessageTokens([{ role: 'user', content: '' }]);
  const data = 'A'.repeat(400_000);

  test.each<[Part, number]>([
    [{ type: 'text', text: 'counted as content' }, 0],
    [image, 1_600],
    [{ ...image, data }, 1_600],
    [{ type: 'file', mediaType: 'text/csv', data }, 75_000],
    [{ type: 'file', mediaType: 'application/pdf', data: png }, 1_600],
    [{ type: 'file', mediaType: 'application/pdf', data }, 7_500],
    [{ type: 'audio', mediaType: 'audio/wav', data }, 600],
    [{ type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' }, 1_600],
  ])('%#', (part, tokens) => {
    expect(tokensOf(part)).toBe(tokens);
  });

  test('a budget and contextTokens count them', async () => {
    const { agent } = agentOf([], { tokenBudget: 1_600 });
    expect(await agent.run([image])).toMatchObject({ status: 'token_budget_exceeded', tokenUsage: { totalTokens: 0 } });
    const see = createTool({
      name: 'see',
      description: '',
      parameters: {},
      execute: async () => new MediaResult([image]),
    });
    const short = agentOf([{ toolCalls: [{ name: 'see' }] }, 'done'], { tools: [see], contextTokens: 1_000 });
    await short.agent.run('go');
    const result = short.provider.calls[1]?.messages.at(-1);
    expect(result).toMatchObject({ role: 'tool', content: '[image: image/png, 8 bytes]' });
    expect(result).not.toHaveProperty('parts');
  });
});

test('a tool result with invalid or too large media is an error for the model', async () => {
  const results = [[{ ...image, data: '*' }], [{ ...image, data: 'A'.repeat(12_582_916) }], 'x'];
  const see = createTool({
    name: 'see',
    description: '',
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    // Wrong on purpose: the compiler rejects the last one.
    execute: async ({ n }: { n: number }) => new MediaResult(results[n] as InputPart[]),
  });
  const toolCalls = results.map((_, n) => ({ name: 'see', arguments: { n } }));
  const result = await agentOf([{ toolCalls }, 'done'], { tools: [see] }).agent.run('go');
  expect(result.toolCalls.map(({ error }) => error)).toEqual([
    expect.stringContaining('data of part 1 of result of tool "see" must be bytes, or base64'),
    expect.stringContaining('must be parts of at most 12582912 characters of base64'),
    expect.stringContaining('must be a MediaResult with a list of parts'),
  ]);
});

test('texts of a result are cut, and its media remain', async () => {
  const parts: InputPart[] = [{ type: 'text', text: 'x'.repeat(500) }, image];
  const see = createTool({ name: 'see', description: '', parameters: {}, execute: async () => new MediaResult(parts) });
  const { agent, provider } = agentOf([{ toolCalls: [{ name: 'see' }] }, 'done'], {
    tools: [see],
    maxToolResultChars: 100,
  });
  await agent.run('go');
  const message = provider.calls[1]?.messages.at(-1);
  expect(message?.content).toMatch(/^x{100}\n\n\[The result is cut/);
  expect(message?.parts).toEqual([{ type: 'text', text: message?.content }, image]);
});
