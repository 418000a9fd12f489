/** Worker process of the fault tests, started by `startWorker`. */
import { fileURLToPath } from 'node:url';
import { createHub } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { sqliteTransport } from 'hubline/sqlite';
import { scenarios } from './scenarios.js';
import { parseWorkerOptions } from './worker-options.js';

const { scenario, url, prefix, ledger, variant, clockSkewMs, maxCrashes, lockDurationMs } = parseWorkerOptions(
  process.argv[2],
);
if (clockSkewMs !== 0) {
  const now = Date.now.bind(Date);
  Date.now = () => now() + clockSkewMs;
}
const register = scenarios.get(scenario);
if (register === undefined) throw new Error(`no scenario ${scenario}`);

const transport = url.startsWith('file:')
  ? sqliteTransport({ file: fileURLToPath(url), maxCrashes })
  : redisTransport({ url, prefix, lockDurationMs, stalledIntervalMs: 500, maxCrashes });
const service = variant.startsWith('web') ? 'web' : 'shop';
const hub = createHub({ service, transport, concurrency: 20 });
const afterStart = register(hub, ledger, variant);
process.on('SIGTERM', () => {
  void hub.stop({ drainMs: 1_000 }).then(() => process.exit(0));
});
// The parent process is gone, so nothing else would end this one.
process.on('disconnect', () => process.exit(1));
await hub.start();
await afterStart?.();
process.send?.('ready');
