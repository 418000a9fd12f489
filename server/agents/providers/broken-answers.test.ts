import { afterEach, describe, expect, test } from 'vitest';
import { createAgent } from '../create-agent.js';
import type { Message } from '../model/message.js';
import { toErrorContent } from '../tools/tool-executor.js';
import { double, type Vendor, vendors } from './vendors.fixture.js';
import { serve, type WireServer } from './wire.fixture.js';

let wire: WireServer | undefined;

afterEach(() => wire?.close());

/** Response with status 200, and the result of a run without retries. */
type Row = readonly [name: string, body: unknown, expected: object];

const failed = (retryable: boolean, totalTokens: number, code = 'ERR_PROVIDER') => ({
  status: 'failed',
  error: { code, retryable },
  tokenUsage: { totalTokens },
});
const brokenOff = {
  status: 'failed',
  error: { code: 'ERR_CUT_STREAM', retryable: true },
  tokenUsage: { estimated: true },
};
const completed = { status: 'completed', output: 'hi', tokenUsage: { totalTokens: 18 } };
const events = (...data: readonly unknown[]): string =>
  data.map((each) => (typeof each === 'string' ? each : `data: ${JSON.stringify(each)}\n\n`)).join('');

const page = '<html>Bad gateway</html>';

/** Answers of a proxy in place of any vendor. */
const proxied: readonly Row[] = [
  ['a page', page, failed(false, 0)],
  ['nothing', '', failed(false, 0)],
  ['null', 'null', failed(false, 0)],
  ['a list', '[]', failed(false, 0)],
];

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const choice = (message: object, finish_reason: string | null = 'stop') => ({
  ...{ id: 'x', object: 'chat.completion', created: 1, model: 'm', usage },
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
});
const openAi: readonly Row[] = [
  ...proxied,
  ['another JSON', { hello: 1 }, failed(false, 0)],
  ['an answer without choices', { id: 'x', usage }, failed(false, 18)],
  ['an answer with an empty list of choices', { ...choice({}), choices: [] }, failed(false, 18)],
  ['a call without a name', choice({ tool_calls: [{ id: 'c', function: { arguments: '{}' } }] }), failed(false, 18)],
  ['an error of the server', { error: { type: 'server_error', message: 'x' } }, failed(true, 0)],
  ['the status 502 in the body', { error: { code: 502, message: 'x' } }, failed(true, 0)],
  ['the status 429 in the body', { error: { code: 429, message: 'x' } }, failed(true, 0)],
  ['the status 400 in the body', { error: { code: 400, message: 'x' } }, failed(false, 0)],
  ['a filtered text', choice({ content: 'hi' }, 'content_filter'), failed(false, 18, 'ERR_CONTENT_FILTER')],
  ['a refusal', choice({ content: null, refusal: 'no' }), failed(false, 18, 'ERR_CONTENT_FILTER')],
  ['a refusal after text', choice({ content: 'hi', refusal: 'no' }), failed(false, 18, 'ERR_CONTENT_FILTER')],
  [
    'a refusal in a stream',
    events(
      {
        ...choice({}, null),
        choices: [{ index: 0, delta: { role: 'assistant', refusal: 'no' }, finish_reason: null }],
      },
      { ...choice({}), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      'data: [DONE]\n\n',
    ),
    failed(false, 18, 'ERR_CONTENT_FILTER'),
  ],
  ['an empty error beside an answer', { ...choice({ content: 'hi' }, 'stop'), error: {} }, completed],
  ['an unknown finish reason', choice({ content: 'hi' }, 'new'), completed],
];

const counted = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
const respond = (content: readonly object[], more: object = {}) => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed', usage: counted },
  output: [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }],
  ...more,
});
const saidText = { type: 'output_text', text: 'hi', annotations: [] };
const refused = { type: 'refusal', refusal: 'no' };
const cutAt = (reason: string) => ({ status: 'incomplete', incomplete_details: { reason } });
const failedWith = (code: string) => ({ status: 'failed', output: [], error: { code, message: 'x' } });
const eventOfFailure = (code: string) => ({
  type: 'response.failed',
  sequence_number: 1,
  response: { id: 'resp_1', status: 'failed', error: { code, message: 'x' } },
});
const created = { type: 'response.created', response: { id: 'resp_1', created_at: 1, model: 'm' } };
const begun = [
  created,
  { type: 'response.output_item.added', output_index: 0, item: { id: 'msg_1', type: 'message', role: 'assistant' } },
  { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'h' },
];
const emptyTwice = { status: 'failed', error: { code: 'ERR_EMPTY_ANSWER' }, tokenUsage: { totalTokens: 36 } };
const responses: readonly Row[] = [
  ...proxied,
  ['another JSON', { hello: 1 }, failed(false, 0)],
  ['an answer with an empty output', { ...respond([]), output: [] }, emptyTwice],
  ['an error of the server', { error: { type: 'server_error', message: 'x' } }, failed(true, 0)],
  ['a failure of the server', { ...respond([]), ...failedWith('server_error') }, failed(true, 18)],
  ['a failure by a limit', { ...respond([]), ...failedWith('rate_limit_exceeded') }, failed(true, 18)],
  ['a failure by the prompt', { ...respond([]), ...failedWith('invalid_prompt') }, failed(false, 18)],
  ['a failure at the start of a stream', events(created, eventOfFailure('server_error')), failed(true, 0)],
  [
    'a failure later in a stream',
    events(...begun, eventOfFailure('invalid_prompt')),
    { status: 'failed', error: { retryable: false } },
  ],
  [
    'an error at the start of a stream',
    events({ type: 'error', sequence_number: 0, code: 'rate_limit_exceeded', message: 'x', param: null }),
    failed(true, 0),
  ],
  ['a filtered text', respond([saidText], cutAt('content_filter')), failed(false, 18, 'ERR_CONTENT_FILTER')],
  ['a refusal', respond([refused]), failed(false, 18, 'ERR_CONTENT_FILTER')],
  ['a refusal after text', respond([saidText, refused]), failed(false, 18, 'ERR_CONTENT_FILTER')],
  ['a text at its limit', respond([saidText], cutAt('max_output_tokens')), { status: 'completed', truncated: true }],
  [
    'items of an unknown type',
    { ...respond([saidText]), output: [{ type: 'new', id: 'n' }, ...respond([saidText]).output] },
    failed(false, 18),
  ],
  [
    'events of unknown types',
    events(
      ...begun,
      { type: 'response.new', a: 1 },
      { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'i' },
      { type: 'response.completed', response: { usage: counted } },
    ),
    completed,
  ],
];

