// @vitest-environment node
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { fetchJson, REQUEST_TIMEOUT_MS } from './fetch-json.js';

let server: Server | undefined;

afterEach(() => {
  vi.useRealTimers();
  server?.closeAllConnections();
  server?.close();
});

async function serve(listener: RequestListener): Promise<string> {
  const started = createServer(listener);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  // A server that listens on a port has an address of this type.
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}/`;
}

const never = new AbortController().signal;

test('returns the document', async () => {
  const url = await serve((_, response) => response.end('{"a":[1]}'));
  await expect(fetchJson(url, never)).resolves.toMatchObject({ body: { a: [1] } });
});

test('returns the time at which the server sent the document', async () => {
  const url = await serve((_, response) => {
    response.setHeader('Date', 'Mon, 05 Jan 2026 12:00:00 GMT');
    response.end('{}');
  });
  await expect(fetchJson(url, never)).resolves.toMatchObject({ sentAt: Date.UTC(2026, 0, 5, 12) });
});

test('uses the time of the page if there is no Date header', async () => {
  const url = await serve((_, response) => {
    response.sendDate = false;
    response.end('{}');
  });
  const before = Date.now();
  const { sentAt } = await fetchJson(url, never);
  expect(sentAt).toBeGreaterThanOrEqual(before);
});

test('an error of the dashboard about what it does not know has its message', async () => {
  const url = await serve((_, response) =>
    response.writeHead(404).end('{"error":{"code":"x","message":"unknown id"}}'),
  );
  await expect(fetchJson(url, never)).rejects.toMatchObject({ notFound: 'unknown id' });
});

test.each([
  [401, 'You are not signed in (401)'],
  [403, 'You have no access to this dashboard (403)'],
  [404, '(404). Message: warming up'],
  [503, 'The server is not ready (503). Message: warming up'],
  [500, 'The server responded with an error (500). Message: warming up'],
])('explains status %i', async (status, message) => {
  const url = await serve((_, response) =>
    response.writeHead(status).end('{"error":{"code":"x","message":"warming up"}}'),
  );
  await expect(fetchJson(url, never)).rejects.toThrow(message);
});

test('explains a sign-in page instead of JSON', async () => {
  const url = await serve((_, response) => response.end('<html>Sign in</html>'));
  await expect(fetchJson(url, never)).rejects.toThrow('The response is not JSON.');
});

test('an error without a JSON body keeps its status', async () => {
  const url = await serve((_, response) => response.writeHead(502).end('<html>Bad gateway</html>'));
  await expect(fetchJson(url, never)).rejects.toThrow('The server responded with an error (502).');
});

test('explains a server that closes the connection', async () => {
  const url = await serve((request) => request.socket.destroy());
  await expect(fetchJson(url, never)).rejects.toThrow('The server does not respond.');
});

test('aborts a body that never ends', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const arrived = vi.fn();
  const url = await serve((_, response) => {
    response.write('{"a":');
    arrived();
  });
  const response = expect(fetchJson(url, never)).rejects.toThrow('No response within 10 s.');
  await vi.waitFor(() => expect(arrived).toHaveBeenCalled());
  await vi.advanceTimersByTimeAsync(REQUEST_TIMEOUT_MS);
  await response;
});

test('rejects with the reason of its signal', async () => {
  const url = await serve(() => {});
  const controller = new AbortController();
  const response = fetchJson(url, controller.signal);
  controller.abort(new Error('left'));
  await expect(response).rejects.toThrow('left');
});

test('uses the response to the request that the head of the page sent, once', async () => {
  let requests = 0;
  const url = await serve((_, response) => response.end(`${++requests}`));
  globalThis.firstRequest = { url, response: fetch(url), abort: new AbortController() };
  await expect(fetchJson(url, never)).resolves.toMatchObject({ body: 1 });
  await expect(fetchJson(url, never)).resolves.toMatchObject({ body: 2 });
  const other = await fetch(url);
  globalThis.firstRequest = { url: `${url}other`, response: Promise.resolve(other), abort: new AbortController() };
  await expect(fetchJson(url, never)).resolves.toMatchObject({ body: 4 });
});

test('aborts the request that the head of the page sent', async () => {
  const url = await serve(() => {});
  const abort = new AbortController();
  const caller = new AbortController();
  globalThis.firstRequest = { url, response: fetch(url, { signal: abort.signal }), abort };
  const response = fetchJson(url, caller.signal);
  caller.abort(new Error('hidden'));
  await expect(response).rejects.toThrow('hidden');
  expect(abort.signal.aborted).toBe(true);
});
