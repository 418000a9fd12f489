import type { HandlerFunction } from '../events/context.js';
import type { AgentIntrospection, EventKind } from './introspection.js';

/** What a handler says of itself, for introspection. */
export interface HandlerInfo {
  readonly kind: Extract<EventKind, 'agent' | 'debate'>;
  /** The agent's or debate's own. */
  readonly name: string;
  /** The agents behind the handler as they are now, the one that answers first, delegates after it; none while it is not known. */
  agents(): readonly AgentIntrospection[];
}

const infoKey: unique symbol = Symbol('hubline.handler-info');

interface InformedHandler {
  readonly [infoKey]?: HandlerInfo;
}

/** Attaches to a handler what it is. Returns the handler. */
export function withHandlerInfo(handler: HandlerFunction, info: HandlerInfo): HandlerFunction {
  return Object.defineProperty(handler, infoKey, { value: info });
}

/** What a handler is, where it says so. */
export function handlerInfo(handler: object): HandlerInfo | undefined {
  // Only `withHandlerInfo` has the key.
  return (handler as InformedHandler)[infoKey];
}
