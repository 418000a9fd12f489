import { execFile } from 'node:child_process';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { documents, readDocuments } from '../examples/testing/documents.js';
import { proofs } from '../examples/testing/proofs.js';
import { startNode } from '../examples/testing/start-example.js';
import { freePort } from '../scripts/listen-locally.js';
import { type PostgresServer, startPostgresServer } from '../scripts/postgres-server.js';
import { type RedisServer, startRedisServer } from '../scripts/redis-server.js';
import { type ConsumerProject, createConsumerProject } from './consumer-project.js';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** A task of a new user's first hours, the program in `tasks/` that does it, and all that it prints. */
interface Task {
  readonly task: string;
  readonly file: string;
  readonly prints: string;
}

/** The proofs of the package, and the programs in `tasks/`: with the first example of the README they are 26. */
const tasks: readonly Task[] = [
  ...proofs.map(({ claim, file, prints }) => ({ task: claim, file: file.replace(/\.ts$/, ''), prints })),
  {
    task: 'refuse a payload, and a misspelt type',
    file: 'refused-payload',
    prints: `paid 700
payload.cents
event type "order.payed" is not registered: did you mean "order.paid"?`,
  },
  {
    task: 'replay a failed event',
    file: 'replayed-failure',
    prints: `A-1: the bank is closed, attempt 3
charged A-1
{"received":2,"completed":1,"failed":1,"pending":0,"retried":2}`,
  },
  {
    task: 'accept an order once, however often it is sent',
    file: 'accepted-once',
    prints: `packing A-1
click 1: accepted
click 2: known
click 3: known`,
  },
  {
    task: 'keep the order per customer',
    file: 'order-per-customer',
    prints: '{"ada":[1,2,3],"bob":[1,2,3]} 2 at once',
  },
  { task: 'share the limit of a vendor', file: 'limited-vendor', prints: 'at once: 2\nafter a minute: 4' },
  {
    task: 'set a schedule per customer, tested with a fake clock',
    file: 'schedule-per-customer',
    prints: '2026-01-05T06:00:00.000Z ada\n2026-01-05T07:00:00.000Z bob',
  },
  { task: 'insert many events at once', file: 'batch', prints: 'inserting 3 rows\n2 completed, 1 failed' },
  {
    task: 'run steps and child runs in parallel',
    file: 'parallel-steps',
    prints: '{"boxes":["CUP","POT"],"cents":600}\nnothing was ordered',
  },
  { task: 'cancel a run', file: 'cancelled-run', prints: 'true\ncancelled: the customer withdrew\nfailed' },
  {
    task: 'call a workflow of another process, on Redis',
    file: 'web-and-worker',
    prints: 'quoted 600 in another process\nthe worker exits with 0',
  },
  {
    task: 'commit an order and its event together, on Postgres',
    file: 'order-and-event',
    prints: '{"stored":["A-2"],"packed":["A-2"]}',
  },
  { task: 'get a typed answer from an agent with a tool', file: 'agent-with-tool', prints: 'SHIPPED calm\nfind_order' },
  {
    task: 'let a clerk approve a call',
    file: 'approved-tool',
    prints: 'a clerk is asked about refund\nrefunded 9900 of A-1\nThe money is on its way.',
  },
  {
    task: 'stream an answer to a browser',
    file: 'streamed-answer',
    prints: 'text/event-stream ["It leaves ","tomorrow."]',
  },
  {
    task: 'mount the dashboard in Express, with a password',
    file: 'express-dashboard',
    prints: '401 200 text/html; charset=utf-8 true',
  },
  { task: 'mount the dashboard on the Fetch API, with a token', file: 'fetch-dashboard', prints: '401 401 200 200' },
  {
    task: 'answer readiness probes, and drain on SIGTERM',
    file: 'readiness',
    prints: '503 not-started\n200 ready\n503 draining\n{"released":0,"overdue":0}',
  },
  {
    task: 'read of a failure without a logger',
    file: 'default-logs',
    prints: 'hubline: event failed: Error: no money',
  },
];

/** Commands of the documents that users of the package follow. Those of the repository stand in README.md alone. */
const commands = documents
  .filter(({ path }) => path.startsWith('docs/') || path === 'README.md')
  .flatMap(({ path, fences }) => {
    const shell = fences.filter(({ language }) => language === 'sh');
    return (path === 'README.md' ? shell.slice(0, 1) : shell).map(({ code }) => ({ path, code }));
  })
  .flatMap(({ path, code }) => code.split('\n').map((command) => ({ at: path, command })));
const installed = commands
  .filter(({ command }) => command.startsWith('npm install '))
  .flatMap(({ command }) => command.split(' ').slice(2))
  .filter((name) => name !== 'hubline');

const strictest = {
  module: 'nodenext',
  target: 'es2022',
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
};

let project: ConsumerProject;
let redis: RedisServer;
let postgres: PostgresServer;
beforeAll(async () => {
  project = await createConsumerProject();
  // All that the documents say to install, and what users of Express and TypeScript have.
  const own = ['express@5', '@types/express@5', '@types/node@20', '@types/pg@8'];
  const servers = Promise.all([startRedisServer(), startPostgresServer()]);
  await project.install(...new Set([...installed, ...own]));
  [redis, postgres] = await servers;
  await cp(here('tasks'), project.folder, { recursive: true });
  await cp(inPackage('hubline/examples/proofs'), join(project.folder, 'proofs'), { recursive: true });
  const files = [...(await readdir(here('tasks'))), ...proofs.map(({ file }) => file)];
  await writeFile(join(project.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: strictest, files }));
  await project.run(process.execPath, here('../node_modules/typescript/bin/tsc'));
});
afterAll(async () => {
  await Promise.all([redis.release(), postgres.release(), project.remove()]);
});

interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Node in the project. A program that hangs is ended after a minute. */
function runNode(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Output> {
  const options = {
    cwd: project.folder,
    env: { ...process.env, REDIS_URL: redis.url, DATABASE_URL: postgres.url, ...env },
    timeout: 60_000,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

const inPackage = (path: string): string => join(project.folder, 'node_modules', path);
const runHubline = (args: readonly string[]): Promise<Output> =>
  runNode([inPackage('hubline/dist/cli/main.js'), ...args]);

test('every program is a task', async () => {
  const files = (await readdir(here('tasks'))).filter((file) => file !== 'seed.ts');
  expect(files.sort()).toEqual(
    tasks
      .slice(proofs.length)
      .map(({ file }) => `${file}.ts`)
      .sort(),
  );
});

test.concurrent.each(tasks)('$task', async ({ file, prints }) => {
  expect(await runNode([`${file}.js`])).toEqual({ code: 0, stderr: '', stdout: expect.stringContaining(prints) });
});

test('the first example of the README runs with tsx, and shows its dashboard', async () => {
  const [first] =
    readDocuments(inPackage('hubline'))
      .find(({ path }) => path === 'README.md')
      ?.fences.slice(1) ?? [];
  await writeFile(join(project.folder, 'hello.mts'), `${first?.code}\n`);
  const hello = startNode([inPackage('tsx/dist/cli.mjs'), 'hello.mts'], {
    cwd: project.folder,
    env: { PORT: String(await freePort()) },
  });
  const url = await hello.url;
  const ticket = async (): Promise<unknown> => (await fetch(`${url}api/events/ticket.opened`)).json();
  await expect.poll(ticket).toMatchObject({ received: 1, completed: 1 });
  expect(await hello.stop()).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringContaining('Shipped') });
});

describe('the commands of the documents', () => {
  const isOf = (start: string) => commands.filter(({ command }) => command.startsWith(start));

  beforeAll(async () => {
    expect(await runNode(['seed.js'])).toEqual({ code: 0, stdout: 'seeded\n', stderr: '' });
    await cp(inPackage('hubline/examples/agents/agent.ts'), join(project.folder, 'agent.mts'));
  });

  test.each(isOf('npx hubline '))('$command, of $at', async ({ command }) => {
    const [, , ...words] = command
      .replaceAll(/redis:\/\/\S+/g, redis.url)
      .replaceAll(/postgres:\/\/\S+/g, postgres.url)
      .split(' ');
    // A person at a terminal confirms. A hub with dead letters is a failing one, which the exit code says too.
    const { code, stdout, stderr } = await runHubline(words[0] === 'replay' ? [...words, '--yes'] : words);
    expect([code, stderr]).toEqual(words[0] === 'status' ? [4, 'The hub is failing.\n'] : [0, '']);
    expect(stdout).not.toBe('');
  });

  test('npx hubline COMMAND, in the text of every document', async () => {
    const texts = await Promise.all(documents.map(({ path }) => readFile(here(`../${path}`), 'utf8')));
    const named = texts.flatMap((text) =>
      [...text.matchAll(/`npx hubline ([a-z][a-z-]*)/g)].map(([, name = '']) => name),
    );
    const { stdout } = await runHubline(['--help']);
    const known = [...stdout.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name);
    expect(known).toEqual(expect.arrayContaining([...new Set(named)]));
  });

  test('NAME=value npx tsx agent.mts', async () => {
    const mock = await LLMock.create({ port: 0, strict: true });
    onTestFinished(() => mock.stop());
    mock.on({ hasToolResult: true }, { content: 'It is late.' });
    mock.onMessage('Bergen', { toolCalls: [{ name: 'time', arguments: '{"timeZone":"Europe/Oslo"}' }] });
    const withKey = commands.filter(({ command }) => command.includes(' npx tsx '));
    expect(withKey).not.toEqual([]);
    for (const { command } of withKey) {
      const words = command.split(' ');
      const own = Object.fromEntries(words.filter((word) => word.includes('=')).map((word) => word.split('=')));
      const env = { ...own, OPENAI_BASE_URL: `${mock.url}/v1` };
      const { stdout } = await runNode([inPackage('tsx/dist/cli.mjs'), words.at(-1) ?? ''], env);
      expect(stdout).toMatch(/^completed, \d+ tokens: It is late\.\n$/);
    }
  });

  test('curl, of the dashboard that npx hubline demo serves', async () => {
    const bin = inPackage('hubline/dist/cli/main.js');
    const shop = startNode([bin, 'demo', '--port', '0', '--rate', '50'], { cwd: project.folder, env: {} });
    const address = await shop.url;
    const requests = isOf('curl http://127.0.0.1:4000/');
    expect(requests).not.toEqual([]);
    for (const { command } of requests) {
      const url = command.replace('curl http://127.0.0.1:4000/', address);
      await expect
        .poll(async () => Object(await (await fetch(url)).json()).completed, { timeout: 60_000 })
        .toBeGreaterThan(0);
    }
    expect(await shop.stop()).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('no other command', () => {
    const others = commands.filter(
      ({ command }) => !/^npm install |^npx hubline | npx tsx |^curl http:\/\/127\.0\.0\.1:4000\//.test(command),
    );
    // It is sent to the reader's own server.
    expect(others.map(({ at }) => at)).toEqual(['docs/ingest.md']);
  });
});
