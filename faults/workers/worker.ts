/** Worker process of the fault tests, started by `startWorker`. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createHub, type Transport } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { redisTransport } from 'hubline/redis';
import { sqliteTransport } from 'hubline/sqlite';
import { blobOptions } from '../kills/large-outputs.js';
import { scenarios } from './scenarios.js';
import { parseWorkerOptions } from './worker-options.js';

const { scenario, url, prefix, ledger, variant, clockSkewMs, maxCrashes, lockDurationMs, workForMs } =
  parseWorkerOptions(process.argv[2]);
if (clockSkewMs !== 0) {
  const now = Date.now.bind(Date);
  Date.now = () => now() + clockSkewMs;
}
const register = scenarios.get(scenario);
if (register === undefined) throw new Error(`no scenario ${scenario}`);

function createTransport(): Transport {
  if (url.startsWith('file:')) return sqliteTransport({ file: fileURLToPath(url), maxCrashes });
  if (url.startsWith('postgres:')) {
    return postgresTransport({
      connectionString: url,
      schema: prefix,
      lockDurationMs,
      pollIntervalMs: 500,
      maxCrashes,
    });
  }
  return redisTransport({ url, prefix, lockDurationMs, stalledIntervalMs: 500, maxCrashes });
}

const transport = createTransport();
const service = variant.startsWith('web') ? 'web' : 'shop';
const blobs = scenario === 'large' ? blobOptions(ledger) : {};
const hub = createHub({ service, transport, concurrency: 20, ...blobs });
const afterStart = register(hub, ledger, variant);
process.on('SIGTERM', () => {
  void hub.stop({ drainMs: 1_000 }).then(() => process.exit(0));
});
// The parent process is gone, so nothing else would end this one.
process.on('disconnect', () => process.exit(1));
if (workForMs > 0) {
  let isOver = false;
  const working = hub.work({ forMs: workForMs, idleMs: 200 }).finally(() => {
    isOver = true;
  });
  while (!isOver && !(await hub.ready()).isReady) await delay(10);
  process.send?.('ready');
  await working;
  process.exit(0);
}
await hub.start();
await afterStart?.();
process.send?.('ready');
