import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import { compare } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';
import { openLoad } from './http-load.js';
import type { BareAnswer } from './http-server.js';

const server = fileURLToPath(new URL('http-server.ts', import.meta.url));

interface Scenario {
  readonly scenario: string;
  readonly path: string;
  /** `true` if the client sends the ETag and receives a 304. */
  readonly known: boolean;
  readonly ratio: number;
}

const scenarios: readonly Scenario[] = [
  { scenario: 'GET the page', path: '/', known: false, ratio: 0.8 },
  { scenario: 'GET /api/events/:type', path: '/api/events/event.7', known: false, ratio: 0.6 },
  { scenario: 'GET /api/introspection of 1,000 types, unchanged', path: '/api/introspection', known: true, ratio: 0.7 },
];

/** Measures requests to the dashboard next to a bare server that sends the same bytes. */
export async function http(): Promise<Row[]> {
  const dashboard = await startServer('dashboard');
  const rows: Row[] = [];
  for (const { scenario, path, known, ratio } of scenarios) {
    const headers: Record<string, string> = { Host: 'localhost', 'Accept-Encoding': 'gzip, br' };
    if (known) headers['If-None-Match'] = etagOf(await ask(dashboard.port, path, headers));
    const bare = await startServer('bare', JSON.stringify(await ask(dashboard.port, path, headers)));
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const request = `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
    const [own, other] = [await openLoad(dashboard.port, request), await openLoad(bare.port, request)];
    rows.push(
      ...(await compare({
        scenario,
        unit: 'requests/s',
        times: 16_000,
        hubline: own.run,
        peers: [
          {
            name: 'bare node:http, same bytes',
            run: other.run,
            target: { of: 'ratio', limit: 'at least', value: ratio },
          },
        ],
      })),
    );
    for (const load of [own, other]) load.close();
    bare.process.kill();
  }
  dashboard.process.kill();
  return rows;
}

async function startServer(...args: string[]): Promise<{ readonly process: ChildProcess; readonly port: number }> {
  const child = fork(server, args);
  const [port] = await once(child, 'message');
  return { process: child, port: Number(port) };
}

async function ask(port: number, path: string, headers: Record<string, string>): Promise<BareAnswer> {
  const sent = httpRequest({ port, path, headers, host: '127.0.0.1', agent: false }).end();
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = await response.toArray();
  // Node adds these headers itself.
  const own = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding']);
  const raw: string[] = response.rawHeaders;
  const kept = raw.filter((_, index) => !own.has((raw[index - (index % 2)] ?? '').toLowerCase()));
  return { status: response.statusCode, headers: kept, bodyInBase64: Buffer.concat(chunks).toString('base64') };
}

function etagOf({ headers }: BareAnswer): string {
  return headers[headers.findIndex((name) => name.toLowerCase() === 'etag') + 1] ?? '';
}
