import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { type TraceRow, traceRows } from '../../../ui/views/trace-rows.js';
import { createAgent } from '../../agents/create-agent.js';
import type { ModelProvider } from '../../agents/model/model-provider.js';
import { createTool } from '../../agents/tools/tool.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger, type Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import type { Hub } from '../hub.js';
import type { RunCtx } from '../runs/step.js';
import { createWorkflow } from '../runs/workflow.js';
import {
  approvalTimeoutMs,
  type Call,
  isCause,
  maxAttempts,
  type Program,
  program,
  retryMs,
  type Shown,
  type Statement,
  simulate,
  toolOf,
} from './trace-model.fixture.js';

/** Input of a run: its statements, and the path of the statement that started it. */
interface Input {
  readonly statements: readonly Statement[];
  readonly path: string;
}

/** Question to the agent: the turns of its model. */
interface Question {
  readonly label: string;
  readonly turns: readonly (readonly Call[])[];
}

/** Arguments of a call. */
interface Arguments {
  readonly label: string;
  readonly isBroken?: boolean;
}

/** State outside the hub. */
interface World {
  isRepaired: boolean;
  /** Paths of the steps in which the process ended. */
  readonly crashed: Set<string>;
  /** Ids of the approvals by the label of the call. */
  readonly approvals: Map<string, string>;
}

const broken = (): never => {
  throw new Error('broken');
};

async function perform({ input: { statements, path }, step }: RunCtx<Input>, world: World): Promise<void> {
  for (const [index, statement] of statements.entries()) {
    const label = `${path}/${index}`;
    if (statement.do === 'run') {
      const { fails, delayMs } = statement;
      const retry = { maxAttempts, initialDelayMs: delayMs, jitter: false };
      const run = ({ attempt }: { readonly attempt: number }): void => {
        if (attempt <= fails) throw new Error('busy');
      };
      await step.run('run', run, { retry }).catch(() => {});
    } else if (statement.do === 'sleep') await step.sleep('sleep', statement.ms);
    else if (statement.do === 'wait') {
      await step.waitForEvent('wait', 'signal', { key: label, timeoutMs: statement.timeoutMs });
    } else if (statement.do === 'invoke') {
      await step.invoke('invoke', 'child', { statements: statement.program, path: label }).catch(() => {});
    } else if (statement.do === 'emit') await step.emit('emit', 'emitted', statement.fails);
    else if (statement.do === 'ask') {
      await step.emit('ask', 'asked', JSON.stringify({ label, turns: statement.turns }));
    } else if (statement.do === 'crash') {
      await step.run('crash', () =>
        world.crashed.has(label) ? undefined : new Promise(() => world.crashed.add(label)),
      );
    } else if (statement.inStep) {
      await step.run('broken', () => (world.isRepaired ? undefined : broken()), { retry: { maxAttempts: 1 } });
    } else if (!world.isRepaired) broken();
    if (isCause(statement)) await step.sleep('gap', 2);
  }
}

/** Calls the tools that its input asks for, turn by turn. */
const rehearsed: ModelProvider = {
  async chat(messages) {
    const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
    const { label, turns } = JSON.parse(messages.find(({ role }) => role === 'user')?.content ?? '') as Question;
    const turn = messages.filter(({ role }) => role === 'assistant').length;
    const toolCalls = (turns[turn] ?? []).map((call, ordinal) => ({
      id: `call ${turn} ${ordinal}`,
      name: toolOf(call),
      arguments: JSON.stringify({ ...call, label: `${label} ${turn} ${ordinal}` }),
    }));
    return toolCalls.length === 0
      ? { content: 'done', usage, finishReason: 'stop' }
      : { content: '', toolCalls, usage, finishReason: 'tool_calls' };
  },
};

const lookUp = createTool({
  name: 'look_up',
  description: 'Looks up.',
  parameters: { type: 'object' },
  execute: async ({ isBroken }: Arguments) => (isBroken === true ? broken() : 'found'),
});

const refund = createTool({
  name: 'refund',
  description: 'Refunds.',
  parameters: { type: 'object' },
  execute: async (_: Arguments) => 'refunded',
  needsApproval: true,
});

const clerk = createAgent({
  name: 'clerk',
  systemPrompt: 'You answer.',
  model: { model: 'rehearsed' },
  provider: rehearsed,
  tools: [lookUp, refund],
});

async function startProcess(transport: Transport, world: World): Promise<Hub> {
  const hub = createHub({ transport, logger: silentLogger });
  hub.event<string>({ type: 'signal', key: (label) => label });
  hub.event<number>({
    type: 'emitted',
    retry: { maxAttempts, initialDelayMs: retryMs, jitter: false },
    handler: ({ payload, attempt }) => {
      if (attempt <= payload) throw new Error('busy');
    },
  });
  const requested = hub.event<{ approvalId: string; arguments: unknown }>({
    type: 'approval.requested',
    handler: ({ payload }) => void world.approvals.set((payload.arguments as Arguments).label, payload.approvalId),
  });
  const decided = hub.event<{ approvalId: string; approved: boolean }>({
    type: 'approval.decided',
    key: ({ approvalId }) => approvalId,
  });
  const approvals = { requested, decided, timeoutMs: approvalTimeoutMs };
  hub.event({ type: 'asked', handler: clerk.asHandler({ approvals }) });
  const run = (ctx: RunCtx<Input>): Promise<void> => perform(ctx, world);
  hub.workflow(createWorkflow({ name: 'child', run }));
  hub.workflow(createWorkflow({ name: 'program', run }));
  await hub.start();
  return hub;
}

function shown({ depth, kind, name, state, waitedMs, bars }: TraceRow, start: number): Shown {
  return [depth, kind, name, state, waitedMs, (bars.at(-1)?.to ?? Number.NaN) - start];
}

/** Runs a program, and returns the rows of its request. */
async function traceOf({ statements, cancelAtMs }: Program): Promise<readonly Shown[]> {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const world: World = { isRepaired: false, crashed: new Set(), approvals: new Map() };
  const start = clock.now();
  let hub = await startProcess(transport, world);
  const { runId } = await hub.startWorkflow('program', { statements, path: '' }, { requestId: 'r' });
  for (const { at, do: action, label } of simulate({ statements, cancelAtMs }).actions) {
    await clock.advance(start + at - clock.now());
    if (action === 'signal') await hub.emit('signal', label);
    else if (action === 'crash') {
      const next = await startProcess(transport, world);
      await hub.stop({ drainMs: 0 });
      hub = next;
    } else if (action === 'cancel') await hub.cancel(runId);
    else if (action === 'replay') {
      world.isRepaired = true;
      await hub.replay(runId);
    } else {
      const approvalId = world.approvals.get(label);
      await hub.emit('approval.decided', { approvalId, approved: action === 'approve' });
    }
  }
  await clock.advance(100_000);
  const { events } = await hub.getRequest('r');
  await hub.stop({ drainMs: 0 });
  const rows = traceRows(events, clock.now());
  for (const { bars } of rows) for (const { from, to } of bars) expect(to).toBeGreaterThanOrEqual(from);
  return rows.map((row) => shown(row, start));
}

it('the tree and the waterfall of a random run are those of its model', async () => {
  // The first check of arguments loads the validator, which takes real time.
  await traceOf({ statements: [{ do: 'ask', turns: [[{ isBroken: false }]] }], cancelAtMs: null });
  await fc.assert(
    fc.asyncProperty(program, async (input) => {
      expect(await traceOf(input)).toEqual(simulate(input).rows);
    }),
    { numRuns: runs(60) },
  );
});
