import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createHub } from 'hubline';
import { sqliteTransport } from 'hubline/sqlite';

const [role = 'parent'] = process.argv.slice(2);
const hub = createHub({
  service: 'mail',
  transport: sqliteTransport({ file: process.env['HUB_FILE'] ?? 'no-service.db' }),
});
hub.event<{ to: string }>({
  type: 'mail.due',
  retry: { maxAttempts: 3, initialDelayMs: 1 },
  handler: ({ payload }) => {
    if (role === 'child') process.kill(process.pid, 'SIGKILL');
    console.log(`mail to ${payload.to}`);
  },
});
if (role === 'child') {
  await hub.start();
  await hub.emitMany('mail.due', [{ to: 'ada' }, { to: 'bob' }]);
} else {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), 'child'], {
    stdio: 'inherit',
  });
  const [, signal] = await once(child, 'exit');
  console.log(`the first process ended by ${signal}`);
  await hub.start();
  await hub.stop();
  const { received, completed, pending } = await hub.metrics('mail.due');
  console.log(JSON.stringify({ received, completed, pending }));
}
