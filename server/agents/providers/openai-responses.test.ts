import { afterEach, describe, expect, test, vi } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import type { ApprovalDecided, ApprovalRequest } from '../agent/approval.js';
import { createAgent } from '../create-agent.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import { recordOf } from '../model/foreign-values.js';
import type { Message } from '../model/message.js';
import { OpenAIProvider } from './vendor-providers.js';
import { double } from './vendors.fixture.js';
import { serve, type WireServer } from './wire.fixture.js';

const apiKey = 'sk-very-secret-0123456789';
let wire: WireServer | undefined;

afterEach(() => wire?.close());

type Item = { readonly type: string; readonly id: string } & Readonly<Record<string, unknown>>;

const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
const reasoning = (id: string, more: object = {}): Item => ({
  id: `rs_${id}`,
  type: 'reasoning',
  summary: [],
  ...more,
});
const sealed = (id: string) => ({ encrypted_content: `sealed-${id}` });
const call = (id: string, a: number): Item => ({
  ...{ id: `fc_${id}`, type: 'function_call', call_id: `call_${id}`, name: 'double' },
  ...{ arguments: `{"a":${a}}`, status: 'completed' },
});
const text = (id: string, said: string, more: object = {}): Item => ({
  ...{ id: `msg_${id}`, type: 'message', role: 'assistant', status: 'completed', ...more },
  content: [{ type: 'output_text', text: said, annotations: [] }],
});
const answer = (output: readonly Item[], more: object = {}) => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5', status: 'completed', output, usage, ...more },
});

/** Events of the documented stream of an answer. */
function eventsOf(body: ReturnType<typeof answer>): string {
  const { output, ...response } = body;
  const items = output.flatMap((item, output_index) => {
    const at = { item_id: item.id, output_index };
    const { content, summary } = item as { content?: { text: string }[]; summary?: { text: string }[] };
    return [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, encrypted_content: undefined, content: [], summary: [] },
      },
      ...(content ?? []).map(({ text: delta }) => ({
        type: 'response.output_text.delta',
        ...at,
        content_index: 0,
        delta,
      })),
      ...(summary ?? []).flatMap((part, summary_index) => [
        { type: 'response.reasoning_summary_part.added', ...at, summary_index, part: { ...part, text: '' } },
        { type: 'response.reasoning_summary_text.delta', ...at, summary_index, delta: part.text },
        { type: 'response.reasoning_summary_part.done', ...at, summary_index, part },
      ]),
      { type: 'response.output_item.done', output_index, item },
    ];
  });
  const created = { type: 'response.created', response: { ...response, status: 'in_progress' } };
  const end = body.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
  return [created, ...items, { type: end, response: body }]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

/** Answers each request with the next recorded answer, streamed if the request asks for it. */
async function replay(...answers: readonly ReturnType<typeof answer>[]): Promise<WireServer> {
  let next = 0;
  wire = await serve((response, { body }) => {
    const recorded = answers[next++];
    if (recorded === undefined) return void response.writeHead(500).end('{}');
    const isStream = (body as { stream?: boolean }).stream === true;
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? eventsOf(recorded) : JSON.stringify(recorded));
  });
  return wire;
}

const inputOf = ({ requests }: WireServer, index: number): unknown => recordOf(requests[index]?.body)['input'];
const question = (said: string) => ({ role: 'user', content: [{ type: 'input_text', text: said }] });
const said = (id: string, words: string) => ({
  ...{ role: 'assistant', id: `msg_${id}`, content: [{ type: 'output_text', text: words }] },
});
const called = (id: string, a: number) => ({
  ...{ type: 'function_call', call_id: `call_${id}`, name: 'double', arguments: `{"a":${a}}` },
});
const result = (id: string, output: string) => ({ type: 'function_call_output', call_id: `call_${id}`, output });
const model = { model: 'gpt-5' };

