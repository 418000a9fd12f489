import type {
  AgentOverview,
  AgentRunsBody,
  Counts,
  RunIntrospection,
  WorkflowOverview,
} from '../../server/dashboard/protocol.js';

/** Returns a workflow with runs in every state. */
export function workflowAnswer(metrics: Counts, now: number): WorkflowOverview {
  return {
    name: 'fulfil',
    description: 'From the payment to the parcel at the door.',
    trigger: 'payment.captured',
    onFailure: 'refund.requested',
    steps: ['pick', 'pack', 'label the parcel', 'ship'].map((name) => ({ name, kind: 'step' })),
    metrics: { ...metrics, completed: metrics.completed - 2, pending: 2, active: 1, suspended: 1 },
    runs: [
      runAnswer('5f0c9e1a-run-1', 'active', now, [1_200, 14_000]),
      runAnswer('6a1d8b22-run-2', 'completed', now, [900, 21_000, 3_100, 4_000]),
      runAnswer('7b2e7c33-run-3', 'failed', now, [1_000, 17_000, 2_900]),
      runAnswer('8c3f6d44-run-4', 'suspended', now, [1_400, 15_500, 3_300]),
      runAnswer('9d405e55-run-5', 'completed', now, [800, 26_000, 2_700, 500]),
    ],
  };
}

function runAnswer(
  id: string,
  status: RunIntrospection['status'],
  now: number,
  durations: readonly number[],
): RunIntrospection {
  const names = ['pick', 'pack', 'label the parcel', 'ship'];
  const last = durations.length;
  let endedAt = now - 90_000;
  return {
    id,
    service: 'shop',
    requestId: `request-of-${id}`,
    status,
    attempt: 1,
    acceptedAt: now - 90_000,
    ...((status === 'completed' || status === 'failed') && { endedAt: now - 60_000 }),
    ...(status === 'failed' && { error: { name: 'FatalError', message: 'the carrier does not know the address' } }),
    steps: names.map((name, index) => {
      const durationMs = durations[index];
      const startedAt = endedAt;
      endedAt += durationMs ?? 0;
      return {
        name,
        kind: 'run',
        status: index < last ? 'completed' : index > last ? 'waiting' : status === 'suspended' ? 'waiting' : status,
        ...(index === last &&
          status === 'suspended' && { waitsFor: { since: startedAt, event: { type: 'parcel.scanned' } } }),
        ...(durationMs !== undefined && { startedAt, endedAt, durationMs }),
      };
    }),
  };
}

const HOUR_MS = 3_600_000;

/** Returns an agent with every field that the page shows. */
export function agentAnswer(now: number): AgentOverview {
  const current = Math.floor(now / HOUR_MS) * HOUR_MS;
  return {
    ...AGENT,
    active: 0,
    suspended: 0,
    begun: 243,
    approvalsWaiting: 0,
    hours: Array.from({ length: 24 }, (_, index) => {
      const runs = 8 + ((index * 7) % 5);
      return { at: current - (23 - index) * HOUR_MS, runs, tokens: runs * 1_848, cost: runs * 0.0058 };
    }),
  };
}

/** Returns the recent runs of an agent. */
export function agentRunsAnswer(agent: string, now: number): AgentRunsBody {
  const runs = Array.from({ length: 6 }, (_, index): AgentRunsBody['runs'][number] => {
    const id = `3c9d5e7${index}-2b8e-4f6a-9d1c-5a7b9c3e1f0${index}`;
    const startedAt = now - (index + 1) * 340_000;
    const [promptTokens, completionTokens] = [1_640 + 40 * index, 200 + 12 * index];
    return {
      ...{ id, kind: 'event', type: 'ticket.created', service: 'shop', requestId: id, step: '', steps: [] },
      ...{ status: index === 4 ? 'failed' : 'completed', startedAt, lastAt: startedAt + 2_400, turns: 2, toolCalls: 1 },
      usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, cost: 0.0058 },
      ...(index === 4 && { error: { name: 'ModelError', message: 'the vendor is overloaded' } }),
    };
  });
  return { protocol: 2, now, agent, runs };
}

const AGENT: AgentOverview = {
  name: 'triage',
  description: 'Sorts tickets by subject and urgency.',
  model: 'small-1',
  tools: ['find_order'],
  delegates: ['drafter'],
  runs: { completed: 240, failed: 3 },
  tokenUsage: {
    promptTokens: 398_000,
    completionTokens: 51_000,
    totalTokens: 449_000,
    cachedTokens: 120_000,
    cost: 1.42,
  },
  durationMs: { p50: 900, p95: 3_400, p99: 6_000, max: 9_100 },
};
