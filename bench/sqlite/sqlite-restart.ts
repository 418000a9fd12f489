import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createHub } from '../../dist/index.js';
import { sqliteTransport } from '../../dist/transports/sqlite/index.js';
import type { Row } from '../measuring/row.js';

const run = promisify(execFile);
const pending = 1_000_000;
const perCall = 1_000;

/** Measures a process that starts on a file with a million pending events, and handles all of them. */
export async function sqliteRestart(folder: string): Promise<Row[]> {
  const file = join(folder, 'restart.db');
  await fill(file);
  const script = `
    const { createHub } = await import(${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)});
    const { sqliteTransport } = await import(${JSON.stringify(new URL('../../dist/transports/sqlite/index.js', import.meta.url).href)});
    const peak = () => process.resourceUsage().maxRSS / 1024;
    const transport = sqliteTransport({ file: ${JSON.stringify(file)}, synchronous: 'normal' });
    const hub = createHub({ service: 'shop', transport, concurrency: 100 });
    let handled = 0;
    let first;
    hub.event({
      type: 'order.created',
      handler() {
        handled += 1;
        first ??= { ms: performance.now(), peak: peak() };
        if (handled < ${pending}) return;
        console.log(JSON.stringify([first.ms, first.peak, peak()]));
        process.exit(0);
      },
    });
    await hub.start();`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
  });
  const [ms = 0, atStart = 0, atEnd = 0]: readonly number[] = JSON.parse(stdout);
  const scenario = `SQLite: a process with ${pending.toLocaleString('en')} pending events`;
  return [
    {
      scenario: `${scenario}, until the first handler runs`,
      unit: 'ms',
      hubline: ms,
      target: { of: 'figure', limit: 'at most', value: 3_000 },
    },
    {
      scenario: `${scenario}, peak of its memory until then`,
      unit: 'MB',
      hubline: atStart,
      target: { of: 'figure', limit: 'at most', value: 300 },
    },
    { scenario: `${scenario}, peak of its memory while it handles them`, unit: 'MB', hubline: atEnd },
  ];
}

async function fill(file: string): Promise<void> {
  const hub = createHub({ service: 'web', transport: sqliteTransport({ file, synchronous: 'normal' }) });
  const created = hub.event<{ id: number }>({ type: 'order.created', subscribers: ['shop'] });
  await hub.start();
  for (let id = 0; id < pending; id += perCall) {
    const payloads = Array.from({ length: perCall }, (_, index) => ({ id: id + index }));
    await hub.emitMany(created, payloads);
  }
  await hub.stop();
}
