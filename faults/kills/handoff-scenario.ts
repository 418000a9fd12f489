import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AgentHandlerResult,
  ConversationMemory,
  createAgent,
  createAgentRegistry,
  createTool,
  type Hub,
  type ModelProvider,
} from 'hubline';
import { writeLedger } from '../workers/ledger.js';

/** Agent of each model call of a run. */
export const agentsOfTurns = ['triage', 'billing', 'billing', 'support', 'support'];

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };

/**
 * Registers an agent whose runs are handed over twice. The process of run `n` kills itself when the model is called for
 * turn `n + 1`, so that turn `n` is the last one that is recorded.
 *
 * @param variant numbers of the runs, separated by commas, after `memory` if the agents have one
 * @returns a function that emits the event of each run, which has an effect once
 */
export function handOver(hub: Hub, ledger: string, variant: string): () => Promise<void> {
  const parts = variant.split(',');
  const runs = parts.filter((part) => part !== 'memory');
  const config = parts.length > runs.length ? { memory: new ConversationMemory({ transport: hub.transport }) } : {};
  const registry = createAgentRegistry();
  const agentOf = (name: string, call: { name: string; arguments: string }) => {
    const provider: ModelProvider = {
      async chat(messages) {
        const n = Number(messages.find(({ role }) => role === 'user')?.content);
        const turn = messages.filter(({ role }) => role === 'assistant').length + 1;
        const killed = join(ledger, `killed-${n}`);
        if (turn === n + 1 && !existsSync(killed)) {
          writeFileSync(killed, '');
          process.kill(process.pid, 'SIGKILL');
        }
        writeLedger(ledger, `model ${n}`, `${turn} ${name} ${messages[0]?.content}`);
        if (turn === agentsOfTurns.length) return { content: 'done', usage, finishReason: 'stop' };
        const isLast = agentsOfTurns[turn] !== name;
        const toolCalls = [isLast ? { id: '', ...call } : { id: '', name: 'note', arguments: JSON.stringify({ n }) }];
        return { content: '', toolCalls, usage, finishReason: 'tool_calls' };
      },
    };
    const note = createTool({
      name: 'note',
      description: 'Writes a note',
      parameters: { type: 'object' },
      execute: async ({ n }: { n: number }) => writeLedger(ledger, `tool ${n}`, name),
    });
    return createAgent({
      name,
      systemPrompt: name,
      provider,
      model: { model: 'm' },
      tools: [note],
      registry,
      ...config,
    });
  };
  const handTo = (agentName: string) => ({ name: 'handoff', arguments: JSON.stringify({ agentName }) });
  const triage = agentOf('triage', handTo('billing'));
  registry.register(agentOf('billing', handTo('support')), { handoff: true });
  registry.register(agentOf('support', handTo('triage')), { handoff: true });
  // One at a time: the death of a process must not interrupt the model call of another run.
  hub.event({ type: 'asked', handler: triage.asHandler(), concurrency: 1, onSuccess: 'answered' });
  hub.event<AgentHandlerResult>({
    type: 'answered',
    handler: ({ payload: { agentName, tokenUsage } }) =>
      writeLedger(ledger, 'answered', `${agentName} ${tokenUsage.totalTokens}`),
  });
  return async () => {
    for (const n of runs) await hub.emit('asked', n, { dedupeId: n });
  };
}
