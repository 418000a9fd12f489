import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it went over the wire. */
export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** A real HTTP server in the place of a vendor. */
export interface WireServer {
  readonly url: string;
  readonly requests: readonly WireRequest[];
  close(): Promise<void>;
}

/** Answers each request with `answer`, and keeps what came. */
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
  // A server that listens on a port has this kind of address.
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
 * Passes each request on to `target`, so that what was sent can be looked at as it was.
 *
 * @param change what to make of an answer's body
 * @param refuse why a request is to be answered with 400 and not passed on
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
        // None of the headers that are passed on is a list.
        headers: rest as Record<string, string>,
        body: JSON.stringify(body),
      });
      response.writeHead(answer.status, passOn(answer.headers));
      if (change !== undefined) response.write(change(await answer.text()));
      else for await (const chunk of answer.body ?? []) response.write(chunk);
      response.end();
    } catch {
      // The target broke off: so does this.
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
