import { afterEach, describe, expect, test } from 'vitest';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import type { AgentStreamEvent } from '../agent/agent-stream.js';
import type { SettledAgentRun } from '../agent/run-result.js';
import { createAgent } from '../create-agent.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import { recordOf } from '../model/foreign-values.js';
import type { ModelOptions, ModelProvider } from '../model/model-provider.js';
import { AnthropicProvider, GeminiProvider, OpenAIProvider } from './vendor-providers.js';
import { double } from './vendors.fixture.js';
import { serve, type WireServer } from './wire.fixture.js';

const apiKey = 'sk-very-secret-0123456789';
let wire: WireServer | undefined;

afterEach(() => wire?.close());

/** Answers each request with the next answer: its body, or its events if the request asks for a stream. */
async function replay(isStream: boolean, ...answers: readonly VendorAnswer[]): Promise<WireServer> {
  let next = 0;
  wire = await serve((response) => {
    const answer = answers[next++];
    if (answer === undefined) return void response.writeHead(500).end('{}');
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    const lines = answer.events.map((event) => `event: ${recordOf(event)['type']}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end(isStream ? lines.join('') : JSON.stringify(answer.body));
  });
  return wire;
}

/** Documented answer of a vendor, complete and as the events of its stream. */
interface VendorAnswer {
  readonly body: unknown;
  readonly events: readonly object[];
}

type Block = Readonly<Record<string, unknown>> & { readonly type: string };

/** Answer of Anthropic's Messages. */
function message(content: readonly Block[], stop_reason = 'end_turn'): VendorAnswer {
  const usage = { input_tokens: 11, output_tokens: 7 };
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', stop_reason, stop_sequence: null };
  const events = content.flatMap((block, index): object[] => {
    const { text, citations = [], input, ...rest } = block;
    const delta = (fields: object) => ({ type: 'content_block_delta', index, delta: fields });
    const pieces = [
      ...(input === undefined ? [] : [delta({ type: 'input_json_delta', partial_json: JSON.stringify(input) })]),
      ...(citations as object[]).map((citation) => delta({ type: 'citations_delta', citation })),
      ...(text === undefined ? [] : [delta({ type: 'text_delta', text })]),
    ];
    const begun = { ...rest, ...(text !== undefined && { text: '' }), ...(input !== undefined && { input: {} }) };
    const start = { type: 'content_block_start', index, content_block: begun };
    return [start, ...pieces, { type: 'content_block_stop', index }];
  });
  return {
    body: { ...head, content, usage },
    events: [
      { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage } },
      ...events,
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7 } },
      { type: 'message_stop' },
    ],
  };
}

/** Answer of OpenAI's Responses. */
function response(output: readonly (Block & { readonly id: string })[]): VendorAnswer {
  const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
  const head = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5' };
  const body = { ...head, status: 'completed', output, usage };
  const events = output.flatMap((item, output_index): object[] => {
    const at = { item_id: item.id, output_index, content_index: 0 };
    const content = (item['content'] ?? []) as { text: string; annotations: object[] }[];
    const { action: _later, ...begun }: Record<string, unknown> = { ...item, status: 'in_progress', content: [] };
    return [
      { type: 'response.output_item.added', output_index, item: { ...begun, outputs: null, code: '' } },
      ...content.flatMap(({ text: delta, annotations }) => [
        { type: 'response.output_text.delta', ...at, delta },
        ...annotations.map((annotation, annotation_index) => {
          return { type: 'response.output_text.annotation.added', ...at, annotation_index, annotation };
        }),
      ]),
      ...(item['code'] === undefined
        ? []
        : [
            { type: 'response.code_interpreter_call_code.delta', item_id: item.id, output_index, delta: item['code'] },
            { type: 'response.code_interpreter_call_code.done', item_id: item.id, output_index, code: item['code'] },
          ]),
      { type: 'response.output_item.done', output_index, item },
    ];
  });
  const created = { type: 'response.created', response: { ...head, status: 'in_progress', output: [], usage: null } };
  return { body, events: [created, ...events, { type: 'response.completed', response: body }] };
}

/** Answer of Gemini. */
function candidate(parts: readonly object[], groundingMetadata?: object): VendorAnswer {
  const content = { role: 'model', parts };
  const usageMetadata = { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 };
  const body = { candidates: [{ content, finishReason: 'STOP', index: 0, groundingMetadata }], usageMetadata };
  return { body, events: [body] };
}

const url = 'https://en.wikipedia.org/wiki/Claude_Shannon';
const title = 'Claude Shannon - Wikipedia';
const found = { type: 'web_search_result', url, title, encrypted_content: 'sealed', page_age: 'April 30, 2025' };
const search = (id: string): Block[] => [
  { type: 'server_tool_use', id: `srvtoolu_${id}`, name: 'web_search', input: { query: 'Shannon' } },
  { type: 'web_search_tool_result', tool_use_id: `srvtoolu_${id}`, content: [found] },
];
const cited = {
  type: 'web_search_result_location',
  url,
  title,
  encrypted_index: 'sealed index',
  cited_text: 'Claude Elwood Shannon (April 30, 1916 – ...',
};
const born = { type: 'text', text: 'Born in 1916.' };
const run: Block[] = [
  {
    type: 'server_tool_use',
    id: 'srvtoolu_c',
    name: 'bash_code_execution',
    input: { command: 'echo 42' },
  },
  {
    type: 'bash_code_execution_tool_result',
    tool_use_id: 'srvtoolu_c',
    content: { type: 'bash_code_execution_result', stdout: '42', stderr: '', return_code: 0, content: [] },
  },
];

interface Exchanges {
  readonly results: readonly SettledAgentRun[];
  readonly events: readonly AgentStreamEvent[];
  readonly bodies: readonly Readonly<Record<string, unknown>>[];
}

/** Asks one question after another in a conversation. */
async function converse(
  provider: (baseUrl: string) => ModelProvider,
  model: ModelOptions,
  how: 'run' | 'stream',
  answers: readonly VendorAnswer[],
  more: { inputs?: readonly string[]; hasTools?: boolean } = {},
): Promise<Exchanges> {
  const server = await replay(how === 'stream', ...answers);
  const memory = new ConversationMemory({
    transport: memoryTransport().connect({ service: 's', logger: silentLogger }),
  });
  const tools = more.hasTools === true ? [double] : [];
  const agent = createAgent({ name: 'a', systemPrompt: '', provider: provider(server.url), model, memory, tools });
  const results: SettledAgentRun[] = [];
  const events: AgentStreamEvent[] = [];
  for (const input of more.inputs ?? ['When was Shannon born?', 'Thanks']) {
    const options = { conversationId: 'c' };
    if (how === 'run') {
      results.push(await agent.run(input, options));
      continue;
    }
    const stream = agent.stream(input, options);
    for await (const event of stream) events.push(event);
    results.push(await stream.result);
  }
  const bodies = server.requests.map(({ body }) => recordOf(body));
  return { results, events, bodies };
}

const anthropic = (baseUrl: string) => new AnthropicProvider({ apiKey, baseUrl: `${baseUrl}/v1` });
const responses = (baseUrl: string) => new OpenAIProvider({ apiKey, baseUrl: `${baseUrl}/v1`, api: 'responses' });
const gemini = (baseUrl: string) => new GeminiProvider({ apiKey, baseUrl: `${baseUrl}/v1beta` });
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const partsOf = (events: readonly AgentStreamEvent[]): unknown[] =>
  events.flatMap((event): unknown[] => {
    if (event.type === 'source') return [event.source.type === 'url' ? event.source.url : event.source.title];
    if (event.type === 'vendor-call') return [[event.call.name, event.call.result !== undefined]];
    return event.type === 'text-delta' ? [event.text] : [];
  });

describe.each(['run', 'stream'] as const)('%s', (how) => {
  test('Anthropic searches, runs code, and receives both back', async () => {
    const content = [{ type: 'text', text: 'I search.' }, ...search('1'), ...run, { ...born, citations: [cited] }];
    const { results, events, bodies } = await converse(
      anthropic,
      { model: 'claude-sonnet-4-5', maxTokens: 100, vendorTools: { webSearch: { maxUses: 3 }, codeExecution: true } },
      how,
      [message(content), message([{ type: 'text', text: 'Welcome.' }])],
    );
    const [first, second] = results;
    const { cited_text: citedText } = cited;
    expect(first).toMatchObject({
      status: 'completed',
      output: 'I search.Born in 1916.',
      toolCalls: [],
      sources: [
        { type: 'url', url, title },
        { type: 'url', url, title, citedText },
      ],
      vendorCalls: [
        {
          id: 'srvtoolu_1',
          name: 'web_search',
          arguments: '{"query":"Shannon"}',
          result: [{ type: 'web_search_result', url, title, pageAge: 'April 30, 2025' }],
        },
        { id: 'srvtoolu_c', name: 'code_execution', result: { stdout: '42', return_code: 0 } },
      ],
    });
    expect(JSON.stringify(first?.vendorCalls)).not.toContain('sealed');
    expect(second?.sources).toBeUndefined();
    expect(bodies[0]?.['tools']).toEqual([
      { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ]);
    expect(bodies[1]?.['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'When was Shannon born?' }] },
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'text', text: 'Thanks' }] },
    ]);
    if (how === 'stream') {
      expect(partsOf(events)).toEqual([
        'I search.',
        ['web_search', false],
        ['web_search', true],
        url,
        ['code_execution', false],
        ['code_execution', true],
        url,
        'Born in 1916.',
        'Welcome.',
      ]);
    }
  });

  test('Anthropic continues an answer that it interrupts because its tools take long', async () => {
    const { results, bodies } = await converse(
      anthropic,
      { model: 'claude-sonnet-4-5', maxTokens: 100, vendorTools: { webSearch: true } },
      how,
      [message(search('1'), 'pause_turn'), message([...search('2'), born])],
      { inputs: ['When was Shannon born?'] },
    );
    expect(results[0]).toMatchObject({
      status: 'completed',
      output: 'Born in 1916.',
      vendorCalls: [{ id: 'srvtoolu_1' }, { id: 'srvtoolu_2' }],
      tokenUsage: { promptTokens: 22, completionTokens: 14, totalTokens: 36 },
    });
    expect(bodies[1]?.['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'When was Shannon born?' }] },
      { role: 'assistant', content: search('1') },
    ]);
  });

  test('the tokens of an interrupted answer count if the call that continues it fails', async () => {
    const { results, bodies } = await converse(
      anthropic,
      { model: 'claude-sonnet-4-5', maxTokens: 100, vendorTools: { webSearch: true } },
      how,
      [message(search('1'), 'pause_turn')],
      { inputs: ['When was Shannon born?'] },
    );
    expect(bodies).toHaveLength(2);
    expect(results[0]).toMatchObject({ status: 'failed', tokenUsage: { totalTokens: 18 } });
  });

  test('Anthropic reports a failed search, and receives the error back', async () => {
    const failed = [
      search('1')[0] ?? born,
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
      },
      born,
    ];
    const { results, bodies } = await converse(
      anthropic,
      { model: 'claude-sonnet-4-5', maxTokens: 100, vendorTools: { webSearch: true } },
      how,
      [message(failed), message([born])],
    );
    expect(results[0]?.vendorCalls).toMatchObject([{ name: 'web_search', isError: true }]);
    expect(recordOf(listOf(bodies[1]?.['messages'])[1])['content']).toEqual(failed);
  });

  test('OpenAI’s Responses search and run code beside a tool of the agent, and receive the search back', async () => {
    const annotations = [{ type: 'url_citation', start_index: 0, end_index: 12, url, title }];
    const action = { type: 'search', query: 'Shannon', sources: [{ type: 'url', url }] };
    const { results, events, bodies } = await converse(
      responses,
      { model: 'gpt-5', vendorTools: { webSearch: { searchContextSize: 'low' }, codeExecution: true } },
      how,
      [
        response([
          { type: 'web_search_call', id: 'ws_1', status: 'completed', action },
          {
            type: 'code_interpreter_call',
            id: 'ci_1',
            status: 'completed',
            code: 'print(42)',
            container_id: 'cntr_1',
            outputs: [{ type: 'logs', logs: '42' }],
          },
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'Born in 1916.', annotations }],
          },
        ]),
        response([
          {
            type: 'message',
            id: 'msg_2',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'Welcome.', annotations: [] }],
          },
        ]),
      ],
      { hasTools: true },
    );
    expect(results[0]).toMatchObject({
      status: 'completed',
      output: 'Born in 1916.',
      sources: [{ type: 'url', url, title }],
      vendorCalls: [
        { id: 'ws_1', name: 'web_search', result: { action: { type: 'search', query: 'Shannon' } } },
        { id: 'ci_1', name: 'code_interpreter', result: { outputs: [{ type: 'logs', logs: '42' }] } },
      ],
    });
    expect(bodies[0]).toMatchObject({
      store: false,
      tools: [
        { type: 'function', name: 'double' },
        { type: 'web_search', search_context_size: 'low' },
        { type: 'code_interpreter', container: { type: 'auto' } },
      ],
    });
    expect(bodies[1]?.['input']).toEqual([
      { role: 'user', content: [{ type: 'input_text', text: 'When was Shannon born?' }] },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Born in 1916.' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'Thanks' }] },
    ]);
    if (how === 'stream') {
      expect(partsOf(events)).toEqual([
        ['web_search', false],
        ['web_search', true],
        ['code_interpreter', false],
        ['code_interpreter', true],
        'Born in 1916.',
        url,
        'Welcome.',
      ]);
    }
  });

  test('Gemini searches and runs code, and its code is not sent back', async () => {
    const grounding = {
      webSearchQueries: ['Shannon'],
      groundingChunks: [{ web: { uri: url, title } }],
      groundingSupports: [{ segment: { startIndex: 0, endIndex: 12 }, groundingChunkIndices: [0] }],
    };
    const { results, bodies } = await converse(
      gemini,
      { model: 'gemini-2.5-flash', vendorTools: { webSearch: true, codeExecution: true } },
      how,
      [
        candidate(
          [
            { executableCode: { language: 'PYTHON', code: 'print(42)' } },
            { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } },
            { text: 'Born in 1916.' },
          ],
          grounding,
        ),
        candidate([{ text: 'Welcome.' }]),
      ],
    );
    expect(results[0]).toMatchObject({
      status: 'completed',
      output: 'Born in 1916.',
      sources: [{ type: 'url', url, title }],
      vendorCalls: [{ name: 'code_execution', result: { outcome: 'OUTCOME_OK', output: '42\n' } }],
    });
    expect(bodies[0]?.['tools']).toEqual([{ googleSearch: {} }, { codeExecution: {} }]);
    expect(bodies[1]?.['contents']).toEqual([
      { role: 'user', parts: [{ text: 'When was Shannon born?' }] },
      { role: 'model', parts: [{ text: 'Born in 1916.' }] },
      { role: 'user', parts: [{ text: 'Thanks' }] },
    ]);
  });

  test('Gemini 3 combines its tools with those of the agent, and receives its calls back', async () => {
    const parts = [
      { toolCall: { toolType: 'GOOGLE_SEARCH_WEB', args: { queries: ['Shannon'] }, id: 'g1' }, thoughtSignature: 's1' },
      { toolResponse: { toolType: 'GOOGLE_SEARCH_WEB', response: { found: true }, id: 'g1' }, thoughtSignature: 's2' },
      { text: 'Born in 1916.' },
    ];
    const { results, bodies } = await converse(
      gemini,
      { model: 'gemini-3-pro-preview', vendorTools: { webSearch: true } },
      how,
      [candidate(parts), candidate([{ text: 'Welcome.' }])],
      { hasTools: true },
    );
    expect(results[0]).toMatchObject({ status: 'completed', vendorCalls: [{ result: { found: true } }] });
    const [own, functions] = listOf(bodies[0]?.['tools']);
    expect(own).toEqual({ googleSearch: {} });
    expect(functions).toMatchObject({ functionDeclarations: [{ name: 'double' }] });
    expect(recordOf(listOf(bodies[1]?.['contents'])[1])['parts']).toEqual(parts);
  });
});

test('a tool of the agent with the name of a vendor’s tool is sent under another name', async () => {
  const server = await replay(
    false,
    message([{ type: 'tool_use', id: 't1', name: 'web_search_2', input: { a: 2 } }], 'tool_use'),
    message([born]),
  );
  const agent = createAgent({
    name: 'a',
    systemPrompt: '',
    provider: anthropic(server.url),
    model: { model: 'claude-sonnet-4-5', maxTokens: 100, vendorTools: { webSearch: true } },
    tools: [{ ...double, name: 'web_search' }],
  });
  expect(await agent.run('x')).toMatchObject({ toolCalls: [{ name: 'web_search', result: { is: 4 } }] });
});

test.each([
  ['OpenAIProvider', { dialect: 'openai' }, 'omitted for models of openai.chat; create the OpenAIProvider with api'],
  ['compatible servers', { dialect: 'compatible' }, 'give the agent a tool of your own'],
] as const)('%s without such tools refuse the call before it is made', async (_, options, message) => {
  const server = await replay(false);
  const provider = new OpenAIProvider({ apiKey, baseUrl: `${server.url}/v1`, ...options });
  const model = { model: 'm', vendorTools: { webSearch: true } };
  const { status, error } = await createAgent({ name: 'a', systemPrompt: '', provider, model }).run('x');
  expect([status, error?.message]).toEqual(['failed', expect.stringContaining(message)]);
  expect(server.requests).toEqual([]);
});

test('Gemini 2 refuses its tools beside those of the agent before the call is made', async () => {
  const server = await replay(false);
  const model = { model: 'gemini-2.5-flash', vendorTools: { codeExecution: true } };
  const config = { name: 'a', systemPrompt: '', provider: gemini(server.url), model, tools: [double] };
  const { error } = await createAgent(config).run('x');
  expect(error?.message).toContain('vendorTools must be omitted together with other tools for gemini-2.5-flash');
  expect(server.requests).toEqual([]);
});

test.each([
  [{ webSerch: true }, 'must be one of webSearch, codeExecution, got "webSerch"'],
  [{ webSearch: 'yes' }, 'webSearch of agent "a" must be true, or the vendor\'s settings'],
  ['webSearch', 'must be an object such as { webSearch: true }'],
])('vendorTools %j are refused when the agent is created', (vendorTools, message) => {
  const provider = scriptedProvider([]);
  // Untyped code may pass anything.
  const model = { model: 'm', vendorTools } as unknown as ModelOptions;
  expect(() => createAgent({ name: 'a', systemPrompt: '', provider, model })).toThrow(message);
});

test('a tool that is switched off is not sent', async () => {
  const server = await replay(false, message([born]));
  const model = { model: 'claude-sonnet-4-5', maxTokens: 100, vendorTools: { webSearch: false } };
  await createAgent({ name: 'a', systemPrompt: '', provider: anthropic(server.url), model }).run('x');
  expect(recordOf(server.requests[0]?.body)['tools']).toBeUndefined();
});