describe.each(['run', 'stream'] as const)('%s', (how) => {
  test('sends reasoning back encrypted in its position, through the memory too, and asks the vendor to keep nothing', async () => {
    const summary = [
      { type: 'summary_text', text: 'Two calls.' },
      { type: 'summary_text', text: 'Then add.' },
    ];
    const server = await replay(
      answer([
        reasoning('1', { ...sealed('1'), summary }),
        text('1', 'Let me see.', { phase: 'commentary' }),
        call('1', 2),
        call('2', 3),
      ]),
      answer([reasoning('2', sealed('2')), text('2', '4 and 6', { phase: 'final_answer' })]),
      answer([text('3', '10')]),
    );
    const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
    const memory = new ConversationMemory({ transport });
    const provider = new OpenAIProvider({ apiKey, baseUrl: `${server.url}/v1`, api: 'responses' });
    const config = { name: 'a', systemPrompt: 'Be brief.', provider, model, tools: [double], memory };
    for (const input of ['double 2 and 3', 'and the sum?']) {
      const agent = createAgent(config);
      const options = { conversationId: 'c' };
      const { status, error } =
        how === 'run' ? await agent.run(input, options) : await agent.stream(input, options).result;
      expect({ status, error }).toEqual({ status: 'completed' });
    }
    const exchange = [
      question('double 2 and 3'),
      { type: 'reasoning', id: 'rs_1', ...sealed('1'), summary },
      { ...said('1', 'Let me see.'), phase: 'commentary' },
      called('1', 2),
      called('2', 3),
      result('1', '{"is":4}'),
      result('2', '{"is":6}'),
    ];
    const { parameters, description, name } = double;
    const fixed = {
      model: 'gpt-5',
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name, description, parameters, strict: false }],
      ...(how === 'stream' && { stream: true }),
    };
    const system = { role: 'developer', content: 'Be brief.' };
    const end = [
      { type: 'reasoning', id: 'rs_2', ...sealed('2'), summary: [] },
      { ...said('2', '4 and 6'), phase: 'final_answer' },
      question('and the sum?'),
    ];
    expect(server.requests.map(({ body }) => body)).toEqual([
      { ...fixed, input: [system, question('double 2 and 3')] },
      { ...fixed, input: [system, ...exchange] },
      { ...fixed, input: [system, ...exchange, ...end] },
    ]);
    for (const { path, headers } of server.requests) {
      expect([path, headers.authorization]).toEqual(['/v1/responses', `Bearer ${apiKey}`]);
    }
  });

  test('leaves out reasoning that came without its content, or that led to nothing', async () => {
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
    const server = await replay(
      answer([reasoning('1'), text('1', 'Let me see.', { phase: 'commentary' }), call('1', 2)]),
      answer([reasoning('2', sealed('2')), text('2', 'It is'), reasoning('3', sealed('3'))], cut),
      answer([text('4', '4')]),
    );
    const transport = memoryTransport().connect({ service: 's', logger: silentLogger });
    const memory = new ConversationMemory({ transport });
    const provider = new OpenAIProvider({ apiKey, baseUrl: `${server.url}/v1`, api: 'responses' });
    const agent = createAgent({ name: 'a', systemPrompt: '', provider, model, tools: [double], memory });
    for (const input of ['double 2', 'again']) {
      const options = { conversationId: 'c' };
      const { status } = how === 'run' ? await agent.run(input, options) : await agent.stream(input, options).result;
      expect(status).toBe('completed');
    }
    const { id: _reference, ...unreferenced } = said('1', 'Let me see.');
    const first = [
      question('double 2'),
      { ...unreferenced, phase: 'commentary' },
      called('1', 2),
      result('1', '{"is":4}'),
    ];
    expect(inputOf(server, 1)).toEqual(first);
    expect(inputOf(server, 2)).toEqual([
      ...first,
      { type: 'reasoning', id: 'rs_2', ...sealed('2'), summary: [] },
      said('2', 'It is'),
      question('again'),
    ]);
  });
});

test('a durable run sends its reasoning back after a failed attempt, and after an approval', async () => {
  const server = await replay(
    answer([reasoning('1', sealed('1')), call('1', 2)]),
    answer([], { status: 'failed', error: { code: 'server_error', message: 'x' } }),
    answer([reasoning('2', sealed('2')), text('2', '4')]),
  );
  const hub = createHub({ logger: silentLogger });
  const provider = new OpenAIProvider({ apiKey, baseUrl: `${server.url}/v1`, api: 'responses' });
  const tools = [{ ...double, needsApproval: true }];
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model, tools });
  const requested = hub.event<ApprovalRequest>({
    type: 'requested',
    handler: async ({ payload: { approvalId } }) => void (await hub.emit(decided, { approvalId, approved: true })),
  });
  const decided = hub.event<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
  const handler = agent.asHandler({ approvals: { requested, decided } });
  hub.event({ type: 'asked', handler, retry: { maxAttempts: 2, initialDelayMs: 1 } });
  await hub.start();
  await hub.emit('asked', 'double 2');
  await vi.waitFor(async () => expect(await hub.metrics('asked')).toMatchObject({ completed: 1, retried: 1 }));
  await hub.stop();
  const input = [
    question('double 2'),
    { type: 'reasoning', id: 'rs_1', ...sealed('1'), summary: [] },
    called('1', 2),
    result('1', '{"is":4}'),
  ];
  expect([1, 2].map((index) => inputOf(server, index))).toEqual([input, input]);
});

