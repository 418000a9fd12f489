import { z } from 'zod';
import type { Hub } from '../hub.js';
import type { HandlerFunction } from './context.js';
import { createEvent } from './event.js';
import type { CompletionPayload, FailurePayload } from './follow-ups.js';

declare const hub: Hub;

const shipped = hub.event<{ tracking: string }>({ type: 'shipped' });
const failed = hub.event<FailurePayload<{ id: string }>>({ type: 'failed' });
const ended = hub.event<CompletionPayload<{ tracking: string }, { id: string }>>({ type: 'ended' });
const schema = z.object({ id: z.string() });

hub.event({
  type: 'order',
  schema,
  onSuccess: shipped,
  onFailure: failed,
  onComplete: ended,
  handler: () => ({ tracking: 'x' }),
});
// The types of events may be names, which are checked at `start`.
hub.event({ type: 'named', schema, onSuccess: 'shipped', handler: () => 1 });
hub.event<{ id: string }>({ type: 'typed', onFailure: failed, handler: ({ payload }) => payload.id });

// The handler decides the type of the result, also an asynchronous one and one that is declared elsewhere.
hub.event({
  type: 'asynchronous',
  schema,
  onSuccess: shipped,
  onComplete: ended,
  handler: async ({ payload }) => ({ tracking: payload.id }),
});
declare const ship: HandlerFunction<unknown, Promise<{ tracking: string }>>;
hub.event({ type: 'declared elsewhere', onSuccess: shipped, key: (payload) => String(payload), handler: ship });
const definition = createEvent({ type: 'defined', schema });
hub.event(definition, { onSuccess: shipped, onFailure: failed, onComplete: ended, handler: ship });
hub.event(definition, { onSuccess: shipped, handler: async ({ payload }) => ({ tracking: payload.id }) });

// @ts-expect-error the result of the declared handler is no { tracking: number }
hub.event({ type: 'wrong', onSuccess: hub.event<{ tracking: number }>({ type: 'numbered' }), handler: ship });
// @ts-expect-error the result is no { tracking: string }
hub.event(definition, { onSuccess: shipped, handler: async ({ payload }) => payload.id.length });
// @ts-expect-error the result is no { tracking: string }
hub.event({ type: 'wrong', schema, onSuccess: shipped, handler: () => 1 });
// @ts-expect-error the payload has no id
hub.event({ type: 'wrong', schema: z.object({ n: z.number() }), onFailure: failed, handler: () => {} });
