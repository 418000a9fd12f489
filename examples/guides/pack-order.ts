import type { HandlerFunction, PayloadOf } from 'hubline';
import type { orderPlaced } from '../deploying/definitions.js';

/** Packs the items of an order. Returns the number of boxes. */
export const packOrder: HandlerFunction<PayloadOf<typeof orderPlaced>, { boxes: number }> = ({ payload, logger }) => {
  logger.info({ items: payload.items.length }, 'packing');
  return { boxes: Math.ceil(payload.items.length / 2) };
};
