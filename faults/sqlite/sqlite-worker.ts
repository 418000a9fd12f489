/** Process of the fault tests that owns a file: emits, handles, and is killed. */
import { createHub, HubError } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';
import { writeLedger } from '../workers/ledger.js';
import { scenarios } from '../workers/scenarios.js';

const [file = '', ledger = '', first = '0', emitting = ''] = process.argv.slice(2);
const hub = createHub({ service: 'shop', transport: sqliteTransport({ file, maxCrashes: 1_000 }), concurrency: 20 });
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
/** Emits until the disk is full, and then until it has space again. */
const fill = async (): Promise<void> => {
  const filler = 'x'.repeat(20_000);
  let isFull = false;
  for (;;) {
    n += 1;
    const own = n;
    try {
      await hub.emit('work', { n: own, filler });
      writeLedger(ledger, 'accepted', String(own));
      if (isFull) break;
    } catch (error) {
      writeLedger(ledger, `refused ${HubError.is(error) ? error.code : ''}`, String(own));
      if (!isFull) process.send?.('full');
      isFull = true;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  process.send?.('space');
};
if (emitting === 'fill') void fill();
if (emitting === 'emit') await Promise.all(Array.from({ length: 5 }, emitForEver));

// Causes before their effects: those of an event that has ended are pending by then, or have ended too.
const types = ['work', 'settled', 'ordered', 'workflow\u001fflow', 'flow.ended'];
process.on('message', () => {
  void (async () => {
    const all: number[][] = [];
    for (const type of types) {
      const [found] = await hub.transport.counts.get([type]);
      if (found === undefined) throw new Error('counts() returned nothing for the type');
      const { received, completed, failed, pending } = found.total;
      all.push([received, completed, failed, pending]);
    }
    process.send?.(all);
  })();
});
