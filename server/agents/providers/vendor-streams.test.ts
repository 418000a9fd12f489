import { expect, test } from 'vitest';
import { createAgent } from '../create-agent.js';
import type { ModelProvider, ModelStreamChunk } from '../model/model-provider.js';
import { CutStreamError } from '../model/provider-error.js';
import {
  reasoningStreams,
  reasoningText,
  streamed,
  type VendorStream,
  vendorStreams,
} from './vendor-streams.fixture.js';
import { double } from './vendors.fixture.js';
import { serve } from './wire.fixture.js';

const apiKey = 'sk-very-secret-0123456789';

/** Body of a stream. @param lineEnd end of each line @param before what precedes each event */
function bodyOf({ events }: VendorStream, lineEnd = '\n', before = ''): Buffer {
  return Buffer.from(events.map((lines) => `${before}${[...lines, '', ''].join(lineEnd)}`).join(''));
}

/** Response of the server: pieces of a body, and then its end or the loss of the connection. */
interface Answer {
  readonly pieces: readonly Buffer[];
  readonly isLost?: boolean;
}

function inPieces(body: Buffer, size: number): Answer {
  const count = Math.ceil(body.length / size);
  return { pieces: Array.from({ length: count }, (_, index) => body.subarray(index * size, (index + 1) * size)) };
}

async function serveAnswers(vendor: VendorStream) {
  let answer: Answer = { pieces: [] };
  const wire = await serve(async (response) => {
    const { pieces, isLost = false } = answer;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve));
    if (isLost) response.destroy();
    else response.end();
  });
  return {
    wire,
    provider: vendor.create({ apiKey, baseUrl: `${wire.url}${vendor.basePath}` }),
    next: (following: Answer) => {
      answer = following;
    },
  };
}

async function read(provider: Required<ModelProvider>, model: string) {
  let content = '';
  let last: ModelStreamChunk = {};
  for await (const chunk of provider.chatStream([{ role: 'user', content: 'hello' }], { model })) {
    content += chunk.content ?? '';
    last = chunk;
  }
  const { toolCalls = [], usage } = last;
  return { text: content, calls: toolCalls.map(({ name, arguments: text }) => ({ name, arguments: text })), usage };
}

test.each(vendorStreams)('$name: a stream is the same in pieces of any size, and in any form', async (vendor) => {
  const { wire, provider, next } = await serveAnswers(vendor);
  const body = bodyOf(vendor);
  const answers = [
    // Most pieces end inside a character.
    ...[1, 2, 3, 7, 64, body.length].map((size) => inPieces(body, size)),
    inPieces(bodyOf(vendor, '\r\n'), 5),
    inPieces(bodyOf(vendor, '\n', ': keep-alive\n\n:\n\n'), 11),
    inPieces(bodyOf(vendor, '\n', 'id: 1\nretry: 10\n'), 64),
  ];
  for (const answer of answers) {
    next(answer);
    expect(await read(provider, vendor.model)).toEqual(streamed);
  }
  await wire.close();
});

test.each(vendorStreams)('$name: a stream that ends anywhere is whole or a retryable error', async (vendor) => {
  const { wire, provider, next } = await serveAnswers(vendor);
  const body = bodyOf(vendor);
  for (const isLost of [false, true]) {
    // A step that is no divisor of anything: cuts at ends of events, inside lines, and inside characters.
    for (let length = 1; length < body.length; length += 37) {
      next({ pieces: [body.subarray(0, length)], isLost });
      const outcome = await read(provider, vendor.model).catch((error: unknown) => error);
      if (outcome instanceof Error) {
        expect(outcome, `${length}`).toBeInstanceOf(CutStreamError);
        expect(outcome, `${length}`).toMatchObject({ retryable: true, code: 'ERR_CUT_STREAM' });
      } else {
        // Only the report of the usage is missing.
        const { text, calls } = streamed;
        expect(outcome, `${length}`).toMatchObject({ text, calls });
      }
    }
  }
  await wire.close();
});

test.each(vendorStreams)('$name: the tokens of a call whose connection is lost in its answer count', async (vendor) => {
  const { wire, provider, next } = await serveAnswers(vendor);
  const first = vendor.events.findIndex((lines) => lines.some((line) => line.includes('double')));
  // The answer of a model that says nothing before its calls.
  const events = vendor.events.filter((lines) => !lines.some((line) => line.includes('👩') || line.includes('世界')));
  const partial = bodyOf({ ...vendor, events: events.slice(0, Math.max(1, first)) });
  next({ pieces: [partial], isLost: true });
  const model = { model: vendor.model };
  const retry = { maxAttempts: 2, initialDelayMs: 0 };
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model, tools: [double], retry });
  const { status, tokenUsage } = await agent.stream('hello').result;
  expect(status).toBe('failed');
  expect(wire.requests).toHaveLength(2);
  expect(tokenUsage.estimated).toBe(true);
  expect(tokenUsage.totalTokens).toBeGreaterThan(0);
  await wire.close();
});

test.each(reasoningStreams)('$name: a stream shows the reasoning in front of the answer', async (vendor) => {
  const { wire, provider, next } = await serveAnswers(vendor);
  next(inPieces(bodyOf(vendor), 50));
  const agent = createAgent({
    name: 'a',
    systemPrompt: '',
    provider,
    model: { model: vendor.model },
    tools: [double],
    maxIterations: 1,
  });
  let reasoning = '';
  let text = '';
  for await (const event of agent.stream('hello')) {
    if (event.type === 'reasoning-delta') reasoning += text === '' ? event.text : ' (too late)';
    else if (event.type === 'text-delta') text += event.text;
  }
  expect({ reasoning, text }).toEqual({ reasoning: reasoningText, text: streamed.text });
  await wire.close();
});
