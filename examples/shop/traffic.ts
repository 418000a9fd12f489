import { BackpressureError, type Hub, HubStoppedError, SchemaValidationError } from 'hubline';
import { startInquiries } from './inquiries.js';
import { oneIn, pick, type Traffic } from './simulate.js';

const tickMs = 100;
const customers = ['Ada', 'Grace', 'Linus', 'Margaret', 'Barbara', 'Alan', 'Edsger', 'Katherine'];
const articles = ['teapot', 'kettle', 'cup', 'tray', 'sugar-bowl'];

/**
 * Sends orders to a started shop, and now and then a customer's question. Some orders come twice, as from
 * a second click, and some are not valid.
 *
 * @param perSecond orders a second, fractions allowed; 0 for none, and no questions either
 * @param onError gets what the shop does not answer for by itself
 * @param series what the order numbers begin with; no two processes at work share one
 */
export function startTraffic(
  hub: Hub,
  perSecond: number,
  onError: (error: unknown) => void,
  series: string = 'A',
): Traffic {
  let next = 1;
  let owed = 0;
  const tick = (): void => {
    for (owed += (perSecond * tickMs) / 1_000; owed >= 1; owed -= 1) {
      sendOrder(hub, `${series}-${next}`).catch(onError);
      next += 1;
    }
  };
  if (perSecond === 0) return { stop: () => {} };
  const timer = setInterval(tick, tickMs);
  const inquiries = startInquiries(hub, onError);
  return {
    stop() {
      clearInterval(timer);
      inquiries.stop();
    },
  };
}

async function sendOrder(hub: Hub, orderId: string): Promise<void> {
  const isValid = !oneIn(40);
  const order = {
    orderId,
    customer: pick(customers),
    items: isValid ? [{ sku: pick(articles), quantity: 1 + Math.floor(Math.random() * 3) }] : [],
    amountCents: 500 + Math.floor(Math.random() * 20_000),
  };
  try {
    await hub.emit('order.created', order, { dedupeId: orderId });
    if (oneIn(20)) await hub.emit('order.created', order, { dedupeId: orderId });
  } catch (error) {
    // The customer hears "please check your order" or "please come back later": no failure of the shop.
    const isAnswered = [SchemaValidationError, BackpressureError, HubStoppedError].some(
      (kind) => error instanceof kind,
    );
    if (!isAnswered) throw error;
  }
}
