import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
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
  // It ends what hangs: a busy machine takes long to start a process and to load a package.
  const options = { cwd: root, timeout: 150_000 };
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], options);
  return stdout;
}

const logResolved = `
  import { writeSync } from 'node:fs';
  export async function resolve(specifier, context, next) {
    const resolved = await next(specifier, context);
    writeSync(1, resolved.url + '\\n');
    return resolved;
  }`;

/** Returns the URLs of the modules that an entry point and a script load. */
function modulesLoadedBy(script: string, entry: string): Promise<string> {
  const hook = `data:text/javascript,${encodeURIComponent(logResolved)}`;
  return evaluate(`
    import { register } from 'node:module';
    register(${JSON.stringify(hook)});
    const agents = await import(${JSON.stringify(`${built}/${entry}`)});
    ${script}`);
}

/** Returns the packages that a script loads, and the chunks with the code of packages, such as `ai-sdk-openai`. */
async function packagesLoadedBy(script: string, entry = 'agents/index.js'): Promise<string[]> {
  const urls = await modulesLoadedBy(script, entry);
  const packages = /node_modules\/(?!\.cache)((?:@[^/]+\/)?[^/\n]+)|chunks\/((?:ai-sdk|zod)[^.]*)\.js/g;
  return [...new Set([...urls.matchAll(packages)].map(([, name, chunk]) => name ?? chunk ?? ''))].sort();
}

test.each([
  ['hubline', 'index.js'],
  ['hubline/agents', 'agents/index.js'],
])('importing %s and creating an agent loads no package', async (_, entry) => {
  const script = `
    const provider = new agents.OpenAIProvider({ apiKey: 'k' });
    agents.createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' } });`;
  expect(await packagesLoadedBy(script, entry)).toEqual([]);
});

test('the first call loads the code of its vendor, and no package', async () => {
  const called = await packagesLoadedBy(`
    const provider = new agents.AnthropicProvider({ apiKey: 'k', baseUrl: 'http://127.0.0.1:1/v1' });
    await provider.chat([{ role: 'user', content: 'x' }], { model: 'm' }).catch(() => {});`);
  expect(called).toEqual(['ai-sdk', 'ai-sdk-anthropic', 'zod']);
});

test('importing hubline/agents loads neither the code of a call nor a slow module of Node', async () => {
  const urls = await modulesLoadedBy('', 'agents/index.js');
  expect(urls).toContain('chunks/core.js');
  expect(urls).not.toMatch(/language-model-call|mcp-sdk|node:(crypto|child_process|net|http|fs|worker_threads)\n/);
});

test('a module that importing hubline/agents loads is ASCII', async () => {
  const urls = (await modulesLoadedBy('', 'agents/index.js')).split('\n').filter((url) => url.includes('/chunks/'));
  const texts = await Promise.all(urls.map((url) => readFile(new URL(url), 'utf8')));
  expect(texts.map((text) => text.match(/[\u0080-\uffff]/))).toEqual(urls.map(() => null));
});

const hang = `new Promise(() => {})`;
const callHang = `{ content: '', toolCalls: [{ id: 'c', name: 'hang', arguments: '{}' }], finishReason: 'tool_calls' }`;
const usage = `{ promptTokens: 1, completionTokens: 1, totalTokens: 2 }`;

test.each([
  ['nothing but a tool that never settles is left', `async () => ({ ...${callHang}, usage: ${usage} })`, '', 'waiting'],
  [
    'nothing but such a tool is left, with a memory',
    `async () => ({ ...${callHang}, usage: ${usage} })`,
    'memory: new agents.ConversationMemory({ transport: agents.createHub().transport }),',
    'waiting',
  ],
  ['the time limit of a silent model is over', `() => ${hang}`, '', 'ModelTimeoutError'],
])('a process ends as soon as %s', async (_, chat, options, expected) => {
  const ended = await evaluate(`
    const agents = await import(${JSON.stringify(`${built}/index.js`)});
    const tool = { name: 'hang', description: '', parameters: {}, execute: () => ${hang} };
    const agent = agents.createAgent({
      name: 'a',
      systemPrompt: '',
      provider: { chat: ${chat} },
      model: { model: 'm', timeoutMs: ${expected === 'waiting' ? 600_000 : 100} },
      tools: [tool],
      ${options}
    });
    let end = 'waiting';
    agent.run('x', { conversationId: 'c' }).then(({ error }) => { end = error.name; });
    process.on('exit', () => console.log(end));`);
  expect(ended.trim()).toBe(expected);
});
