import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Agent, tool as openAiTool, Runner, setTracingDisabled, Usage } from '@openai/agents';
import { type Contender, compare, median } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import type { Row } from '../measuring/row.js';
import { add, callOf, description, name, toolTurns, turnsOfRun } from './adding-agent.js';
import { aiSdk, bareLoop, hubline, numbers, turnsOf } from './turn-contenders.js';

/** Measures a turn of an agent with an instant model: five turns with a tool call each, and an answer. */
export async function agentTurn(): Promise<Row[]> {
  const rows = await compare({
    scenario: `a turn of an agent: ${toolTurns} with a tool call, then an answer`,
    unit: 'us per turn',
    times: 12_000,
    figure: (turnsPerSecond) => 1e6 / turnsPerSecond,
    hubline: hubline(),
    peers: [{ ...bareLoop(), target: { of: 'figure', limit: 'at most', value: 10 } }, aiSdk(), openAiAgents()],
  });
  return [...rows, ...(await youngTurn())];
}

const processes = 9;

/** Measures the first 600 runs of a process, which V8 has not optimised yet. */
async function youngTurn(): Promise<Row[]> {
  const figures: Record<string, number[]> = { hubline: [], bare: [], ai: [] };
  for (let round = 0; round < processes; round += 1) {
    for (const [contender, measured] of Object.entries(figures)) measured.push(await inNewProcess(contender));
  }
  const { hubline: own = [], bare = [], ai = [] } = figures;
  const row = { scenario: 'a turn in a young process (first 600 runs)', unit: 'us per turn', hubline: median(own) };
  return [
    { ...row, peer: { name: bareLoop().name, figure: median(bare) } },
    {
      ...row,
      peer: { name: aiSdk().name, figure: median(ai) },
      target: { of: 'ratio', limit: 'at most', value: 1 / 12 },
    },
  ];
}

const script = fileURLToPath(new URL('young-turn.ts', import.meta.url));

/** Returns the microseconds per turn that a new process reports. */
async function inNewProcess(contender: string): Promise<number> {
  const [figure] = await once(fork(script, [contender]), 'message');
  return Number(figure);
}

function openAiAgents(): Contender {
  setTracingDisabled(true);
  let turn = 0;
  const agent = new Agent({
    name: 'adder',
    instructions: 'You add.',
    tools: [openAiTool({ name, description, parameters: numbers, execute: add })],
    model: {
      async getResponse() {
        const call = callOf(turn++ % turnsOfRun);
        return {
          usage: new Usage({ inputTokens: 10, outputTokens: 5, totalTokens: 15, requests: 1 }),
          output: [
            call === undefined
              ? {
                  type: 'message',
                  role: 'assistant',
                  status: 'completed',
                  content: [{ type: 'output_text', text: 'done' }],
                }
              : { type: 'function_call', callId: call.id, name, status: 'completed', arguments: call.arguments },
          ],
        };
      },
      getStreamedResponse: () => {
        throw new Error('not used');
      },
    },
  });
  const runner = new Runner({ tracingDisabled: true });
  const run = turnsOf(async () => (await runner.run(agent, 'Add')).finalOutput ?? '');
  return { name: withVersion('@openai/agents'), run };
}
