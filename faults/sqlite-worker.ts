/** Process of the fault tests that owns a file: emits, handles, and is killed. */
import { createHub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';
import { writeLedger } from './ledger.js';
import { scenarios } from './scenarios.js';

const [file = '', ledger = '', first = '0', emitting = ''] = process.argv.slice(2);
const hub = createHub({ service: 'shop', transport: sqliteTransport({ file }), concurrency: 20 });
for (const name of ['work', 'flow']) scenarios.get(name)?.(hub, ledger, '');
process.on('disconnect', () => process.exit(1));
await hub.start();
process.send?.('ready');

let n = Number(first);
const emitForEver = async (): Promise<never> => {
  for (;;) {
    n += 1;
    const own = n;
    await hub.emit(own % 10 === 0 ? 'ordered' : 'work', { n: own });
    writeLedger(ledger, 'accepted', String(own));
    // So that handlers run between the acceptances.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};
if (emitting === 'emit') await Promise.all(Array.from({ length: 5 }, emitForEver));

process.on('message', () => {
  void Promise.all(['work', 'settled', 'ordered', 'flow.ended'].map((type) => hub.metrics(type))).then((metrics) =>
    process.send?.(metrics.map(({ received, completed, failed, pending }) => [received, completed, failed, pending])),
  );
});
