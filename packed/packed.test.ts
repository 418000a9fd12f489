import { cp, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { brokenLinks, readDocuments } from '../examples/testing/documents.js';
import { startNode } from '../examples/testing/start-example.js';
import packageJson from '../package.json' with { type: 'json' };
import { importsOf } from '../scripts/package/published-files.js';
import { startPostgresServer } from '../scripts/postgres-server.js';
import { startRedisServer } from '../scripts/redis-server.js';
import { type ConsumerProject, createConsumerProject } from './consumer-project.js';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const tsc = here('../node_modules/.bin/tsc');

interface EntryPoint {
  /** Specifier in users' imports. */
  readonly specifier: string;
  /** Names that its source exports. */
  readonly names: readonly string[];
}

async function readEntryPoints(): Promise<EntryPoint[]> {
  const entries = Object.entries(packageJson.exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [{ path, file: target.default }],
  );
  return Promise.all(
    entries.map(async ({ path, file }) => {
      const source: object = await import(file.replace('./dist/', '../server/'));
      return { specifier: path.replace('.', 'hubline'), names: Object.keys(source).sort() };
    }),
  );
}

const forRedis = ['bullmq@6.7', 'ioredis@6'];
const forPostgres = 'pg@8';
const forSqlite = '@photostructure/sqlite@1.2';
/** The oldest version of TypeScript that README.md names: it infers less than the one that builds the library. */
const oldTypeScript = 'typescript@5.8';
const entryPoints = await readEntryPoints();
const names = Object.fromEntries(entryPoints.map(({ specifier, names }) => [specifier, names]));

let project: ConsumerProject;
beforeAll(async () => {
  project = await createConsumerProject();
});
afterAll(() => project.remove());

/** Type-checks a file against the package, its declarations included, and emits JavaScript. */
async function compile(
  file: string,
  moduleResolution: 'nodenext' | 'bundler',
  { compiler = tsc, skipLibCheck = false } = {},
): Promise<void> {
  const module = moduleResolution === 'bundler' ? 'esnext' : moduleResolution;
  const options = { module, moduleResolution, target: 'es2022', types: ['node'], strict: true, skipLibCheck };
  const config = `${moduleResolution}.json`;
  await writeFile(join(project.folder, config), JSON.stringify({ compilerOptions: options, files: [file] }));
  await project.run(compiler, '--project', config);
}

/** Runs a script and parses the JSON that it prints. */
async function runScript(file: string, source: string): Promise<unknown> {
  await writeFile(join(project.folder, file), source);
  const { stdout, stderr } = await project.run(process.execPath, file);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

const printNames = (load: 'await import' | 'require'): string => {
  const entries = entryPoints.map(({ specifier }) => `'${specifier}': Object.keys(${load}('${specifier}')).sort()`);
  return `console.log(JSON.stringify({ ${entries} }))`;
};

describe('with its dependencies only', () => {
  // Linked, as under pnpm: each package resolves only its own dependencies.
  beforeAll(() => project.install('--install-strategy=linked', '@types/node@20'));

  test('import returns every name of every entry point', async () => {
    expect(await runScript('names.js', printNames('await import'))).toEqual(names);
  });

  test('require returns every name of every entry point', async () => {
    expect(await runScript('names.cjs', printNames('require'))).toEqual(names);
  });

  test('no entry point loads another package before its first use', async () => {
    const alone = join(project.folder, 'alone/node_modules/hubline');
    await cp(await realpath(join(project.folder, 'node_modules/hubline')), alone, { recursive: true });
    expect(await runScript('alone/names.js', printNames('await import'))).toEqual(names);
  });

  test.each(['nodenext', 'bundler'] as const)('its types resolve without peers, under %s', async (moduleResolution) => {
    // The types of hubline/redis refer to ioredis.
    const withoutPeers = entryPoints.filter(({ specifier }) => specifier !== 'hubline/redis');
    const source = withoutPeers.map(({ specifier }, index) => `export * as entry${index} from '${specifier}';`);
    await writeFile(join(project.folder, 'entries.ts'), source.join('\n'));
    await compile('entries.ts', moduleResolution);
  });

  test('CommonJS can import its types', async () => {
    await writeFile(join(project.folder, 'common.cts'), `import { createHub } from 'hubline';\nvoid createHub;`);
    await compile('common.cts', 'nodenext');
  });

  test('npx hubline demo serves the dashboard of a shop', async () => {
    const bin = join(project.folder, 'node_modules/hubline/dist/cli/main.js');
    const shop = startNode([bin, 'demo', '--port', '0', '--rate', '50'], { cwd: project.folder, env: {} });
    const url = await shop.url;
    await vi.waitFor(async () => {
      const body = await (await fetch(`${url}api/events/order.created`)).json();
      expect(Object(body).completed).toBeGreaterThan(0);
    }, 60_000);
    expect(await shop.stop()).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('every relative link of its documents resolves inside the package', async () => {
    const folder = join(project.folder, 'node_modules/hubline');
    const documents = readDocuments(folder);
    const paths = documents.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['README.md', 'SECURITY.md', 'CHANGELOG.md', 'docs/events.md', 'examples/next/README.md']),
    );
    expect(brokenLinks(folder, documents)).toEqual([]);
  });

  test('imports only modules that an install provides: Node, its own, dependencies and optional peers', async () => {
    const { dependencies, peerDependencies } = packageJson;
    const provided = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies), 'hubline']);
    const folder = join(project.folder, 'node_modules/hubline/dist');
    const files = await readdir(folder, { recursive: true });
    const missing = new Map<string, string>();
    for (const file of files.filter((path) => /\.(js|d\.ts)$/.test(path))) {
      for (const specifier of importsOf(await readFile(join(folder, file), 'utf8'))) {
        const name = /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '';
        const isFound = /^(\.|node:)/.test(specifier) || builtinModules.includes(specifier) || provided.has(name);
        if (!isFound) missing.set(specifier, file);
      }
    }
    expect(missing).toEqual(new Map());
  });

  test('names the licenses of the packages whose code it contains', async () => {
    const dist = join(project.folder, 'node_modules/hubline/dist');
    const [library, page] = await Promise.all(
      ['THIRD-PARTY-LICENSES.txt', 'page/THIRD-PARTY-LICENSES.txt'].map((file) => readFile(join(dist, file), 'utf8')),
    );
    const vendors = ['@ai-sdk/anthropic', '@ai-sdk/google', '@ai-sdk/openai', '@ai-sdk/openai-compatible'];
    for (const name of [...vendors, '@ai-sdk/provider', '@ai-sdk/provider-utils', 'eventsource-parser', 'zod']) {
      expect(library).toContain(`\n${name} `);
    }
    expect(library).toContain('TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION');
    expect(page).toContain('\npreact ');
  });

  test('the provider of every vendor works', async () => {
    const mock = await LLMock.create({ port: 0, strict: true });
    onTestFinished(() => mock.stop());
    mock.onMessage('hello', { content: 'Hi there!' });
    const script = `
      import { AnthropicProvider, GeminiProvider, OpenAIProvider } from 'hubline/agents';
      const [apiKey, baseUrl] = ['key-of-a-test', '${mock.url}/v1'];
      const providers = [
        new OpenAIProvider({ apiKey, baseUrl, dialect: 'openai' }),
        new OpenAIProvider({ apiKey, baseUrl, api: 'responses' }),
        new OpenAIProvider({ apiKey, baseUrl }),
        new AnthropicProvider({ apiKey, baseUrl }),
        new GeminiProvider({ apiKey, baseUrl: baseUrl + 'beta' }),
      ];
      const answers = [];
      for (const provider of providers) {
        const { content } = await provider.chat([{ role: 'user', content: 'hello' }], { model: 'm' });
        let streamed = '';
        for await (const part of provider.chatStream([{ role: 'user', content: 'hello' }], { model: 'm' })) {
          streamed += part.content ?? '';
        }
        answers.push([content, streamed]);
      }
      console.log(JSON.stringify(answers));`;
    expect(await runScript('vendors.js', script)).toEqual(Array(5).fill(['Hi there!', 'Hi there!']));
  });

  test('contains no tests', async () => {
    const files = await readdir(join(project.folder, 'node_modules/hubline'), { recursive: true });
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts']));
    expect(files.filter((file) => /\.test\.|\.fixture\.|contract/.test(file))).toEqual([]);
  });

  test('the Redis transport names its missing packages at the start', async () => {
    const script = `
      import { createHub } from 'hubline';
      import { redisTransport } from 'hubline/redis';
      const hub = createHub({ transport: redisTransport() });
      const error = await hub.start().catch((thrown) => thrown);
      console.log(JSON.stringify([error.name, error.message]));`;
    expect(await runScript('without-peers.js', script)).toEqual([
      'MissingPackageError',
      `redisTransport needs ${forRedis.join(' ')}: npm install ${forRedis.join(' ')}`,
    ]);
  });

  test('the SQLite transport uses the SQLite of Node, or names its missing package', async () => {
    const script = `
      import { createHub } from 'hubline';
      import { sqliteTransport } from 'hubline/sqlite';
      const hub = createHub({ transport: sqliteTransport({ file: 'packed.db' }) });
      const end = await hub.start().then(() => [], (error) => [error.name, error.message]);
      await hub.stop();
      console.log(JSON.stringify(end));`;
    const isBuiltIn = process.getBuiltinModule('node:sqlite') !== undefined;
    expect(await runScript('without-sqlite.js', script)).toEqual(
      isBuiltIn ? [] : ['MissingPackageError', `sqliteTransport needs ${forSqlite}: npm install ${forSqlite}`],
    );
  });

  test('mcpTools names its missing package', async () => {
    const script = `
      import { mcpTools } from 'hubline/agents';
      const error = await mcpTools({ command: 'node' }).catch((thrown) => thrown);
      console.log(JSON.stringify([error.name, error.message]));`;
    expect(await runScript('without-mcp.js', script)).toEqual([
      'MissingPackageError',
      'mcpTools needs @modelcontextprotocol/sdk@1: npm install @modelcontextprotocol/sdk@1',
    ]);
  });
});

