import { describe, expect, test, vi } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger, type TransportManager } from '../../transports/transport.js';
import { createAgent } from '../create-agent.js';
import type { Message } from '../model/message.js';
import { noUsage } from '../model/token-usage.js';
import { createTool } from '../tools/tool.js';
import { type AgentMemory, ConversationMemory } from './conversation-memory.js';
import { expectWellPaired } from './well-paired.fixture.js';

function transportOf(clock: FakeClock): TransportManager {
  return memoryTransport({ clock }).connect({ service: 's', logger: silentLogger });
}

const textsOf = (messages: readonly Message[]): string[] => messages.map(({ content }) => content);

/** Hides the identity of a store, so that a memory over it is like one of another process. */
function otherProcess(transport: TransportManager): TransportManager {
  const { kv, clock } = transport;
  const own: TransportManager['kv'] = {
    get: (key) => kv.get(key),
    set: (key, value, options) => kv.set(key, value, options),
    compareAndSet: (key, expected, value, options) => kv.compareAndSet(key, expected, value, options),
    delete: (key) => kv.delete(key),
    increment: (key, by, ttlMs) => kv.increment(key, by, ttlMs),
    append: (key, values, options) => kv.append(key, values, options),
    range: (key, from, to) => kv.range(key, from, to),
    now: () => kv.now(),
  };
  // A memory uses these two only.
  return { kv: own, clock } as TransportManager;
}

/** Custom memory without a lock. */
function listMemory(): AgentMemory {
  const messages: Message[] = [];
  return {
    addMessage: async (_agent, _run, message) => void messages.push(message),
    getMessages: async () => [...messages],
    clear: async () => {},
  };
}

describe('runs of one conversation', () => {
  const clock = createFakeClock();
  const transport = transportOf(clock);
  test.each<[string, () => [AgentMemory, AgentMemory]]>([
    ['one memory', () => [new ConversationMemory({ transport })].flatMap((memory) => [memory, memory]) as never],
    [
      'memories of two processes',
      () => [transport, otherProcess(transport)].map((each) => new ConversationMemory({ transport: each })) as never,
    ],
    ['a memory without a lock', () => [listMemory()].flatMap((memory) => [memory, memory]) as never],
  ])('do not interleave, with %s', async (name, memories) => {
    const [one, two] = memories();
    const agentOf = (memory: AgentMemory, script: readonly ScriptEntry[]) => {
      const provider = scriptedProvider(script, { clock });
      return createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, memory });
    };
    const options = { conversationId: name };
    const first = agentOf(one, [{ content: 'A1', delayMs: 1_000 }]).run('Q1', options);
    await clock.settle();
    const second = agentOf(two, ['A2']).run('Q2', options);
    await clock.advance(5_000);
    await Promise.all([first, second]);
    expect(textsOf(await one.getMessages('a', name))).toEqual(['Q1', 'A1', 'Q2', 'A2']);
    expect(textsOf((await second).messages)).toEqual(['Q1', 'A1', 'Q2', 'A2']);
  });

  test('wait for a crashed process until its lease expires', async () => {
    const memory = new ConversationMemory({ transport: otherProcess(transport) });
    const crashed = new ConversationMemory({
      // Its clock stands still, so it never renews its lease.
      transport: { ...otherProcess(transport), clock: createFakeClock() },
    });
    await crashed.lock('a', 'crashed');
    const locked = vi.fn();
    void memory.lock('a', 'crashed').then(locked);
    await clock.advance(29_000);
    expect(locked).not.toHaveBeenCalled();
    await clock.advance(2_500);
    expect(locked).toHaveBeenCalled();
  });

  test('of which one attempt lives at a time take the lease of an earlier attempt over, not that of another run', async () => {
    const attemptOf = (owner: string) =>
      new ConversationMemory({ transport: otherProcess(transport) }).lock('a', 'resumed', undefined, owner);
    const killed = await attemptOf('run 1');
    const resumed = await attemptOf('run 1');
    const other = vi.fn();
    void attemptOf('run').then(other);
    await clock.advance(60_000);
    expect(other).not.toHaveBeenCalled();
    // Of one that was not killed after all.
    await killed();
    await clock.advance(2_000);
    expect(other).not.toHaveBeenCalled();
    await resumed();
    await clock.advance(2_000);
    expect(other).toHaveBeenCalled();
  });

  test('of two durable runs with the same idempotencyKey wait for each other', async () => {
    const { hub, clock: hubClock } = testHub();
    const provider = scriptedProvider([{ content: 'A1', delayMs: 1_000 }, 'A2'], { clock: hubClock });
    const memories = [0, 1].map(() => new ConversationMemory({ transport: otherProcess(hub.transport) }));
    const workflows = memories.map((memory, index) => {
      const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, memory });
      return hub.workflow(
        createWorkflow({
          name: `w${index}`,
          run: async (hubCtx) =>
            (await agent.run('Q', { hubCtx, conversationId: 'c', idempotencyKey: 'request' })).output,
        }),
      );
    });
    await hub.start();
    const runs = await Promise.all(workflows.map((workflow) => hub.startWorkflow(workflow, null)));
    await hubClock.advance(500);
    expect(provider.calls).toHaveLength(1);
    await hubClock.advance(10_000);
    await Promise.all(runs.map((run) => run.result()));
    expect(textsOf((await memories[0]?.getMessages('a', 'c')) ?? [])).toEqual(['Q', 'A1']);
    await hub.stop();
  });

  test('leave the lease to the attempt that took it over, even if they release it at that moment', async () => {
    const store = otherProcess(transport);
    const memoryOf = (kv: TransportManager['kv']) => new ConversationMemory({ transport: { ...store, kv } });
    let resumed: (() => Promise<void>) | undefined;
    const takeOver = async (): Promise<void> => {
      resumed ??= await memoryOf({ ...store.kv }).lock('a', 'fenced', undefined, 'run 1');
    };
    // Another process takes the lease over between the calls of a release.
    const release = await memoryOf({
      ...store.kv,
      get: async (key) => {
        const value = await store.kv.get(key);
        await takeOver();
        return value;
      },
    }).lock('a', 'fenced', undefined, 'run 1');
    await release();
    await takeOver();
    const other = vi.fn();
    void memoryOf({ ...store.kv })
      .lock('a', 'fenced')
      .then(other);
    await clock.advance(20_000);
    expect(other).not.toHaveBeenCalled();
    await resumed?.();
    await clock.advance(2_000);
    expect(other).toHaveBeenCalled();
  });

  test('stop waiting when they are aborted, and let the next one through', async () => {
    const memory = new ConversationMemory({ transport });
    const release = await memory.lock('a', 'aborted');
    const controller = new AbortController();
    const waiting = memory.lock('a', 'aborted', controller.signal);
    const next = memory.lock('a', 'aborted');
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await release();
    await clock.advance(100);
    await (await next)();
  });

  test('keep their lease while they run', async () => {
    const memory = new ConversationMemory({ transport });
    const release = await memory.lock('a', 'long');
    const locked = vi.fn();
    void new ConversationMemory({ transport: otherProcess(transport) }).lock('a', 'long').then(locked);
    await clock.advance(600_000);
    expect(locked).not.toHaveBeenCalled();
    await release();
    await clock.advance(1_000);
    expect(locked).toHaveBeenCalled();
  });
});