const message = (content: readonly object[], stop_reason = 'end_turn') => ({
  ...{ id: 'm', type: 'message', role: 'assistant', model: 'c', content, stop_reason },
  usage: { input_tokens: 11, output_tokens: 7 },
});
const start = { type: 'message_start', message: { ...message([]), usage: { input_tokens: 11, output_tokens: 1 } } };
const end = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
  { type: 'message_stop' },
];
const text = [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
];
const anthropic: readonly Row[] = [
  ...proxied,
  ['another JSON', { hello: 1 }, failed(false, 0)],
  ['a part of an unknown type', message([{ type: 'new' }]), failed(false, 18)],
  ['a call without an id', message([{ type: 'tool_use', name: 'double', input: {} }]), failed(false, 18)],
  ['an overload', { type: 'error', error: { type: 'overloaded_error', message: 'x' } }, failed(true, 0)],
  ['a refusal', message([], 'refusal'), failed(false, 18, 'ERR_CONTENT_FILTER')],
  ['a refusal after text', message([{ type: 'text', text: 'hi' }], 'refusal'), failed(false, 18, 'ERR_CONTENT_FILTER')],
  ['a full context', message([{ type: 'text', text: 'hi' }], 'model_context_window_exceeded'), { truncated: true }],
  ['a pause', message([{ type: 'text', text: 'hi' }], 'pause_turn'), completed],
  ['events of unknown types', events(start, { type: 'new', a: 1 }, ...text, { type: 'newer' }, ...end), completed],
  ['an event that is no JSON', events(start, 'data: {"type":\n\n', ...text, ...end), brokenOff],
  [
    'an error of an unknown type',
    events(start, { type: 'error', error: { type: 'new', message: 'x' } }),
    failed(false, 0),
  ],
];

const usageMetadata = { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 };
const candidate = (finishReason: string, more: object = {}) => ({
  candidates: [{ finishReason, ...more }],
  usageMetadata,
});
const said = { content: { role: 'model', parts: [{ text: 'hi' }] } };
const gemini: readonly Row[] = [
  ...proxied,
  ['a blocked prompt', { promptFeedback: { blockReason: 'NEW' } }, failed(false, 0, 'ERR_CONTENT_FILTER')],
  ...['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'].flatMap((reason): Row[] => [
    [`the finish ${reason}`, candidate(reason), failed(false, 18, 'ERR_CONTENT_FILTER')],
    [`the finish ${reason} after text`, candidate(reason, said), failed(false, 18, 'ERR_CONTENT_FILTER')],
  ]),
  ['the finish MAX_TOKENS', candidate('MAX_TOKENS', said), { status: 'completed', truncated: true }],
  ...['LANGUAGE', 'OTHER', 'NEW'].map((reason): Row => [`the finish ${reason}`, candidate(reason, said), completed]),
  ['an overload', { error: { code: 503, status: 'UNAVAILABLE', message: 'x' } }, failed(true, 0)],
  ['an invalid request', { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'x' } }, failed(false, 0)],
  ['an overload in a stream', events({ error: { code: 503, status: 'UNAVAILABLE', message: 'x' } }), failed(true, 0)],
];

