import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createHub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';
import { expect, it } from 'vitest';
import { programOf } from '../workers/program.js';
import { isLong } from '../workers/scene.js';
import { newFolder } from './sqlite-process.js';

it('a process that exits without stopping its hub, while another thread copies the log, ends as it asks', async () => {
  for (let count = 0; count < (isLong ? 40 : 4); count += 1) {
    const file = join(newFolder(), 'hub.db');
    const child = spawn(process.execPath, [programOf('sqlite-exit-worker'), file], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    expect(await once(child, 'exit')).toEqual([7, null]);
    const hub = createHub({ transport: sqliteTransport({ file }) });
    hub.event({ type: 'large' });
    await hub.start();
    const { received, completed, pending } = await hub.metrics('large');
    expect(received).toBeGreaterThan(0);
    expect(received).toBe(completed + pending);
    await hub.stop({ drainMs: 0 });
  }
});
