import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createAgent } from './agents/create-agent.js';
import { mcpTools } from './agents/mcp/mcp-tools.js';
import { AnthropicProvider, GeminiProvider, OpenAIProvider } from './agents/providers/vendor-providers.js';
import { createDashboardHandler } from './dashboard/index.js';
import { FatalError, HubError, InvalidOptionError } from './errors.js';
import { createHub } from './hub/create-hub.js';
import { PayloadNotJsonError } from './hub/errors.js';
import { createRedactor, publicErrorInfo } from './redaction.js';
import { KeyTypeError, TransportUnavailableError } from './transports/errors.js';
import { redisTransport } from './transports/redis/redis-transport.js';

afterEach(() => {
  vi.restoreAllMocks();
});

it('makes a loggable error of name, message, code, frames and causes', () => {
  const cause = Object.assign(new Error('connect failed'), { command: { args: ['AUTH', 'secret'] } });
  const thrown = Object.assign(new FatalError('declined', { cause }), { transcript: 'secret' });
  const error = createRedactor().loggable(thrown);
  expect(error).toMatchObject({ name: 'FatalError', message: 'declined', code: 'ERR_FATAL' });
  expect(error.stack).toMatch(/^FatalError: declined\n {4}at .*redaction\.test\.ts/);
  expect(Object.keys(error)).toEqual(['code']);
  const text = inspect(error, { depth: 9, showHidden: true });
  expect(text).toContain('[cause]');
  expect(text).not.toContain('secret');
});

it('passes the default redaction and the thrown value to the hook', () => {
  const redact = vi.fn(({ name }: { name: string }) => ({ name, message: 'hidden', payload: 'secret' }));
  const thrown = new SyntaxError('secret');
  expect(createRedactor(redact).info(thrown)).toEqual({ name: 'SyntaxError', message: 'hidden' });
  const shown = { name: 'SyntaxError', message: 'a text could not be parsed (message withheld)' };
  expect(redact).toHaveBeenCalledWith(shown, thrown);
});

it('passes the hook whole texts and cuts what it returns', () => {
  // A hook that receives the first 1,024 characters does not recognise an address that ends behind them.
  const redact = ({ name, message }: { name: string; message: string }) => ({
    name,
    message: message.replace(/\S+@example\.com/, '[address]'),
  });
  const hide = createRedactor(redact).info;
  const text = `${'x '.repeat(507)}alice-has-an-address@example.com`;
  for (const thrown of [
    new Error(text),
    text,
    new FatalError(text),
    new TransportUnavailableError('x', new Error(text)),
  ]) {
    const { message } = hide(thrown);
    expect(message.length).toBeLessThanOrEqual(1024);
    expect(message).not.toContain('alice');
  }
});

it.each([
  [{ code: 'E_2' }, 'E_2'],
  [{ code: undefined }, undefined],
  [{}, 'E_1'],
])('replaces, removes or leaves the code if the hook returns %j', (result, code) => {
  const { info, loggable } = createRedactor(({ name, message }) => ({ name, message, ...result }));
  const thrown = Object.assign(new Error('declined'), { code: 'E_1' });
  expect(info(thrown).code).toBe(code);
  expect((loggable(thrown) as { code?: string }).code).toBe(code);
});

it('redacts a recorded failure and leaves its other fields', () => {
  const { recorded } = createRedactor(({ name, message }) => ({ name, message: message.replace(/\d/g, 'x') }));
  expect(recorded({ id: 'a1', name: 'Error', message: 'card 42' })).toEqual({
    id: 'a1',
    name: 'Error',
    message: 'card xx',
  });
});

it.each([
  [
    'throws',
    () => {
      throw new Error('secret');
    },
  ],
  // Untyped code may return anything.
  ['returns nothing', () => JSON.parse('null')],
  ['returns a text', () => JSON.parse('"secret"')],
  ['returns a number as code', () => JSON.parse('{"name":"","message":"","code":1}')],
])('withholds the message if the hook %s', (_, redact) => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  expect(createRedactor(redact).info(new Error('secret'))).toEqual({
    name: 'Error',
    message: 'message withheld: redact failed',
  });
  expect(String(warn.mock.lastCall?.[0])).toMatch(/^redact failed with \w+;/);
  expect(String(warn.mock.lastCall?.[0])).not.toContain('secret');
});

const secret = 'alice@example.com';

