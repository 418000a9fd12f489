import { readUIMessageStream, type UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { MediaResult } from '../model/part.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createTool } from '../tools/tool.js';
import { fromUIMessage } from './ui-message-input.js';
import { toUIMessageStream } from './ui-message-stream.js';

const png = 'iVBORw0KGgo=';
const file = { type: 'file' as const, mediaType: 'image/png', filename: 'a.png', url: `data:image/png;base64,${png}` };
const user = (...parts: UIMessage['parts']): UIMessage => ({ id: 'm', role: 'user', parts });

test('files of a message of the page reach the model, and those of a tool reach the page', async () => {
  const chart = createTool({
    name: 'chart',
    description: '',
    parameters: {},
    execute: async () =>
      new MediaResult([
        { type: 'image', mediaType: 'image/png', data: png },
        { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
      ]),
  });
  const { agent, provider } = agentOf([{ toolCalls: [{ name: 'chart' }] }, 'a cat'], { tools: [chart] });
  const question = user(
    { type: 'text', text: 'What is this?' },
    file,
    { ...file, mediaType: 'application/pdf', filename: 'b.pdf', url: 'https://example.com/b.pdf' },
    { ...file, mediaType: 'audio/wav', url: `data:audio/wav;base64,${png}` },
  );
  let answer: UIMessage | undefined;
  for await (answer of readUIMessageStream({ stream: toUIMessageStream(agent.stream(fromUIMessage(question))) }));
  expect(provider.calls[0]?.messages[1]?.parts).toEqual([
    { type: 'text', text: 'What is this?' },
    { type: 'image', mediaType: 'image/png', filename: 'a.png', data: png },
    { type: 'file', mediaType: 'application/pdf', filename: 'b.pdf', url: 'https://example.com/b.pdf' },
    { type: 'audio', mediaType: 'audio/wav', filename: 'a.png', data: png },
  ]);
  expect(answer?.parts.filter(({ type }) => type === 'file')).toEqual([
    { type: 'file', mediaType: 'image/png', url: file.url },
    { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
  ]);
});

test('a message of texts is a text, and parts of other types are left out', () => {
  const question = user({ type: 'step-start' }, { type: 'text', text: 'Hi ' }, { type: 'text', text: 'there' });
  expect(fromUIMessage(question)).toBe('Hi there');
});

test.each<[string, unknown]>([
  ['must be an object with a list of parts', undefined],
  ['must be an object with a list of parts', { parts: 'x' }],
  ['must be given a part that is a text or a file', { parts: [null, { type: 'step-start' }] }],
  ['text of part 1 of message of fromUIMessage must be a string', { parts: [{ type: 'text', text: {} }] }],
  ['url of part 1 of message of fromUIMessage must be an absolute URL', { parts: [{ ...file, url: '/a' }] }],
  ['mediaType of part 1 of message of fromUIMessage must be a media type', { parts: [{ ...file, mediaType: 5 }] }],
])('a message in another form is refused: %s', (expected, message) => {
  expect(() => fromUIMessage(message)).toThrow(expected);
});
