import type { HandlerFunction } from './context.js';
import type { EventRef } from './emit.js';
import type { RegisteredEvent } from './event.js';
import type { AgentDescription } from './reported-agents.js';

/** Finds the registered event of a type. Throws if there is none. */
export interface EventRegistry {
  event(target: EventRef<never, unknown> | string): RegisteredEvent;
}

/** Introspection data of a handler that runs an agent or a debate. */
export interface HandlerInfo {
  readonly kind: 'agent' | 'debate';
  /** Name of the agent or debate. */
  readonly name: string;
  /** The handler records its turns as steps of a run. */
  readonly isDurable?: boolean;
  /** Checks the handler when its hub starts. Throws if the handler cannot work. */
  readonly check?: (events: EventRegistry) => void;
  /**
   * Returns the agents of the handler in their current state: the main agent first, then its delegates. Empty until
   * they are known.
   */
  agents(): readonly AgentDescription[];
  /** Steps of a list with the same stage run at the same time. @default a stage of its own */
  readonly stage?: number;
  /** The handler may skip its step of a list. @default false */
  readonly isConditional?: boolean;
}

const infoKey: unique symbol = Symbol('hubline.handler-info');

interface InformedHandler {
  readonly [infoKey]?: HandlerInfo;
}

/** Attaches introspection data to a handler and returns the handler. */
export function withHandlerInfo<THandler extends HandlerFunction>(handler: THandler, info: HandlerInfo): THandler {
  return Object.defineProperty(handler, infoKey, { value: info });
}

/** Returns the introspection data of a handler, if it has any. */
export function handlerInfo(handler: object): HandlerInfo | undefined {
  // Only `withHandlerInfo` sets this key.
  return (handler as InformedHandler)[infoKey];
}