function thrownBy(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

describe('publicErrorInfo', () => {
  class CardDeclined extends Error {
    override name = 'CardDeclined';
    readonly status = 402;
  }

  it.each([
    [new Error('card declined'), 'card declined'],
    [new CardDeclined('card declined'), 'card declined'],
    [new FatalError('card declined'), 'card declined'],
    [new HubError('ERR_X', `value ${secret}`, { publicMessage: 'value is wrong' }), 'value is wrong'],
    ['card declined', '"card declined"'],
  ])('shows the message that the application wrote: %s', (thrown, message) => {
    expect(publicErrorInfo(thrown).message).toBe(message);
  });

  it.each([
    [
      'zod',
      thrownBy(() => z.strictObject({ a: z.string() }).parse({ a: 1, [secret]: 1 })),
      '2 schema issues at .a (messages withheld)',
    ],
    [
      'zod, in a record',
      thrownBy(() => z.record(z.string(), z.number()).parse({ [secret]: 'x' })),
      '1 schema issues at .* (messages withheld)',
    ],
    [
      'a validator with details',
      Object.assign(new Error(secret), { name: 'ValidationError', details: [{ path: ['a', 0] }] }),
      '1 schema issues at .a[0] (messages withheld)',
    ],
    ['JSON.parse', thrownBy(() => JSON.parse(secret)), 'a text could not be parsed (message withheld)'],
    ['Node', thrownBy(() => Buffer.from([]).readInt8(secret as never)), 'ERR_INVALID_ARG_TYPE (message withheld)'],
    [
      'the file system',
      Object.assign(new Error(`ENOENT: ${secret}`), { code: 'ENOENT', syscall: 'open' }),
      'open ENOENT',
    ],
    [
      'ioredis',
      Object.assign(new Error(`WRONGPASS ${secret}`), { name: 'ReplyError', command: { args: [secret] } }),
      'WRONGPASS (message withheld)',
    ],
    [
      'axios',
      Object.assign(new Error(secret), { config: {}, response: { status: 404 } }),
      'status 404 (message withheld)',
    ],
    [
      'the AI SDK',
      Object.assign(new Error(secret), { name: 'AI_APICallError', statusCode: 400 }),
      'status 400 (message withheld)',
    ],
    ['AWS', Object.assign(new Error(secret), { $metadata: { httpStatusCode: 403 } }), 'status 403 (message withheld)'],
    ['pg', Object.assign(new Error(secret), { severity: 'ERROR', code: '23505' }), '23505 (message withheld)'],
    ['an option', new InvalidOptionError('requestId', 'a string', secret), 'requestId must be a string, got a string'],
    [
      'a payload',
      new PayloadNotJsonError(`payload["${secret}"].total`, 'the bigint 10n'),
      'payload.*.total is a bigint, which JSON cannot represent',
    ],
    ['a key', new KeyTypeError(secret, 'a list'), 'a key does not hold a list'],
    [
      'a transport',
      new TransportUnavailableError(
        'redis did not answer within 100 ms',
        Object.assign(new Error(secret), { code: 'ECONNREFUSED', syscall: 'connect' }),
      ),
      'redis did not answer within 100 ms: connect ECONNREFUSED; repeat the call when it is available again',
    ],
  ])('withholds the message of %s', (_, thrown, message) => {
    const info = publicErrorInfo(thrown);
    expect(info.message).toBe(message);
    expect(JSON.stringify(info)).not.toContain(secret);
  });

  it('withholds a message that cannot be read', () => {
    const hostile = Object.assign(new Error(secret), { response: {} });
    Object.defineProperty(hostile.response, 'status', {
      get() {
        throw new Error(secret);
      },
    });
    expect(publicErrorInfo(hostile).message).toMatch(/withheld/);
  });
});

describe('a secret that is passed as the wrong option', () => {
  // Untyped code may pass anything.
  const call = (create: (options: never) => unknown, options: unknown) => () => create(options as never);
  const text = `sk-${secret}`;

  it.each<[string, () => unknown]>([
    ['baseUrl of a provider', call((options) => new OpenAIProvider(options), { apiKey: 'k', baseUrl: text })],
    ['dialect of a provider', call((options) => new OpenAIProvider(options), { apiKey: 'k', dialect: text })],
    ['apiKey of a provider', call((options) => new GeminiProvider(options), { apiKey: `${text} ` })],
    ['the options of a provider', call((options) => new AnthropicProvider(options), text)],
    ['url of redisTransport', call(redisTransport, { url: text })],
    ['prefix of redisTransport', call(redisTransport, { prefix: `redis://:${text}@host` })],
    ['client of redisTransport', call(redisTransport, { client: text })],
    ['url of an MCP server', call(mcpTools, { url: `https://user:${text}` })],
    ['cwd of an MCP server', call(mcpTools, { command: 'x', cwd: 1, stderr: text })],
    ['provider of an agent', call(createAgent, { name: 'a', systemPrompt: '', provider: text, model: { model: 'm' } })],
    ['model of an agent', call(createAgent, { name: 'a', systemPrompt: '', provider: { chat() {} }, model: text })],
    ['authorize of a dashboard', call((options) => createDashboardHandler(createHub(), options), { authorize: text })],
  ])('is not quoted: %s', async (_, create) => {
    const thrown = await Promise.resolve()
      .then(create)
      .catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(HubError);
    expect(inspect(thrown)).not.toContain(secret);
  });
});