const rows: Readonly<Record<string, readonly Row[]>> = {
  'OpenAIProvider, responses': responses,
  AnthropicProvider: anthropic,
  GeminiProvider: gemini,
};
const rowsOf = ({ name }: Vendor): readonly Row[] => rows[name] ?? openAi;

describe.each(vendors)('$name', (vendor) => {
  const agentAt = (url: string) =>
    createAgent({
      name: 'a',
      systemPrompt: '',
      provider: vendor.create({ apiKey: 'sk-very-secret-0123456789', baseUrl: `${url}${vendor.basePath}` }),
      model: { model: vendor.model },
      tools: [double],
    });

  test.each(rowsOf(vendor))('that answers %s', async (_, body, expected) => {
    const isStream = typeof body === 'string' && body.startsWith('data:');
    wire = await serve((response) => {
      const type = isStream ? 'text/event-stream' : body === page ? 'text/html' : 'application/json';
      response.writeHead(200, { 'content-type': type });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    const agent = agentAt(wire.url);
    expect(await (isStream ? agent.stream('hello').result : agent.run('hello'))).toMatchObject(expected);
  });

  test('that answers with a list of one error is retried after its delay', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }];
    const error = { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED', details };
    wire = await serve((response) => {
      response.writeHead(429, { 'content-type': 'application/json' });
      response.end(JSON.stringify([{ error }]));
    });
    expect((await agentAt(wire.url).run('hello')).error).toMatchObject({
      retryable: true,
      retryAfterMs: 7_000,
      vendorMessage: 'slow down',
      message: expect.stringContaining('RESOURCE_EXHAUSTED'),
    });
  });

  test('learns which tool results are errors', async () => {
    const calls = [1, 2].map((n) => ({ id: `c${n}`, name: 'work', arguments: JSON.stringify({ fails: n === 2 }) }));
    const messages: Message[] = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: '', toolCalls: calls },
      { role: 'tool', toolCallId: 'c1', content: '"fine"' },
      { role: 'tool', toolCallId: 'c2', content: toErrorContent('broken') },
    ];
    wire = await serve((response) => void response.writeHead(400).end('{}'));
    const provider = vendor.create({ apiKey: 'k', baseUrl: `${wire.url}${vendor.basePath}` });
    await provider.chat(messages, { model: vendor.model }).catch(() => {});
    const flags = JSON.stringify(wire.requests[0]?.body).match(/"is_error":true/g) ?? [];
    expect(flags).toHaveLength(vendor.name === 'AnthropicProvider' ? 1 : 0);
    expect(JSON.stringify(vendor.messagesOf(wire.requests[0]?.body))).toContain('Error: broken');
  });

  test.each(['constructor', '__proto__', 'toString'])('that calls %s receives its call back', async (name) => {
    const call = { id: 'c1', name, arguments: '{}' };
    const answers: Readonly<Record<string, unknown>> = {
      AnthropicProvider: message([{ type: 'tool_use', id: call.id, name, input: {} }], 'tool_use'),
      GeminiProvider: candidate('STOP', { content: { role: 'model', parts: [{ functionCall: { name, args: {} } }] } }),
      'OpenAIProvider, responses': respond([], {
        output: [{ type: 'function_call', id: 'fc_1', call_id: call.id, name, arguments: '{}', status: 'completed' }],
      }),
    };
    const answer =
      answers[vendor.name] ?? choice({ tool_calls: [{ id: call.id, type: 'function', function: call }] }, 'tool_calls');
    wire = await serve((response) => {
      const isFirst = wire?.requests.length === 1;
      response.writeHead(isFirst ? 200 : 400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isFirst ? answer : { error: { message: 'enough' } }));
    });
    await agentAt(wire.url).run('hello');
    expect(JSON.stringify(vendor.messagesOf(wire.requests[1]?.body))).toContain(`"name":"_${name}"`);
  });
});
