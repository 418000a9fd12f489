import { expectTypeOf } from 'vitest';
import type { Agent, ModelAgent } from '../agent/agent.js';
import { createTool } from '../tools/tool.js';
import type { Message } from './message.js';
import { type InputPart, MediaResult, type Part } from './part.js';

declare const agent: ModelAgent;
declare const message: Message;
declare const bytes: Uint8Array;
const image = { type: 'image', mediaType: 'image/png' } as const;

void agent.run('text');
void agent.run([
  { type: 'text', text: 'Look' },
  { ...image, data: bytes },
]);
agent.stream([{ ...image, url: 'https://example.com/a.png' }]);
// The type of a file is that of its bytes.
void agent.run([{ type: 'file', blob: new File([], 'a.pdf') }]);
agent.asHandler({ input: (): InputPart[] => [{ ...image, data: 'AAAA' }] });

// @ts-expect-error one source only
void agent.run([{ ...image, data: 'AAAA', url: 'https://example.com/a.png' }]);

// @ts-expect-error no source
void agent.run([image]);

// @ts-expect-error bytes do not know their type
void agent.run([{ type: 'image', data: bytes }]);

// An agent of another kind takes texts, and one from createAgent can stand in its place.
expectTypeOf<ModelAgent>().toExtend<Agent>();
expectTypeOf<Parameters<Agent['run']>[0]>().toEqualTypeOf<string>();

// What is stored can be passed again.
expectTypeOf(message.content).toEqualTypeOf<string>();
expectTypeOf(message.parts).toEqualTypeOf<Part[] | undefined>();
expectTypeOf<Part>().toExtend<InputPart>();
for (const part of message.parts ?? []) {
  if (part.type === 'text') expectTypeOf(part.text).toEqualTypeOf<string>();
  else if (part.data === undefined) expectTypeOf(part.url).toEqualTypeOf<string>();
  else expectTypeOf(part.data).toEqualTypeOf<string>();
}

const tool = createTool({
  name: 'see',
  description: '',
  parameters: {},
  execute: async () => new MediaResult([{ ...image, data: bytes }]),
});
expectTypeOf(tool.execute).returns.resolves.toEqualTypeOf<MediaResult>();
