/** Process of the fault tests that exits at a random time while its log is copied again and again. */
import { createHub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';

const hub = createHub({ transport: sqliteTransport({ file: process.argv[2] ?? '', synchronous: 'normal' }) });
const large = { text: 'x'.repeat(50_000) };
// Twenty of them are some 250 pages of the log.
const exitAfter = 100 + Math.floor(Math.random() * 400);
let handled = 0;
hub.event({
  type: 'large',
  handler() {
    handled += 1;
    if (handled === exitAfter) process.exit(7);
    void hub.emit('large', large);
  },
});
await hub.start();
for (let count = 0; count < 20; count += 1) void hub.emit('large', large);
