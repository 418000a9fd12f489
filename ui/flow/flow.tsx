import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Processes } from '../api/decode-views.js';
import { formatCount } from '../format/number.js';
import { Icon } from '../shared/icon.js';
import { isNarrow } from '../shared/use-element.js';
import { ViewSection } from '../shared/view-section.js';
import type { EventRow } from '../state/event-row.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';
import { type FlowGraph, type FlowSource, flowGraph, flowId, isTroubled } from './flow-graph.js';
import { KIND_ICON } from './flow-link.js';
import { FlowList } from './flow-list.js';
import { FlowMap } from './flow-map.js';

export interface FlowProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** View of all event types, workflows and schedules as a map: what leads to what, how much, and what fails. */
export function Flow({ monitor, navigation }: FlowProps): JSX.Element {
  const { store } = monitor;
  const graph = useFlowGraph(monitor);
  const isEmpty = graph.nodes.length === 0;
  const now = store.reading.peek().hubNow;
  // A map has no room on a phone.
  const [isList = isNarrow(), setList] = useState<boolean>();
  const [isWhole, setWhole] = useState(false);
  const busy = useBusy(graph, isList);
  const shown = isWhole ? graph : busy;
  const others = graph.nodes.length - busy.nodes.length;
  const isGrouped = graph.nodes.some(({ kind }) => kind === 'group');
  return (
    <ViewSection
      view="flow"
      store={store}
      aside={
        <span class="flow-aside">
          <span class="panel-period">last 5 min{isGrouped && ' · grouped by prefix'}</span>
          {others > 0 && (
            <button type="button" class="chip" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
              Show {formatCount(others)} without {isList ? 'links' : 'events in 5 min'}
            </button>
          )}
          <button type="button" class="chip" aria-pressed={isList} onClick={() => setList(!isList)}>
            List
          </button>
        </span>
      }
      isEmpty={isEmpty}
      hint={
        <>
          Register event types with <code>hub.event</code>, and the links between them appear here.
        </>
      }
    >
      {isList ? (
        <FlowList graph={shown} navigation={navigation} now={now} />
      ) : (
        <>
          <p class="keys flow-keys">
            <span>on start, success or end</span>
            <span class="is-failure">on failure</span>
            <span class="is-invoke">invokes</span>
            <span class="is-schedule">when due</span>
            <span class="is-none">no event in 5 min</span>
            <bdi class="keys run-keys">
              <span class="is-waited">suspended now</span>
            </bdi>
            {(['event', 'workflow', 'schedule'] as const).map((kind) => (
              <bdi key={kind}>
                <Icon name={KIND_ICON[kind]} /> {kind}
              </bdi>
            ))}
            <bdi class="tone-failed">
              <Icon name="triangle" /> failed share
            </bdi>
          </p>
          <FlowMap graph={shown} navigation={navigation} now={now} />
        </>
      )}
    </ViewSection>
  );
}

/** Number of nodes that may be left out from which they are. */
const MIN_OTHERS = 12;

/**
 * Returns the graph without nodes that have no edge and no trouble, nor an event in a map, if they are many. One that was
 * shown stays while the view is open.
 */
function useBusy(graph: FlowGraph, isList: boolean): FlowGraph {
  const shown = useRef([new Set<string>(), new Set<string>()]);
  return useMemo(() => {
    const { nodes, edges } = graph;
    const known = shown.current[Number(isList)] ?? new Set();
    for (const { from, to } of edges) known.add(from).add(to);
    for (const node of nodes) if (isTroubled(node) || (!isList && node.received + node.pending > 0)) known.add(node.id);
    const busy = nodes.filter(({ id }) => known.has(id));
    if (busy.length > 0 && nodes.length - busy.length >= MIN_OTHERS) return { nodes: busy, edges };
    for (const { id } of nodes) known.add(id);
    return graph;
  }, [graph, isList]);
}

/** Returns the graph of the last response. Once per poll: each ends with the processes, and thousands of types take time. */
function useFlowGraph({ store, processes }: Monitor): FlowGraph {
  const loaded = processes.value;
  const serviceOf = useServices(loaded?.body ?? null);
  return useMemo(
    () =>
      flowGraph({
        events: [...store.rows.peek().values()].map(flowEvent),
        workflows: store.workflows.peek(),
        schedules: store.schedules.peek(),
        serviceOf,
      }),
    [loaded ?? store.reading.value],
  );
}

/** Returns the service of each event type and workflow, by `flowId`. They rarely change, and may be thousands. */
function useServices(body: Processes | null): FlowSource['serviceOf'] {
  const { registrations = [], processes = [] } = body ?? {};
  const places = JSON.stringify([processes.map(({ handles, service }) => [handles, service]), registrations]);
  return useMemo(() => {
    const serviceOf = new Map<string, string>();
    // Backwards: of several services that handle a type, the first one is its place.
    for (const [index, { events, workflows }] of [...registrations.entries()].reverse()) {
      const service = processes.find(({ handles }) => handles === index)?.service ?? '';
      for (const type of events) serviceOf.set(flowId('event', type), service);
      for (const name of workflows) serviceOf.set(flowId('workflow', name), service);
    }
    return serviceOf;
  }, [places]);
}

/** Returns what the map shows of an event type. Field by field: each poll reads thousands. */
function flowEvent({ type, details, last5Min, count, status }: EventRow): FlowSource['events'][number] {
  return {
    type,
    needsAttention: status === 'attention',
    onSuccess: details?.onSuccess,
    onFailure: details?.onFailure,
    onComplete: details?.onComplete,
    paused: details?.paused,
    metrics: {
      received: count('received'),
      completed: count('completed'),
      failed: count('failed'),
      cancelled: count('cancelled'),
      pending: count('pending'),
      suspended: count('suspended'),
    },
    recent: { last5Min },
  };
}
