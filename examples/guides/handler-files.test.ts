import { expect, test } from 'vitest';
import { orderPlaced } from '../deploying/definitions.js';
import { eventually } from '../testing/eventually.js';
import { startHub } from '../testing/start-hub.js';
import { createPackingHub } from './handler-files.js';

test('a handler of another file receives the payload of the definition, and its result is that of the follow-up', async () => {
  const packed: number[] = [];
  const hub = await startHub(createPackingHub((boxes) => packed.push(boxes)));
  await hub.emit(orderPlaced, { id: 'A-1', items: ['tea', 'pot', 'cup'] });
  await eventually(() => expect(packed).toEqual([2]));
});
