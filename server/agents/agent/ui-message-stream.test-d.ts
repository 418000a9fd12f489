import { createUIMessageStreamResponse, readUIMessageStream } from 'ai';
import type { ModelAgent } from './agent.js';
import { toUIMessageStream } from './ui-message-stream.js';

declare const agent: ModelAgent;

// The chunks are those of the AI SDK.
createUIMessageStreamResponse({ stream: toUIMessageStream(agent.stream('x')) });
readUIMessageStream({ stream: toUIMessageStream(agent.stream('x')) });
