import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Request as received over HTTP. */
export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** Real HTTP server that replaces a vendor. */
export interface WireServer {
  readonly url: string;
  readonly requests: readonly WireRequest[];
  close(): Promise<void>;
}

/** Starts a server that answers each request with `answer` and records it. */
export async function serve(
  answer: (response: ServerResponse, request: WireRequest) => void | Promise<void>,
): Promise<WireServer> {
  const requests: WireRequest[] = [];
  const server: Server = createServer(async (incoming, response) => {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    const request = { path: incoming.url ?? '', headers: incoming.headers, body: JSON.parse(text) as unknown };
    requests.push(request);
    await answer(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address of a server that listens on a port has this type.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Starts a proxy to `target` that records each request.
 *
 * @param change rewrites the body of each response
 * @param refuse returns the message of a 400 response for a request that must not reach `target`
 */
export function record(
  target: string,
  { change, refuse }: { change?: (body: string) => string; refuse?: (body: unknown) => string | undefined } = {},
): Promise<WireServer> {
  return serve(async (response, { path, headers, body }) => {
    const message = refuse?.(body);
    if (message !== undefined) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message, code: null, status: 'INVALID_ARGUMENT' } }));
      return;
    }
    const { host: _host, 'content-length': _length, connection: _connection, ...rest } = headers;
    try {
      const answer = await fetch(`${target}${path}`, {
        method: 'POST',
        // None of the forwarded headers is a list.
        headers: rest as Record<string, string>,
        body: JSON.stringify(body),
      });
      response.writeHead(answer.status, passOn(answer.headers));
      if (change !== undefined) response.write(change(await answer.text()));
      else for await (const chunk of answer.body ?? []) response.write(chunk);
      response.end();
    } catch {
      // The target closed the connection.
      response.destroy();
    }
  });
}

function passOn(headers: Headers): Record<string, string> {
  const {
    'content-encoding': _encoding,
    'transfer-encoding': _transfer,
    'content-length': _length,
    ...rest
  } = Object.fromEntries(headers);
  return rest;
}
