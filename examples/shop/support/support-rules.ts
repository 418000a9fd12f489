import type { Rule } from '../models/rehearsed-model.js';

/** Scripted answers of the support agent. */
export const answerAsSupport: Rule = ({ input, results }) => {
  const [order, outcome] = results;
  const orderId = orderIdIn(input);
  const isBroken = /broken|crack/i.test(input);
  const reply = (category: string, answer: string): string =>
    JSON.stringify({ category, orderId: orderId ?? null, answer });
  if (/lawyer/i.test(input)) throw new Error('the model declined to answer');
  if (orderId === undefined) {
    return reply('other', 'Happy to look into it! Which order is it about? Its number begins with A-.');
  }
  if (order === undefined) return { name: 'look_up_order', arguments: { orderId } };
  if (outcome !== undefined) {
    return reply(isBroken ? 'refund' : 'delivery', `I am sorry for the trouble. ${outcome}`);
  }
  if (isBroken) return { name: 'refund', arguments: { orderId } };
  if (/where|late/i.test(input)) {
    return { name: 'delegate', arguments: { agentName: 'courier-desk', input: `Where is the parcel of ${orderId}?` } };
  }
  return reply('order', `Your order ${orderId} has been sent, and everything is in it.`);
};

/** Scripted answers of the courier desk. */
export const answerAsCourierDesk: Rule = ({ input, results }) => {
  const orderId = orderIdIn(input) ?? 'A-0';
  if (results.length === 0) return { name: 'track_parcel', arguments: { orderId } };
  return `The parcel of ${orderId} was last seen in Bergen, and should arrive tomorrow.`;
};

function orderIdIn(text: string): string | undefined {
  return /\bA-\d+\b/.exec(text)?.[0];
}
