import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stepCountIs, streamText, tool } from 'ai';
import {
  asLanguageModel,
  createAgent,
  createTool,
  durableHandler,
  durableModel,
  durableTools,
  type HandlerCtx,
  type Hub,
  type ModelProvider,
} from 'hubline';
import { z } from 'zod';
import { readLedger, writeLedger } from '../workers/ledger.js';

/** Number of turns of each run. */
export const agentTurns = 20;

/** Number that is added to that of a run of the AI SDK. */
export const sdkRuns = 100;

/**
 * Registers an agent whose runs have 20 turns, and the same with the AI SDK. The process of run `n` kills itself when the
 * model is called for the turn after turn `n`, so that turn `n` is the last one that is recorded.
 *
 * @param runs numbers of the runs, separated by commas; those above 100 are runs of the AI SDK
 * @returns a function that emits the event of each run, which has an effect once
 */
export function agent(hub: Hub, ledger: string, runs: string): () => Promise<void> {
  const provider: ModelProvider = {
    async chat(messages) {
      const n = Number(messages.find(({ role }) => role === 'user')?.content);
      const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
      const killed = join(ledger, `killed-${n}`);
      if (turn === (n % sdkRuns) + 1 && !existsSync(killed)) {
        writeFileSync(killed, '');
        process.kill(process.pid, 'SIGKILL');
      }
      writeLedger(ledger, `model ${n}`, String(turn));
      const texts = messages.filter(({ content }) => content === `text ${n}`);
      writeLedger(ledger, `texts ${n}`, String(texts.length));
      const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
      if (turn === agentTurns) return { content: 'done', usage, finishReason: 'stop' };
      const toolCalls = [{ id: '', name: 'note', arguments: JSON.stringify({ n, turn }) }];
      return { content: '', toolCalls, usage, finishReason: 'tool_calls' };
    },
  };
  const note = createTool({
    name: 'note',
    description: 'Writes a note',
    parameters: { type: 'object' },
    execute: async ({ n, turn }: { n: number; turn: number }, { eventId }) => {
      // The process that reads it first is the one that dies.
      if (n < sdkRuns && turn === n) await hub.send(eventId, `text ${n}`);
      writeLedger(ledger, `tool ${n}`, String(turn));
    },
  });
  const runner = createAgent({
    name: 'runner',
    systemPrompt: '',
    provider,
    model: { model: 'm', maxTokens: 1 },
    tools: [note],
    maxIterations: agentTurns,
    tokenBudget: 1_000,
    spendLimits: [{ max: 100_000, perMs: 3_600_000, unit: 'tokens' }],
  });
  // One at a time: the death of a process must not interrupt the model call of another run.
  hub.event({ type: 'agent.asked', handler: runner.asHandler(), concurrency: 1, onSuccess: 'agent.answered' });
  const model = asLanguageModel(provider, 'm');
  hub.event({
    type: 'sdk.asked',
    concurrency: 1,
    onSuccess: 'agent.answered',
    handler: durableHandler(async (ctx: HandlerCtx<string>) => {
      const note = tool({
        inputSchema: z.object({ n: z.number(), turn: z.number() }),
        execute: async ({ n, turn }) => writeLedger(ledger, `tool ${n}`, String(turn)),
      });
      const stream = streamText({
        model: durableModel(model, ctx, { tokenBudget: 1_000 }),
        tools: durableTools({ note }, ctx),
        prompt: ctx.payload,
        stopWhen: stepCountIs(agentTurns),
      });
      return { tokenUsage: await stream.totalUsage };
    }),
  });
  const numbers = runs.split(',');
  const [ofAgent, ofSdk] = [false, true].map((isSdk) => numbers.filter((n) => Number(n) > sdkRuns === isSdk));
  hub.event<{ tokenUsage: { totalTokens: number } }>({
    type: 'agent.answered',
    handler: async ({ payload }) => {
      writeLedger(ledger, 'answered', String(payload.tokenUsage.totalTokens));
      const answered = readLedger(ledger).filter(({ what }) => what === 'answered');
      // Not before: the death of a process must not interrupt a run of the other kind.
      if (answered.length < (ofAgent?.length ?? 0)) return;
      for (const n of ofSdk ?? []) await hub.emit('sdk.asked', n, { dedupeId: n });
    },
  });
  return async () => {
    for (const n of ofAgent ?? []) await hub.emit('agent.asked', n, { dedupeId: n });
  };
}
