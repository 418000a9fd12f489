import { LLMock } from '@copilotkit/aimock';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAgent } from '../create-agent.js';
import type { Message } from '../model/message.js';
import type { ModelProvider } from '../model/model-provider.js';
import { type InputPart, type MediaPart, MediaResult } from '../model/part.js';
import { UnsupportedPartError } from '../model/provider-error.js';
import { createTool } from '../tools/tool.js';
import { fallbackProvider } from './fallback-provider.js';
import { type Vendor, vendors } from './vendors.fixture.js';
import { record, type WireServer } from './wire.fixture.js';

const png = 'iVBORw0KGgo=';
const pdf = 'JVBERi0xLjc=';
const wav = 'UklGRg==';
const url = 'https://example.com/cat.png';
const image = { type: 'image', data: png, mediaType: 'image/png' } as const;
const linked = { type: 'image', url, mediaType: 'image/png' } as const;
const file = { type: 'file', data: pdf, mediaType: 'application/pdf', filename: 'terms.pdf' } as const;
const linkedFile = { type: 'file', url: 'https://example.com/a.pdf', mediaType: 'application/pdf' } as const;
const csv = { type: 'file', data: btoa('a,b'), mediaType: 'text/csv', filename: 'a.csv' } as const;
const sound = { type: 'audio', data: wav, mediaType: 'audio/wav' } as const;
const text = { type: 'text', text: 'look' } as const;

/** Forms that the vendors document for requests. */
interface MediaForms {
  /** Content of a user message with `parts`. */
  readonly parts: readonly InputPart[];
  readonly content: unknown;
  /** Messages after the input in a run whose tool returns a text, an image and sound. */
  readonly result: (id: string) => unknown;
  readonly refused: readonly { readonly part: MediaPart; readonly model?: string }[];
}

const pngUrl = `data:image/png;base64,${png}`;
const listed = '[image: image/png, 8 bytes]\n[audio: audio/wav, 4 bytes]';
/** Messages after the input in a run on OpenAI's Chat Completions. @param media what the model can take */
const chatResult = (id: string, media: readonly unknown[]): unknown[] => [
  {
    role: 'assistant',
    content: expect.toBeOneOf([null, '']),
    tool_calls: [{ id, type: 'function', function: { name: 'scan', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: id, content: `A chart\n${listed}` },
  { role: 'user', content: [{ type: 'text', text: 'Media of the result of scan:' }, ...media] },
];
const sentImage = { type: 'image_url', image_url: { url: pngUrl } };
const sentSound = { type: 'input_audio', input_audio: { data: wav, format: 'wav' } };

const forms: Readonly<Record<string, MediaForms>> = {
  OpenAIProvider: {
    parts: [text, image, linked, file, csv],
    content: [
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: pngUrl } },
      { type: 'image_url', image_url: { url } },
      { type: 'file', file: { filename: 'terms.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
      { type: 'text', text: '[a.csv]\na,b' },
    ],
    result: (id) => chatResult(id, [sentImage]),
    refused: [
      { part: sound },
      { part: { ...image, mediaType: 'image/tiff' } },
      { part: image, model: 'gpt-3.5-turbo' },
      { part: image, model: 'gpt-4o-audio-preview' },
      { part: linkedFile },
      { part: { type: 'file', data: png, mediaType: 'application/zip' } },
    ],
  },
  'OpenAIProvider, compatible': {
    parts: [text, image, linked, sound, file, csv],
    content: [
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: pngUrl } },
      { type: 'image_url', image_url: { url } },
      { type: 'input_audio', input_audio: { data: wav, format: 'wav' } },
      { type: 'file', file: { filename: 'terms.pdf', file_data: `data:application/pdf;base64,${pdf}` } },
      { type: 'text', text: '[a.csv]\na,b' },
    ],
    result: (id) => chatResult(id, [sentImage, sentSound]),
    refused: [
      { part: { ...sound, mediaType: 'audio/midi' } },
      { part: { type: 'file', data: png, mediaType: 'application/zip' } },
      { part: { type: 'audio', url: 'https://example.com/a.wav', mediaType: 'audio/wav' } },
    ],
  },
  'OpenAIProvider, responses': {
    parts: [text, image, linked, file, linkedFile, csv],
    content: [
      { type: 'input_text', text: 'look' },
      { type: 'input_image', image_url: pngUrl },
      { type: 'input_image', image_url: url },
      { type: 'input_file', filename: 'terms.pdf', file_data: `data:application/pdf;base64,${pdf}` },
      { type: 'input_file', file_url: linkedFile.url },
      { type: 'input_text', text: '[a.csv]\na,b' },
    ],
    result: (id) => [
      { type: 'function_call', call_id: id, name: 'scan', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: id,
        output: [
          { type: 'input_text', text: `A chart\n${listed}` },
          { type: 'input_image', image_url: pngUrl },
        ],
      },
    ],
    refused: [
      { part: sound },
      { part: { ...image, mediaType: 'image/tiff' } },
      { part: image, model: 'gpt-3.5-turbo' },
      { part: sound, model: 'gpt-4o-audio-preview' },
    ],
  },
  AnthropicProvider: {
    parts: [text, image, linked, file, csv],
    content: [
      { type: 'text', text: 'look' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
      { type: 'image', source: { type: 'url', url } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf }, title: 'terms.pdf' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' }, title: 'a.csv' },
    ],
    result: (id) => [
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'scan', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: id,
            content: [
              { type: 'text', text: `A chart\n${listed}` },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            ],
          },
        ],
      },
    ],
    refused: [{ part: sound }, { part: { ...image, mediaType: 'image/heic' } }],
  },
  GeminiProvider: {
    parts: [text, image, linked, sound, file, csv],
    content: [
      { text: 'look' },
      { inlineData: { mimeType: 'image/png', data: png } },
      { fileData: { mimeType: 'image/png', fileUri: url } },
      { inlineData: { mimeType: 'audio/wav', data: wav } },
      { inlineData: { mimeType: 'application/pdf', data: pdf } },
      { inlineData: { mimeType: 'text/csv', data: btoa('a,b') } },
    ],
    result: (id) => [
      { role: 'model', parts: [{ functionCall: { id, name: 'scan', args: {} } }] },
      {
        role: 'user',
        parts: [
          { functionResponse: { id, name: 'scan', response: { name: 'scan', content: `A chart\n${listed}` } } },
          { inlineData: { mimeType: 'image/png', data: png } },
          { text: expect.stringContaining('image') },
        ],
      },
      {
        role: 'user',
        parts: [{ text: 'Media of the result of scan:' }, { inlineData: { mimeType: 'audio/wav', data: wav } }],
      },
    ],
    refused: [
      { part: { ...linked, url: 'ftp://example.com/cat.png' } },
      { part: { type: 'file', data: png, mediaType: 'application/zip' } },
    ],
  },
};

