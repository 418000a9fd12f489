/**
 * Serves, in a process of its own, the dashboard of an idle hub of 1,000 types, and beside it the bare minimum:
 * a `node:http` server that sends bytes which it was told. Tells the port of each to the process that forked it.
 *
 * @module
 */
import { createServer, type RequestListener } from 'node:http';
import { createDashboardHandler, createHub } from '../dist/index.js';
import { listenLocally } from '../scripts/listen-locally.js';

/** What the bare server answers. */
export interface BareAnswer {
  readonly status: number;
  /** Names and values in turn. */
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
