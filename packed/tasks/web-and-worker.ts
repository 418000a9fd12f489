import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createHub, createWorkflow, defineWorkflow } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { z } from 'zod';

const { REDIS_URL: url = 'redis://127.0.0.1:6379' } = process.env;

// What both processes share.
const quote = defineWorkflow({
  name: 'quote',
  service: 'quotes',
  input: z.object({ item: z.string() }),
  output: z.object({ cents: z.number() }),
});

if (process.argv[2] === 'worker') {
  const hub = createHub({ service: 'quotes', transport: redisTransport({ url }) });
  hub.workflow(
    createWorkflow(quote, { run: ({ input, step }) => step.run('ask', () => ({ cents: input.item.length * 100 })) }),
  );
  await hub.start();
  process.send?.('ready');
  process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
} else {
  const worker = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), 'worker'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(worker, 'message');
  const hub = createHub({ service: 'web', transport: redisTransport({ url }) });
  await hub.start();
  const run = await hub.startWorkflow(quote, { item: 'teapot' });
  const { cents } = await run.result();
  console.log(`quoted ${cents.toFixed()} in another process`);
  await hub.stop();
  const exited = once(worker, 'exit');
  worker.kill('SIGTERM');
  console.log(`the worker exits with ${(await exited)[0]}`);
}
