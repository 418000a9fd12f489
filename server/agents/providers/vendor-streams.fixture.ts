import type { ModelProvider } from '../model/model-provider.js';
import { vendors } from './vendors.fixture.js';

/** A complete answer of a vendor as a stream of server-sent events. */
export interface VendorStream {
  readonly name: string;
  readonly basePath: string;
  readonly model: string;
  create(options: { apiKey: string; baseUrl: string }): Required<ModelProvider>;
  /** Events without their line ends, each a list of lines. */
  readonly events: readonly (readonly string[])[];
}

/** Text and calls of each {@link VendorStream}: with characters of two, three and four bytes. */
export const streamed = {
  text: 'Grüße, 世界 👩‍🚀!',
  calls: [
    { name: 'double', arguments: '{"a":1,"b":"é世👍"}' },
    { name: 'double', arguments: '{"a":2}' },
  ],
  usage: { promptTokens: 11, completionTokens: 7, totalTokens: 18 },
};

const data = (value: unknown): readonly string[] => [`data: ${JSON.stringify(value)}`];
const named = (value: { type: string } & Record<string, unknown>): readonly string[] => [
  `event: ${value.type}`,
  `data: ${JSON.stringify(value)}`,
];

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
  data({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
    ...more,
  });
const callPiece = (index: number, fields: object, id?: string) => ({
  tool_calls: [{ index, ...(id !== undefined && { id, type: 'function' }), function: fields }],
});
const openAiEvents = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'Grüße, 世界' }),
  chunk({ content: ' 👩‍🚀!' }),
  // Pieces of both calls alternate.
  chunk(callPiece(0, { name: 'double', arguments: '' }, 'c1')),
  chunk(callPiece(1, { name: 'double', arguments: '{"a"' }, 'c2')),
  chunk(callPiece(0, { arguments: '{"a":1,"b":"é' })),
  chunk(callPiece(1, { arguments: ':2}' })),
  chunk(callPiece(0, { arguments: '世👍"}' })),
  chunk({}, 'tool_calls'),
  data({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  }),
  ['data: [DONE]'],
];

const block = (index: number, content_block: object) => named({ type: 'content_block_start', index, content_block });
const delta = (index: number, fields: object) => named({ type: 'content_block_delta', index, delta: fields });
const stop = (index: number) => named({ type: 'content_block_stop', index });
const call = (id: string) => ({ type: 'tool_use', id, name: 'double', input: {} });
const json = (partial_json: string) => ({ type: 'input_json_delta', partial_json });
const anthropicEvents = [
  named({
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'c',
      content: [],
      usage: { input_tokens: 11, output_tokens: 1 },
    },
  }),
  block(0, { type: 'text', text: '' }),
  delta(0, { type: 'text_delta', text: 'Grüße, 世界' }),
  delta(0, { type: 'text_delta', text: ' 👩‍🚀!' }),
  stop(0),
  block(1, call('c1')),
  delta(1, json('')),
  delta(1, json('{"a":1,"b":"é')),
  delta(1, json('世👍"}')),
  stop(1),
  block(2, call('c2')),
  delta(2, json('{"a":2}')),
  stop(2),
  named({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 7 } }),
  named({ type: 'message_stop' }),
];

const candidate = (parts: object[], more: object = {}) =>
  data({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
  });
const geminiEvents = [
  candidate([{ text: 'Grüße, 世界' }]),
  candidate([{ text: ' 👩‍🚀!' }]),
  candidate([{ functionCall: { name: 'double', args: { a: 1, b: 'é世👍' } } }]),
  candidate([{ functionCall: { name: 'double', args: { a: 2 } } }], { finishReason: 'STOP' }),
];

export const vendorStreams: readonly VendorStream[] = vendors.map(({ name, basePath, model, create }) => ({
  name,
  basePath,
  model,
  create,
  events: name.startsWith('Anthropic') ? anthropicEvents : name.startsWith('Gemini') ? geminiEvents : openAiEvents,
}));
