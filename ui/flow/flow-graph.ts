import type { EventOverview, PeriodCounts, WorkflowOverview } from '../../server/dashboard/protocol.js';
import type { Schedule } from '../api/decode-introspection.js';
import { prefixOf } from '../events/event-groups.js';

/** Kind of a node of the flow map. */
export type FlowKind = 'event' | 'workflow' | 'schedule' | 'group';

/** Counts of a node in the last 5 minutes, and its state now. */
export interface FlowCounts {
  readonly received: number;
  readonly completed: number;
  readonly failed: number;
  /** Events and runs that have not ended, apart from those that are suspended. */
  readonly pending: number;
  /** Runs that wait and hold no process. */
  readonly suspended: number;
}

/** Event type, workflow, schedule or group of them. */
export interface FlowNode extends FlowCounts {
  readonly id: string;
  readonly kind: FlowKind;
  readonly name: string;
  /** Service that handles it; empty if none does. */
  readonly service: string;
  readonly isPaused: boolean;
  /** It needs attention, apart from failures. */
  readonly needsAttention: boolean;
  /** Next due time of a schedule, in epoch milliseconds. */
  readonly dueAt?: number | undefined;
  /** Number of event types and workflows in a group; 1 of others. */
  readonly size: number;
  /** Counts since the start, whose growth moves the dots. */
  readonly total: Omit<FlowCounts, 'pending' | 'suspended'>;
}

/** Way that events take. */
export interface FlowEdge {
  readonly from: string;
  readonly to: string;
  readonly relation: 'trigger' | 'success' | 'failure' | 'complete' | 'invoke' | 'schedule';
  /** Events that took it in the last 5 minutes; `null` if that is not counted. */
  readonly count: number | null;
}

export interface FlowGraph {
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
}

/** Event type or workflow: what follows it, and the counts that the map shows. */
type FlowItem = {
  readonly [Name in 'onSuccess' | 'onFailure' | 'onComplete' | 'paused']?: EventOverview[Name] | undefined;
} & {
  readonly metrics: Pick<
    EventOverview['metrics'],
    'received' | 'completed' | 'failed' | 'cancelled' | 'pending' | 'suspended'
  >;
  readonly recent?: { readonly last5Min: PeriodCounts };
  readonly needsAttention?: boolean;
};

/** Registrations from which a graph is made. */
export interface FlowSource {
  readonly events: readonly (FlowItem & { readonly type: string })[];
  readonly workflows: readonly WorkflowOverview[];
  readonly schedules: readonly Schedule[];
  /** Service that handles each event type and workflow, by `flowId`. */
  readonly serviceOf: ReadonlyMap<string, string>;
}

/** Returns true for a node that fails, waits for a person, or is paused. */
export function isTroubled(node: FlowNode | undefined): boolean {
  return node !== undefined && (node.failed > 0 || node.needsAttention || node.isPaused);
}

/** Number of nodes from which they are grouped by prefix. */
export const MAX_NODES = 200;

/** Returns the identity of a node. */
export function flowId(kind: FlowKind, name: string): string {
  return `${kind} ${name}`;
}

/** Returns what can follow what: triggers, follow-up events, child runs and schedules. More than 200 nodes are grouped by prefix. */
export function flowGraph(source: FlowSource): FlowGraph {
  const graph = wholeGraph(source);
  return graph.nodes.length > MAX_NODES ? groupByPrefix(graph) : graph;
}

const NONE: FlowNode['total'] = { received: 0, completed: 0, failed: 0 };

