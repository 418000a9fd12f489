import {
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type RequestListener,
  request,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** An answer as it came over the wire: not decompressed, no redirect followed. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A server for one test, and a client of it. */
export interface TestServer {
  readonly port: number;
  /** Sends the path as it stands, without normalising it. */
  get(path: string, headers?: OutgoingHttpHeaders): Promise<Reply>;
  send(method: string, path: string, headers?: OutgoingHttpHeaders): Promise<Reply>;
}

/** Serves on a free port until the test ends. */
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

/** A client of whatever listens on a port of this machine. */
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

/** The JSON of an answer's body. */
export function jsonOf(reply: Reply): unknown {
  return JSON.parse(reply.body.toString());
}