describe('Azure', () => {
  const hello: Message[] = [{ role: 'user', content: 'hello' }];
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
    additionalProperties: false,
  };
  const options = { maxTokens: 50, reasoning: 'low', responseFormat: { type: 'json', schema } } as const;
  const chat = {
    choices: [{ index: 0, message: { role: 'assistant', content: '{"n":1}' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  };

  const chatBody = {
    model: 'my-deployment',
    messages: [{ role: 'user', content: 'hello' }],
    max_completion_tokens: 50,
    reasoning_effort: 'low',
    response_format: { type: 'json_schema', json_schema: { name: 'response', schema, strict: true } },
  };
  const responsesBody = {
    model: 'my-deployment',
    input: [question('hello')],
    max_output_tokens: 50,
    store: false,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low' },
    text: { format: { type: 'json_schema', name: 'response', schema, strict: true } },
  };
  const v1 = '/openai/v1';
  const deployment = '/openai/deployments/my-deployment';

  test.each([
    ['chat', '', undefined, `${v1}/chat/completions`, chat, chatBody],
    ['chat', deployment, '2024-10-21', `${deployment}/chat/completions?api-version=2024-10-21`, chat, chatBody],
    ['responses', '/openai/', undefined, `${v1}/responses`, answer([text('1', '{"n":1}')]), responsesBody],
    ['responses', v1, 'preview', `${v1}/responses?api-version=preview`, answer([text('1', '{"n":1}')]), responsesBody],
  ] as const)(
    '%s at %j is called as OpenAI’s own, with Azure’s header',
    async (api, path, apiVersion, sentTo, body, expected) => {
      wire = await serve((response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      });
      const baseUrl = `${wire.url}${path}`;
      const provider = new OpenAIProvider({
        apiKey,
        baseUrl,
        api,
        dialect: 'azure',
        ...(apiVersion && { apiVersion }),
      });
      expect(provider.name).toBe('azure.ai.openai');
      const model = { model: 'my-deployment', ...options, providerOptions: { azure: { user: 'u-7' } } };
      const { content, usage } = await provider.chat(hello, model);
      expect([content, usage.totalTokens]).toEqual(['{"n":1}', 18]);
      const [request] = wire.requests;
      expect(request).toMatchObject({
        path: sentTo,
        headers: { 'api-key': apiKey },
        body: { ...expected, user: 'u-7' },
      });
      expect(Object.keys(request?.body ?? {}).sort()).toEqual([...Object.keys(expected), 'user'].sort());
      expect(request?.headers).not.toHaveProperty('authorization');
    },
  );

  test.each(['r.openai.azure.com', 'r.services.ai.azure.com', 'r.cognitiveservices.azure.com', 'r.openai.azure.us'])(
    '%s is one of its hosts',
    async (host) => {
      // No test can reach these hosts.
      const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json({}, { status: 401 }));
      const provider = new OpenAIProvider({ apiKey, baseUrl: `https://${host}/` });
      await expect(provider.chat(hello, { model: 'd' })).rejects.toMatchObject({
        provider: 'azure.chat',
        statusCode: 401,
      });
      expect(String(fetched.mock.calls[0]?.[0])).toBe(`https://${host}/openai/v1/chat/completions`);
      fetched.mockRestore();
    },
  );
});

test('another vendor, and OpenAI itself after Azure, receives no reasoning of the first one', async () => {
  const server = await replay(answer([reasoning('1', sealed('1')), text('1', 'hi')]), answer([text('2', 'ho')]));
  const baseUrl = `${server.url}/v1`;
  const azure = new OpenAIProvider({ apiKey, baseUrl, api: 'responses', dialect: 'azure' });
  const { content, providerMetadata = {} } = await azure.chat([{ role: 'user', content: 'x' }], { model: 'd' });
  const messages: Message[] = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content, providerMetadata },
    { role: 'user', content: 'y' },
  ];
  await new OpenAIProvider({ apiKey, baseUrl, api: 'responses' }).chat(messages, model);
  expect(inputOf(server, 1)).toEqual([
    question('x'),
    { role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] },
    question('y'),
  ]);
});