function wholeGraph({ events, workflows, schedules, serviceOf }: FlowSource): FlowGraph {
  const nodes = new Map<string, FlowNode>();
  const edges: FlowEdge[] = [];
  // Not in `add`: each poll adds thousands.
  const follow = (from: string, type: string | undefined, relation: FlowEdge['relation'], count: number): void => {
    if (type !== undefined) edges.push({ from, to: flowId('event', type), relation, count });
  };
  const add = (kind: 'event' | 'workflow', name: string, item: FlowItem): void => {
    const id = flowId(kind, name);
    const { metrics, recent } = item;
    const { received, completed, failed: notSucceeded, cancelled } = recent?.last5Min ?? { ...NONE, cancelled: 0 };
    const failed = notSucceeded - cancelled;
    nodes.set(id, {
      id,
      kind,
      name,
      service: serviceOf.get(id) ?? '',
      isPaused: item.paused !== undefined,
      needsAttention: item.needsAttention ?? false,
      size: 1,
      received,
      completed,
      failed,
      pending: metrics.pending - metrics.suspended,
      suspended: metrics.suspended,
      total: { received: metrics.received, completed: metrics.completed, failed: metrics.failed - metrics.cancelled },
    });
    follow(id, item.onSuccess, 'success', completed);
    follow(id, item.onFailure, 'failure', failed);
    follow(id, item.onComplete, 'complete', completed + failed);
  };
  for (const event of events) add('event', event.type, event);
  for (const workflow of workflows) add('workflow', workflow.name, workflow);
  for (const { name, trigger, triggers = trigger === undefined ? [] : [trigger], invokedBy = [] } of workflows) {
    const to = flowId('workflow', name);
    for (const type of triggers) {
      const from = flowId('event', type);
      edges.push({ from, to, relation: 'trigger', count: nodes.get(from)?.received ?? null });
    }
    for (const parent of invokedBy) {
      edges.push({ from: flowId('workflow', parent), to, relation: 'invoke', count: null });
    }
  }
  for (const { name, service, emit, start, paused, nextDueAt } of schedules) {
    const id = flowId('schedule', name);
    nodes.set(id, {
      id,
      kind: 'schedule',
      name,
      service,
      isPaused: paused !== undefined,
      needsAttention: false,
      size: 1,
      pending: 0,
      suspended: 0,
      dueAt: nextDueAt,
      ...NONE,
      total: NONE,
    });
    const to = emit === undefined ? flowId('workflow', start ?? '') : flowId('event', emit);
    // Schedules that were set at run time share their name.
    const isKnown = edges.some((edge) => edge.from === id && edge.to === to);
    if (!isKnown) edges.push({ from: id, to, relation: 'schedule', count: null });
  }
  const known = edges.filter(({ from, to }) => nodes.has(from) && nodes.has(to));
  return { nodes: besideNeighbours(nodes, known), edges: known };
}

/** Puts each type that no process handles beside what it leads to, or what leads to it. */
function besideNeighbours(nodes: ReadonlyMap<string, FlowNode>, edges: readonly FlowEdge[]): readonly FlowNode[] {
  const neighbours = new Map<string, string>();
  for (const { from, to } of edges) if (!neighbours.has(from)) neighbours.set(from, to);
  for (const { from, to } of edges) if (!neighbours.has(to)) neighbours.set(to, from);
  return [...nodes.values()].map((node) => {
    const neighbour = node.service === '' ? nodes.get(neighbours.get(node.id) ?? '') : undefined;
    return neighbour === undefined ? node : { ...node, service: neighbour.service };
  });
}

/** Joins the nodes of a service with one prefix, and the edges between the groups. */
function groupByPrefix({ nodes, edges }: FlowGraph): FlowGraph {
  const groups: Group[] = [];
  const byService = new Map<string, Map<string, Group>>();
  const groupOf = new Map<string, string>();
  const linked = new Set(edges.flatMap(({ from, to }) => [from, to]));
  for (const node of nodes) {
    const prefix = prefixOf(node.name) || node.name;
    const ofService = byService.get(node.service) ?? new Map<string, Group>();
    byService.set(node.service, ofService);
    let group = ofService.get(prefix);
    if (group !== undefined) join(group, node);
    else {
      const id = flowId('group', `${node.service} ${prefix}`);
      group = { ...node, id, kind: 'group', name: prefix, dueAt: undefined, total: { ...node.total } };
      ofService.set(prefix, group);
      groups.push(group);
    }
    if (linked.has(node.id)) groupOf.set(node.id, group.id);
  }
  const joined = new Map<string, FlowEdge>();
  for (const edge of edges) {
    const [from = '', to = ''] = [groupOf.get(edge.from), groupOf.get(edge.to)];
    if (from === to) continue;
    const key = `${from}\n${to}\n${edge.relation}`;
    const known = joined.get(key);
    const count = edge.count === null ? (known?.count ?? null) : (known?.count ?? 0) + edge.count;
    joined.set(key, { from, to, relation: edge.relation, count });
  }
  // The busiest groups: a name without a prefix is a group of its own.
  const kept = groups.sort((a, b) => b.received - a.received || b.size - a.size).slice(0, MAX_NODES);
  const isKept = new Set(kept.map(({ id }) => id));
  return { nodes: kept, edges: [...joined.values()].filter(({ from, to }) => isKept.has(from) && isKept.has(to)) };
}

/** Group whose sums grow while its nodes are joined. */
type Group = { -readonly [Name in Exclude<keyof FlowNode, 'total'>]: FlowNode[Name] } & {
  readonly total: { -readonly [Name in keyof FlowNode['total']]: number };
};

/** Adds a node to its group. In place: each poll joins thousands. */
function join(group: Group, node: FlowNode): void {
  group.isPaused &&= node.isPaused;
  group.needsAttention ||= node.needsAttention;
  for (const name of ['size', 'received', 'completed', 'failed', 'pending', 'suspended'] as const)
    group[name] += node[name];
  for (const name of ['received', 'completed', 'failed'] as const) group.total[name] += node.total[name];
}
