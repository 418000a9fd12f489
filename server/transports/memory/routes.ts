import type { Subscription } from '../transport.js';
import type { ConsumerGroup } from './group/consumer-group.js';

/** Run type of a group that an event type triggers. */
export interface TriggeredType {
  readonly group: ConsumerGroup;
  readonly type: string;
}

/** Consumer groups that receive the events of one type. */
export interface Route {
  readonly handlers: ReadonlySet<ConsumerGroup>;
  readonly triggers: ReadonlyMap<string, TriggeredType>;
}

interface MutableRoute extends Route {
  readonly handlers: Set<ConsumerGroup>;
  readonly triggers: Map<string, TriggeredType>;
}

/** Routes of all event types. */
export class Routes {
  readonly #routes = new Map<string, MutableRoute>();
  /** Event type that triggers a run type, by group and run type. */
  readonly #triggeredBy = new Map<string, string>();

  find(type: string): Route | undefined {
    return this.#routes.get(type);
  }

  /** Keeps the events of a type for a group. */
  addHandler(type: string, group: ConsumerGroup): void {
    this.#route(type).handlers.add(group);
  }

  /** Types of which the group receives events, triggered ones included. */
  typesOf(group: ConsumerGroup): Set<string> {
    const types = new Set<string>();
    for (const [type, { handlers, triggers }] of this.#routes) {
      if (handlers.has(group)) types.add(type);
      for (const triggered of triggers.values()) if (triggered.group === group) types.add(triggered.type);
    }
    return types;
  }

  /** Ends the events of a type for a group. */
  remove(type: string, group: ConsumerGroup): void {
    this.#routes.get(type)?.handlers.delete(group);
    this.setTrigger(group, type, undefined);
  }

  /** Sets the trigger of a run type of a group. It replaces the former one. */
  setTrigger(group: ConsumerGroup, type: string, trigger: Subscription['trigger']): void {
    const key = JSON.stringify([group.service, type]);
    const former = this.#triggeredBy.get(key);
    if (former !== undefined) this.#route(former).triggers.delete(key);
    this.#triggeredBy.delete(key);
    if (trigger === undefined) return;
    this.#triggeredBy.set(key, trigger);
    this.#route(trigger).triggers.set(key, { group, type });
  }

  #route(type: string): MutableRoute {
    let route = this.#routes.get(type);
    if (route === undefined) {
      route = { handlers: new Set(), triggers: new Map() };
      this.#routes.set(type, route);
    }
    return route;
  }
}