describe('with the peers of the transports', () => {
  beforeAll(() =>
    project.install('--install-strategy=linked', '@types/node@20', ...forRedis, forPostgres, forSqlite, oldTypeScript),
  );

  test('the oldest supported TypeScript infers the types of a program', async () => {
    await cp(here('consumer.ts'), join(project.folder, 'consumer.ts'));
    await compile('consumer.ts', 'nodenext', { compiler: join(project.folder, 'node_modules/.bin/tsc') });
  });

  test('a type-checked program that imports all entry points works', async () => {
    const program = await readFile(here('consumer.ts'), 'utf8');
    const imported = [...program.matchAll(/from '(hubline.*)'/g)].map(([, specifier]) => specifier);
    expect(imported.sort()).toEqual(entryPoints.map(({ specifier }) => specifier).sort());

    await writeFile(join(project.folder, 'consumer.ts'), program);
    for (const moduleResolution of ['bundler', 'nodenext'] as const) await compile('consumer.ts', moduleResolution);
    const server = await startRedisServer();
    onTestFinished(() => server.release());
    const postgres = await startPostgresServer();
    onTestFinished(() => postgres.release());
    const { stdout, stderr } = await project.run(process.execPath, 'consumer.js', server.url, postgres.url);
    expect(stderr).toBe('');
    const page = await readFile(here('../dist/page/index.html'), 'utf8');
    expect(JSON.parse(stdout)).toEqual({ count: 3, greeting: 'Hello, Ada!', page, stored: 'Ada', shipped: 'A-1' });
  });
});

describe('with the AI SDK', () => {
  beforeAll(() => project.install('--install-strategy=linked', '@types/node@20', 'ai@6', '@ai-sdk/provider@3'));

  test.each(['nodenext', 'bundler'] as const)('models have its types, under %s, and work', async (moduleResolution) => {
    await cp(here('ai-sdk.ts'), join(project.folder, 'ai-sdk.ts'));
    // Its own declarations refer to packages that it does not install.
    await compile('ai-sdk.ts', moduleResolution, { skipLibCheck: true });
    const { stdout } = await project.run(process.execPath, 'ai-sdk.js');
    expect(JSON.parse(stdout)).toEqual(['one', 'two', 'three']);
  });
});
