import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { createAgent } from '../create-agent.js';
import { vendorStreams } from './vendor-streams.fixture.js';
import { serve, type WireServer } from './wire.fixture.js';

const mebibyte = 1024 * 1024;
const filler = 'x'.repeat(mebibyte / 4);

let wire: WireServer | undefined;

afterEach(() => wire?.close());

/** A response that goes on until its client leaves, and the number of bytes sent until then. */
interface Endless {
  readonly url: string;
  readonly sent: Promise<number>;
}

async function serveEndless(status: number, type: string, start: string, part: string): Promise<Endless> {
  let resolve: (bytes: number) => void = () => {};
  const sent = new Promise<number>((done) => {
    resolve = done;
  });
  wire = await serve(async (response) => {
    response.writeHead(status, { 'content-type': type });
    response.write(start);
    resolve(await sendWithoutEnd(response, part));
  });
  return { url: wire.url, sent };
}

async function sendWithoutEnd(response: ServerResponse, part: string): Promise<number> {
  let bytes = 0;
  const closed = once(response, 'close');
  while (!response.destroyed) {
    bytes += part.length;
    if (!response.write(part)) await Promise.race([once(response, 'drain'), closed]);
  }
  return bytes;
}

describe.each(vendorStreams)('$name', ({ name, basePath, model, create, events }) => {
  const createAgentAt = (url: string) =>
    createAgent({
      name: 'a',
      systemPrompt: '',
      provider: create({ apiKey: 'key', baseUrl: `${url}${basePath}` }),
      model: { model, maxTokens: 100 },
      retry: { maxAttempts: 3 },
    });
  const oversized = {
    status: 'failed',
    error: { code: 'ERR_OVERSIZED_RESPONSE', retryable: false, message: expect.stringContaining('longer than 64 MiB') },
    tokenUsage: { estimated: true },
  };
  // The event with the first characters of the text.
  const isText = (line: string) => line.includes('Grüße');
  const first = events.findIndex((lines) => lines.some(isText));
  const toText = (list: typeof events) => list.map((lines) => `${lines.join('\n')}\n\n`).join('');
  const streamed = [
    ['text', toText(events.slice(0, first)), toText(events.slice(first, first + 1)).replace('Grüße', filler)],
    ['a line', toText(events.slice(0, first)), filler],
    ['comments', '', `: ${filler}\n\n`],
  ] as const;

  test.each([
    ['an answer', 200, '{"a":"'],
    ['an error', 400, '{"error":{"message":"max_tokens'],
    ['an error of the server', 500, '<html>'],
  ])('that sends %s without an end is left at 64 MiB, and asked once', async (_, status, start) => {
    const { url, sent } = await serveEndless(status, 'application/json', start, filler);
    expect(await createAgentAt(url).run('hello')).toMatchObject(oversized);
    expect(await sent).toBeLessThan(80 * mebibyte);
    expect(wire?.requests).toHaveLength(1);
  });

  test.each(streamed)('that streams %s without an end is left at 64 MiB, and asked once', async (_, start, part) => {
    expect(part.length, name).toBeGreaterThan(mebibyte / 8);
    const { url, sent } = await serveEndless(200, 'text/event-stream', start, part);
    const run = createAgentAt(url).stream('hello');
    expect(await run.result).toMatchObject(oversized);
    expect(await sent).toBeLessThan(80 * mebibyte);
    expect(wire?.requests).toHaveLength(1);
  });
});
