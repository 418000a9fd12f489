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

const response = (status: string, more: object = {}) => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'm', status, output: [], ...more },
});
const added = (output_index: number, item: object) =>
  named({ type: 'response.output_item.added', output_index, item: { status: 'in_progress', ...item } });
const done = (output_index: number, item: object) =>
  named({ type: 'response.output_item.done', output_index, item: { status: 'completed', ...item } });
const textPiece = (delta: string) =>
  named({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta });
const argumentPiece = (output_index: number, delta: string) =>
  named({ type: 'response.function_call_arguments.delta', item_id: `fc_${output_index}`, output_index, delta });
const functionCall = (output_index: number, text: string) => ({
  ...{ type: 'function_call', id: `fc_${output_index}`, call_id: `c${output_index}`, name: 'double', arguments: text },
});
const said = { id: 'msg_1', type: 'message', role: 'assistant' };
const responsesEvents = [
  named({ type: 'response.created', response: response('in_progress') }),
  named({ type: 'response.in_progress', response: response('in_progress') }),
  added(0, { ...said, content: [] }),
  textPiece('Grüße, 世界'),
  textPiece(' 👩‍🚀!'),
  done(0, { ...said, content: [{ type: 'output_text', text: 'Grüße, 世界 👩‍🚀!', annotations: [] }] }),
  added(1, functionCall(1, '')),
  argumentPiece(1, '{"a":1,"b":"é'),
  argumentPiece(1, '世👍"}'),
  done(1, functionCall(1, '{"a":1,"b":"é世👍"}')),
  added(2, functionCall(2, '')),
  argumentPiece(2, '{"a":2}'),
  done(2, functionCall(2, '{"a":2}')),
  named({
    type: 'response.completed',
    response: response('completed', { usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 } }),
  }),
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

const eventsOf: Readonly<Record<string, VendorStream['events']>> = {
  AnthropicProvider: anthropicEvents,
  GeminiProvider: geminiEvents,
  'OpenAIProvider, responses': responsesEvents,
};

export const vendorStreams: readonly VendorStream[] = vendors.map(({ name, basePath, model, create }) => ({
  name,
  basePath,
  model,
  create,
  events: eventsOf[name] ?? openAiEvents,
}));

/** Text of the reasoning in {@link reasoningStreams}. */
export const reasoningText = 'First add, then double.';

/** Streams of models that reason before they answer. OpenAI sends no reasoning in its Chat Completions. */
export const reasoningStreams: readonly VendorStream[] = vendorStreams.flatMap((vendor) => {
  const [first = [], ...rest] = vendor.events;
  const pieces = ['First add, ', 'then double.'];
  if (vendor.name.startsWith('Anthropic')) {
    const thinking = pieces.map((thinking) => delta(9, { type: 'thinking_delta', thinking }));
    const signature = delta(9, { type: 'signature_delta', signature: 'sig' });
    const thought = [block(9, { type: 'thinking', thinking: '' }), ...thinking, signature, stop(9)];
    return [{ ...vendor, events: [first, ...thought, ...rest] }];
  }
  if (vendor.name.startsWith('Gemini')) {
    return [{ ...vendor, events: [...pieces.map((text) => candidate([{ text, thought: true }])), first, ...rest] }];
  }
  if (vendor.name.includes('responses')) {
    const item = { id: 'rs_1', type: 'reasoning', summary: [] };
    const part = { item_id: 'rs_1', output_index: 9, summary_index: 0 };
    const thought = [
      added(9, item),
      named({ type: 'response.reasoning_summary_part.added', ...part, part: { type: 'summary_text', text: '' } }),
      ...pieces.map((piece) => named({ type: 'response.reasoning_summary_text.delta', ...part, delta: piece })),
      named({
        type: 'response.reasoning_summary_part.done',
        ...part,
        part: { type: 'summary_text', text: reasoningText },
      }),
      done(9, { ...item, encrypted_content: 'sealed', summary: [{ type: 'summary_text', text: reasoningText }] }),
    ];
    return [{ ...vendor, model: 'gpt-5', events: [first, ...thought, ...rest] }];
  }
  if (!vendor.name.includes('compatible')) return [];
  return [{ ...vendor, events: [first, ...pieces.map((reasoning_content) => chunk({ reasoning_content })), ...rest] }];
});
