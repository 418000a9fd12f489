import { createUIMessageStreamResponse, readUIMessageStream } from 'ai';
import type { Hub } from '../../hub/hub.js';
import type { ModelAgent } from './agent.js';
import type { PublishedAgentEvent } from './published-events.js';
import { resumeUIMessageResponse } from './resume-ui-message.js';
import { toUIMessageStream } from './ui-message-stream.js';

declare const agent: ModelAgent;
declare const hub: Hub;
declare const request: Request;

// The chunks are those of the AI SDK.
createUIMessageStreamResponse({ stream: toUIMessageStream(agent.stream('x')) });
readUIMessageStream({ stream: toUIMessageStream(agent.stream('x')) });

// Nobody reads a run without a check.
// @ts-expect-error authorize is required
void resumeUIMessageResponse(hub, 'run', request, {});
// @ts-expect-error a truthy value is no decision
void resumeUIMessageResponse(hub, 'run', request, { authorize: () => 'yes' });

// What an agent publishes is typed.
for await (const entry of hub.stream<PublishedAgentEvent>('run')) {
  if (entry.type !== 'data' || entry.data.type !== 'tool-call') continue;
  entry.data.agent satisfies string;
  entry.data.toolCall.arguments satisfies string;
}
