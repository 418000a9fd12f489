import { expect, it, onTestFinished, vi } from 'vitest';
import { InvalidOptionError } from '../errors.js';
import { createHub } from './create-hub.js';
import { deferred } from './hub.fixture.js';
import type { Hub } from './hub.js';
import { createWorkflow } from './runs/workflow.js';
import { createStreamResponse, type StreamResponseOptions } from './stream-response.js';

const anyone: StreamResponseOptions = { authorize: () => true };

async function started(): Promise<{ hub: Hub; runId: string; end(): void }> {
  const end = deferred();
  const letter = createWorkflow({
    name: 'letter',
    run: ({ step }) =>
      step.run('write', async ({ publish }) => {
        await publish('Dear');
        await publish('Ada\n\nevent: forged');
        await end.promise;
        await publish('Bye');
      }),
  });
  const hub = createHub({ logger: false });
  hub.workflow(letter);
  await hub.start();
  onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  const { runId } = await hub.startWorkflow(letter, null);
  await vi.waitFor(async () => expect((await hub.transport.log.read(`output\nhub\n${runId}`)).next).toBe(2));
  return { hub, runId, end: () => end.resolve() };
}

const request = (headers: Record<string, string> = {}, query = '', signal?: AbortSignal): Request =>
  new Request(`http://localhost/output${query}`, { headers, ...(signal !== undefined && { signal }) });

/** Reads a response until a text, and leaves it. */
async function readUntil(response: Response, text: string): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) throw new Error('the response has no body');
  let seen = '';
  while (!seen.includes(text)) seen += (await reader.read()).value ?? '';
  await reader.cancel();
  return seen;
}

const ids = (body: string): string[] => body.match(/^id: .*$/gm)?.map((line) => line.slice(4)) ?? [];

it('continues after the last event that the browser has, and ends with the run', async () => {
  const { hub, runId, end } = await started();
  const first = await createStreamResponse(hub, runId, request(), anyone);
  expect(first.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const begin = await readUntil(first, 'forged');
  expect(ids(begin)).toEqual(['0', '1']);
  expect(begin).toContain('data: {"type":"data","sequence":0,');
  expect(begin).not.toMatch(/^event: forged/m);
  // Leaving did not stop the run.
  end();
  const rest = await (await createStreamResponse(hub, runId, request({ 'last-event-id': '1' }), anyone)).text();
  expect(ids(rest)).toEqual(['2', '3.end']);
  expect(rest).toContain('event: end\n');
  expect((await createStreamResponse(hub, runId, request({ 'last-event-id': '3.end' }), anyone)).status).toBe(204);
  const kept = await (await createStreamResponse(hub, runId, request({}, '?lastEventId=0'), anyone)).text();
  expect(ids(kept)).toEqual(['1', '2', '3.end']);
  const anew = await (await createStreamResponse(hub, runId, request({ 'last-event-id': 'x' }), anyone)).text();
  expect(ids(anew)).toEqual(['0', '1', '2', '3.end']);
});

it('ends when the browser leaves, and without the event end when the hub stops', async () => {
  const { hub, runId } = await started();
  const left = new AbortController();
  const response = await createStreamResponse(hub, runId, request({}, '', left.signal), anyone);
  left.abort();
  await response.text().catch(() => {});
  const other = (await createStreamResponse(hub, runId, request(), anyone)).text();
  await hub.stop({ drainMs: 0 });
  expect(await other).not.toContain('event: end');
});

it('refuses requests that are not authorized, unknown runs, and a missing authorize', async () => {
  const { hub, runId } = await started();
  const refuse = { authorize: (_: Request, id: string) => id !== runId };
  expect((await createStreamResponse(hub, runId, request(), refuse)).status).toBe(403);
  expect((await createStreamResponse(hub, 'unknown', request(), refuse)).status).toBe(404);
  // @ts-expect-error authorize is required
  await expect(createStreamResponse(hub, runId, request(), {})).rejects.toThrow(InvalidOptionError);
  // @ts-expect-error a truthy value is no decision
  const truthy: StreamResponseOptions = { authorize: () => 'yes' };
  expect((await createStreamResponse(hub, runId, request(), truthy)).status).toBe(403);
});
