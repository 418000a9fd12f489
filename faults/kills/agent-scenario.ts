import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent, createTool, type Hub, type ModelProvider } from 'hubline';
import { writeLedger } from '../workers/ledger.js';

/** Number of turns of each run. */
export const agentTurns = 20;

/**
 * Registers an agent whose runs have 20 turns. The process of run `n` kills itself when the model is called for the turn
 * after turn `n`, so that turn `n` is the last one that is recorded.
 *
 * @param runs numbers of the runs, separated by commas
 * @returns a function that emits the event of each run, which has an effect once
 */
export function agent(hub: Hub, ledger: string, runs: string): () => Promise<void> {
  const provider: ModelProvider = {
    async chat(messages) {
      const n = Number(messages.find(({ role }) => role === 'user')?.content);
      const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
      const killed = join(ledger, `killed-${n}`);
      if (turn === n + 1 && !existsSync(killed)) {
        writeFileSync(killed, '');
        process.kill(process.pid, 'SIGKILL');
      }
      writeLedger(ledger, `model ${n}`, String(turn));
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
    execute: async ({ n, turn }: { n: number; turn: number }) => writeLedger(ledger, `tool ${n}`, String(turn)),
  });
  const runner = createAgent({
    name: 'runner',
    systemPrompt: '',
    provider,
    model: { model: 'm' },
    tools: [note],
    maxIterations: agentTurns,
    tokenBudget: 1_000,
  });
  // One at a time: the death of a process must not interrupt the model call of another run.
  hub.event({ type: 'agent.asked', handler: runner.asHandler(), concurrency: 1, onSuccess: 'agent.answered' });
  hub.event<{ tokenUsage: { totalTokens: number } }>({
    type: 'agent.answered',
    handler: ({ payload }) => writeLedger(ledger, 'answered', String(payload.tokenUsage.totalTokens)),
  });
  return async () => {
    for (const n of runs.split(',')) await hub.emit('agent.asked', n, { dedupeId: n });
  };
}
