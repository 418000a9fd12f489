/**
 * Server process of the HTTP suite: the dashboard of an idle hub with 1,000 types, or a bare `node:http` server
 * that sends fixed bytes. Sends its port to the parent process.
 *
 * @module
 */
import { createServer, type RequestListener } from 'node:http';
import { createDashboardHandler, createHub } from '../../dist/index.js';
import { listenLocally } from '../../scripts/listen-locally.js';

/** Response of the bare server. */
export interface BareAnswer {
  readonly status: number;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly bodyInBase64: string;
}

async function listen(listener: RequestListener): Promise<void> {
  process.send?.(await listenLocally(createServer(listener)));
}

if (process.argv[2] === 'bare') {
  const { status, headers, bodyInBase64 }: BareAnswer = JSON.parse(process.argv[3] ?? '');
  const body = Buffer.from(bodyInBase64, 'base64');
  await listen((_, res) => {
    res.writeHead(status, [...headers]);
    res.end(body);
  });
} else {
  const hub = createHub({ service: 'bench' });
  for (let n = 0; n < 1_000; n += 1) hub.event({ type: `event.${n}`, handler: () => {} });
  await hub.start();
  for (let n = 0; n < 1_000; n += 1) await hub.emit(`event.${n}`, null);
  await listen(createDashboardHandler(hub));
}
