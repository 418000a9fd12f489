import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createHub, createWorkflow, type RunCtx } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';

const [role = 'parent'] = process.argv.slice(2);
const hub = createHub({
  service: 'shop',
  transport: sqliteTransport({ file: process.env['HUB_FILE'] ?? 'killed-workflow.db' }),
});
const fulfil = createWorkflow({
  name: 'fulfil',
  run: async ({ input, step }: RunCtx<{ order: string }>) => {
    const parcel = await step.run('pack', () => {
      console.log(`${role} packs ${input.order}`);
      return `P-${input.order}`;
    });
    return step.run('ship', () => {
      if (role === 'child') process.kill(process.pid, 'SIGKILL');
      return `${role} ships ${parcel}`;
    });
  },
});
hub.workflow(fulfil);
if (role === 'child') {
  await hub.start();
  await hub.startWorkflow(fulfil, { order: 'A-1' }, { dedupeId: 'A-1' });
} else {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), 'child'], {
    stdio: 'inherit',
  });
  await once(child, 'exit');
  await hub.start();
  // The same order again: a web process that was not answered repeats its request.
  const run = await hub.startWorkflow(fulfil, { order: 'A-1' }, { dedupeId: 'A-1' });
  console.log(await run.result());
  await hub.stop();
}
