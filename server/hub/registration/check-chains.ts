import { InvalidOptionError, quote } from '../../errors.js';
import { EventCycleError, UnknownEventError } from '../errors.js';
import type { RegisteredEvent } from '../events/definition/event.js';
import { type FollowUpNames, followUpKeys } from '../events/definition/follow-ups.js';
import type { AnyWorkflow } from '../runs/definition/workflow.js';
import { nearestNames } from './nearest-names.js';

/**
 * Checks that every follow-up and trigger is a registered event, that a trigger has a key if its workflow limits keys,
 * and that follow-ups and triggers form no cycle.
 *
 * @throws {UnknownEventError | InvalidOptionError | EventCycleError}
 */
export function checkChains(
  events: ReadonlyMap<string, RegisteredEvent>,
  workflows: ReadonlyMap<string, AnyWorkflow>,
  allowCycles: boolean,
): void {
  const check = (target: string | undefined, usedBy: string): void => {
    if (target === undefined || events.has(target)) return;
    throw new UnknownEventError(target, nearestNames(target, events.keys()), usedBy);
  };
  const checkAll = (names: FollowUpNames, owner: string): void => {
    for (const key of followUpKeys) check(names[key], `${key} of ${owner}`);
  };
  for (const { type, followUps } of events.values()) checkAll(followUps, quote(type));
  for (const { name, trigger, followUps, concurrencyPerKey } of workflows.values()) {
    check(trigger, `trigger of workflow ${quote(name)}`);
    if (trigger !== undefined && concurrencyPerKey !== undefined && events.get(trigger)?.key === undefined) {
      const expected = `set, because workflow ${quote(name)} has concurrencyPerKey`;
      throw new InvalidOptionError(`key of event ${quote(trigger)}`, expected, undefined);
    }
    checkAll(followUps, `workflow ${quote(name)}`);
  }
  if (allowCycles) return;
  const cycle = findCycle(causalGraph(events, workflows));
  if (cycle !== undefined) throw new EventCycleError(cycle);
}

/** Returns the types and workflows that each event and workflow causes. */
function causalGraph(
  events: ReadonlyMap<string, RegisteredEvent>,
  workflows: ReadonlyMap<string, AnyWorkflow>,
): ReadonlyMap<string, readonly string[]> {
  const targets = (names: FollowUpNames): string[] => followUpKeys.flatMap((key) => names[key] ?? []);
  // Event types contain no control characters, so this key cannot be one.
  const node = (name: string): string => `workflow\t${name}`;
  const all = new Map([...events].map(([type, { followUps }]) => [type, targets(followUps)]));
  for (const { name, trigger, followUps } of workflows.values()) {
    all.set(node(name), targets(followUps));
    if (trigger !== undefined) all.get(trigger)?.push(node(name));
  }
  return all;
}

/** Searches depth first. Does not recurse, because a chain may be longer than the call stack. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  for (const start of graph.keys()) {
    const onPath = new Set<string>();
    const open: { readonly node: string; readonly targets: string[] }[] = [];
    const enter = (node: string): void => {
      onPath.add(node);
      open.push({ node, targets: [...(graph.get(node) ?? [])] });
    };
    if (!done.has(start)) enter(start);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const target = top.targets.shift();
      if (target === undefined) {
        open.pop();
        onPath.delete(top.node);
        done.add(top.node);
      } else if (onPath.has(target)) {
        const path = [...onPath];
        return [...path.slice(path.indexOf(target)), target].map((node) => node.replace('\t', ' '));
      } else if (!done.has(target)) {
        enter(target);
      }
    }
  }
  return undefined;
}
