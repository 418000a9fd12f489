import {
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type RequestListener,
  request,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Response as received: not decompressed, redirects not followed. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Server for one test, with a client. */
export interface TestServer {
  readonly port: number;
  /** Sends the path unchanged. */
  get(path: string, headers?: OutgoingHttpHeaders): Promise<Reply>;
  send(method: string, path: string, headers?: OutgoingHttpHeaders): Promise<Reply>;
}

/** Starts a server on a free port until the test ends. */
export async function serve(listener: RequestListener): Promise<TestServer> {
  const server = createServer(listener);
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A server that listens on a port has an address of this shape.
  const { port } = server.address() as AddressInfo;
  return clientOf(port);
}

/** Returns a client of the server on a local port. */
function clientOf(port: number): TestServer {
  const send: TestServer['send'] = (method, path, headers = {}) =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () =>
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks) }),
        );
      });
      sent.on('error', reject);
      sent.end();
    });
  return { port, send, get: (path, headers) => send('GET', path, headers) };
}

/** Parses the body of a reply as JSON. */
export function jsonOf(reply: Reply): unknown {
  return JSON.parse(reply.body.toString());
}