test('equal call ids of alternating exchanges do not swap their results', async () => {
  const memory = new ConversationMemory({ transport: transportOf(createFakeClock()) });
  const add = (id: string, index: number, message: Message): Promise<void> =>
    memory.addMessage('a', 'c', { ...message, exchange: { id, index, turns: 0, toolCalls: 0, usage: noUsage() } });
  const request: Message = {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: 'call_1', name: 't', arguments: '{}' }],
  };
  await add('one', 0, { role: 'user', content: 'Q1' });
  await add('two', 0, { role: 'user', content: 'Q2' });
  await add('one', 1, request);
  await add('two', 1, request);
  await add('two', 2, { role: 'tool', toolCallId: 'call_1', content: 'of two' });
  await add('one', 2, { role: 'tool', toolCallId: 'call_1', content: 'of one' });
  const provider = scriptedProvider(['ok']);
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, memory });
  await agent.run('Q3', { conversationId: 'c' });
  const sent = provider.calls[0]?.messages ?? [];
  expectWellPaired(sent);
  expect(textsOf(sent)).toEqual(['Q1', '', 'of one', 'Q2', '', 'of two', 'Q3']);
  expect(new Set(sent.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id))).size).toBe(2);
});

test('a requestId of a log selects no conversation if a conversationId is given', async () => {
  const memory = new ConversationMemory({ transport: transportOf(createFakeClock()) });
  const tool = createTool({ name: 't', description: '', parameters: {}, execute: async () => 1 });
  const provider = scriptedProvider(['one', 'two']);
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, memory, tools: [tool] });
  const { runId } = await agent.run('Q1', { requestId: 'log-1', conversationId: 'chat' });
  await agent.run('Q2', { requestId: 'log-1', conversationId: 'another chat' });
  expect(runId).toBe('log-1');
  expect(textsOf(provider.calls[1]?.messages as Message[])).toEqual(['Q2']);
  await expect(agent.run('Q3', { conversationId: '\u0000hub:event' })).rejects.toThrow('without control characters');
});

test('list returns the conversations of an agent that exist', async () => {
  const clock = createFakeClock();
  const memory = new ConversationMemory({ transport: transportOf(clock), ttlSeconds: 60 });
  const say = (agent: string, id: string) => memory.addMessage(agent, id, { role: 'user', content: 'x' });
  await say('a', 'one');
  await say('a', 'two');
  await say('b', 'three');
  await say('a', 'one');
  await memory.clear('a', 'two');
  expect(await memory.list('a')).toEqual(['one']);
  expect(await memory.list('b')).toEqual(['three']);
  for (let minute = 0; minute < 10; minute++) {
    await clock.advance(50_000);
    await say('a', 'one');
  }
  expect(await memory.list('a')).toEqual(['one']);
  await clock.advance(60_000);
  expect(await memory.list('a')).toEqual([]);
});

test('a conversation that is cleared and started again and again displaces no other from the list', async () => {
  const { hub } = testHub();
  const memory = new ConversationMemory({ transport: hub.transport });
  await memory.addMessage('a', 'quiet', { role: 'user', content: 'x' });
  for (let count = 0; count <= 10_000; count++) {
    await memory.addMessage('a', 'busy', { role: 'user', content: 'x' });
    await memory.clear('a', 'busy');
  }
  await memory.addMessage('a', 'busy', { role: 'user', content: 'x' });
  expect(await memory.list('a')).toEqual(['quiet', 'busy']);
});

test('a process with a smaller ttlSeconds loses no conversation from the list', async () => {
  const { hub, clock } = testHub();
  const [long, short] = [86_400, 60].map(
    (ttlSeconds) => new ConversationMemory({ transport: hub.transport, ttlSeconds }),
  );
  await long?.addMessage('a', 'long', { role: 'user', content: 'x' });
  await short?.addMessage('a', 'short', { role: 'user', content: 'x' });
  await clock.advance(600_000);
  expect(await short?.list('a')).toEqual(['long']);
});
