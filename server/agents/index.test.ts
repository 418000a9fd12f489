import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const built = `${root}node_modules/.cache/import-test`;
const run = promisify(execFile);

// Tests the built files, in a process that has loaded nothing else.
beforeAll(async () => {
  const options = ['--config', 'server/vite.config.ts', '--outDir', built, '--logLevel', 'warn'];
  await run(process.execPath, ['node_modules/vite/bin/vite.js', 'build', ...options], { cwd: root });
});

afterAll(() => rm(built, { recursive: true, force: true }));

async function evaluate(script: string): Promise<string> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: root });
  return stdout;
}

const logResolved = `
  import { writeSync } from 'node:fs';
  export async function resolve(specifier, context, next) {
    const resolved = await next(specifier, context);
    writeSync(1, resolved.url + '\\n');
    return resolved;
  }`;

async function packagesLoadedBy(script: string, entry = 'agents/index.js'): Promise<Set<string>> {
  const hook = `data:text/javascript,${encodeURIComponent(logResolved)}`;
  const urls = await evaluate(`
    import { register } from 'node:module';
    register(${JSON.stringify(hook)});
    const agents = await import(${JSON.stringify(`${built}/${entry}`)});
    ${script}`);
  const packages = [...urls.matchAll(/node_modules\/(?!\.cache)((?:@[^/]+\/)?[^/\n]+)/g)].map(([, name = '']) => name);
  return new Set(packages);
}

test.each([
  ['hubline', 'index.js'],
  ['hubline/agents', 'agents/index.js'],
])('importing %s and creating an agent loads no package', async (_, entry) => {
  const script = `
    const provider = new agents.OpenAIProvider({ apiKey: 'k' });
    agents.createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' } });`;
  const created = await packagesLoadedBy(script, entry);
  expect([...created]).toEqual([]);
});

test('the first call loads the package of its vendor', async () => {
  const called = await packagesLoadedBy(`
    const provider = new agents.AnthropicProvider({ apiKey: 'k', baseUrl: 'http://127.0.0.1:1/v1' });
    await provider.chat([{ role: 'user', content: 'x' }], { model: 'm' }).catch(() => {});`);
  expect(called).toContain('@ai-sdk/anthropic');
  expect(called).not.toContain('@ai-sdk/openai');
  expect(called).not.toContain('@ai-sdk/google');
});