const scan = createTool({
  name: 'scan',
  description: 'Scans',
  parameters: { type: 'object', properties: {} },
  execute: async () => new MediaResult([{ type: 'text', text: 'A chart' }, image, sound]),
});

describe.each(vendors)('$name', (vendor: Vendor) => {
  const expected = forms[vendor.name] as MediaForms;
  let mock: LLMock;
  let wire: WireServer;
  let provider: Required<ModelProvider>;

  beforeEach(async () => {
    mock = await LLMock.create({ port: 0, strict: true });
    wire = await record(mock.url);
    provider = vendor.create({ apiKey: 'sk-test', baseUrl: `${wire.url}${vendor.basePath}` });
  });

  afterEach(async () => {
    await wire.close();
    await mock.stop();
  });

  const agent = (model = vendor.model, by: ModelProvider = provider) =>
    createAgent({ name: 'a', systemPrompt: 'Be brief.', provider: by, model: { model }, tools: [scan] });

  test('sends media in the documented form', async () => {
    mock.onMessage('look', { content: 'a cat' });
    const result = await agent().run(expected.parts);
    expect(result).toMatchObject({ status: 'completed', output: 'a cat' });
    expect(result.messages[1]).toMatchObject({ role: 'user', content: 'look', parts: expected.parts });
    const body = wire.requests[0]?.body;
    const [message] = vendor.messagesOf(body) as { content?: unknown; parts?: unknown }[];
    expect(message?.content ?? message?.parts).toEqual(expected.content);
  });

  test('sends the media of a tool result, and names what the model cannot take', async () => {
    mock.on({ userMessage: 'scan', turnIndex: 0 }, { toolCalls: [{ name: 'scan', arguments: {} }] });
    mock.on({ turnIndex: 1 }, { content: 'a chart' });
    const result = await agent().run('scan');
    expect(result).toMatchObject({ status: 'completed', output: 'a chart' });
    const [call] = result.toolCalls;
    expect(call).toMatchObject({
      result: `A chart\n${listed}`,
      parts: [{ type: 'text', text: 'A chart' }, image, sound],
    });
    const sent = vendor.messagesOf(wire.requests[1]?.body) as unknown[];
    expect(sent.slice(1)).toEqual(expected.result(call?.toolCallId ?? ''));
  });

  test.each(expected.refused)('refuses $part before the call', async ({ part, model }) => {
    const { status, error, tokenUsage } = await agent(model).run([text, part]);
    expect(error).toBeInstanceOf(UnsupportedPartError);
    expect(error).toMatchObject({ code: 'ERR_UNSUPPORTED_PART', retryable: false, mediaType: part.mediaType });
    expect([status, tokenUsage.totalTokens, wire.requests.length]).toEqual(['failed', 0, 0]);
  });
});

test('a provider that does not read parts is passed over, and is never called with them', async () => {
  const calls: Message[][] = [];
  const chatOf = (name: string, readsParts: boolean): ModelProvider => ({
    name,
    readsParts,
    chat: async (messages) => {
      calls.push([...messages]);
      const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
      return { content: name, usage, finishReason: 'stop' };
    },
  });
  const config = { name: 'a', systemPrompt: '', model: { model: 'm' } };
  const blind = createAgent({ ...config, provider: chatOf('blind', false) });
  const { error } = await blind.run([image]);
  expect(error).toMatchObject({ code: 'ERR_UNSUPPORTED_PART', message: expect.stringContaining('set readsParts') });
  const provider = fallbackProvider([{ provider: chatOf('blind', false) }, { provider: chatOf('seeing', true) }]);
  expect(await createAgent({ ...config, provider }).run([image])).toMatchObject({ output: 'seeing' });
  expect(await provider.chat([{ role: 'user', content: '', parts: [image] }], { model: 'm' })).toMatchObject({
    content: 'seeing',
  });
  expect(calls).toHaveLength(2);
});
