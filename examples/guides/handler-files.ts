import { createHub, type Hub } from 'hubline';
import { orderPlaced } from '../deploying/definitions.js';
import { packOrder } from './pack-order.js';

/** Creates a hub whose handlers are functions of other files. */
export function createPackingHub(onPacked: (boxes: number) => void): Hub {
  const hub = createHub({ service: 'packing' });
  const packed = hub.event<{ boxes: number }>({
    type: 'order.packed',
    handler: ({ payload }) => onPacked(payload.boxes),
  });
  hub.event(orderPlaced, { handler: packOrder, onSuccess: packed });
  return hub;
}
