import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { groupBy } from '../shared/lists.js';
import { type FlowEdge, type FlowGraph, type FlowNode, isTroubled } from './flow-graph.js';
import { FlowLink } from './flow-link.js';
import type { FlowGraphProps } from './flow-map.js';

const RELATION_LABEL: Record<FlowEdge['relation'], string> = {
  trigger: 'starts',
  success: 'on success',
  failure: 'on failure',
  complete: 'on complete',
  invoke: 'invokes',
  schedule: 'when due',
};

/** Graph as a list: each node below what leads to it, sources with trouble first. */
export function FlowList({ graph, navigation, now }: FlowGraphProps): JSX.Element {
  const nodeOf = new Map(graph.nodes.map((node) => [node.id, node]));
  const branches = flowBranches(graph);
  const hasTrouble = ({ id, next }: FlowBranch): boolean => isTroubled(nodeOf.get(id)) || next.some(hasTrouble);
  // The order stays while the view is open.
  const [troubled] = useState(() => branches.filter(hasTrouble).map(({ id }) => id));
  const isFirst = ({ id }: FlowBranch): boolean => troubled.includes(id);
  const query = navigation.query.value;
  const open = navigation.openType.value;
  const item = ({ id, relation, isRepeated, next }: FlowBranch, cause?: FlowNode): JSX.Element | undefined => {
    const node = nodeOf.get(id);
    const notes = [relation && RELATION_LABEL[relation], isRepeated && 'see above'];
    return (
      node && (
        <li key={`${id} ${relation}`} class={cause ? undefined : 'run'}>
          <FlowLink
            node={node}
            now={now}
            service={node.service === cause?.service ? '' : node.service}
            note={notes.filter(Boolean).join(' · ')}
            isRepeated={isRepeated}
            isOpen={node.kind === 'event' && node.name === open}
            query={query}
          />
          {next.length > 0 && <ul>{next.map((branch) => item(branch, node))}</ul>}
        </li>
      )
    );
  };
  return (
    <ul class="card flow-list" aria-label="Event types, workflows and schedules">
      {[...branches.filter(isFirst), ...branches.filter((branch) => !isFirst(branch))].map((branch) => item(branch))}
    </ul>
  );
}

/** Node of the list, with those to which it leads. */
export interface FlowBranch {
  readonly id: string;
  /** Link from the node above; `null` for a source. */
  readonly relation: FlowEdge['relation'] | null;
  /** It stands with its links further up. */
  readonly isRepeated: boolean;
  readonly next: readonly FlowBranch[];
}

/** Returns the nodes to which nothing leads, each with those that it leads to, then the circles. */
export function flowBranches({ nodes, edges }: FlowGraph): readonly FlowBranch[] {
  const outgoing = groupBy(edges, ({ from }) => from);
  const reached = new Set(edges.map(({ to }) => to));
  const seen = new Set<string>();
  const branchOf = (id: string, relation: FlowBranch['relation']): FlowBranch => {
    const isRepeated = seen.has(id);
    seen.add(id);
    const next = isRepeated ? [] : (outgoing.get(id) ?? []);
    return { id, relation, isRepeated, next: next.map((edge) => branchOf(edge.to, edge.relation)) };
  };
  return [...nodes.filter(({ id }) => !reached.has(id)), ...nodes].flatMap(({ id }) =>
    seen.has(id) ? [] : branchOf(id, null),
  );
}
