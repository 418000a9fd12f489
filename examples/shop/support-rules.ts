import type { Rule } from './rehearsed-model.js';

/** Scripted answers of the support agent. */
export const answerAsSupport: Rule = ({ input, results }) => {
  const [order, outcome] = results;
  const orderId = orderIdIn(input);
  if (/lawyer/i.test(input)) throw new Error('the model declined to answer');
  if (orderId === undefined) return 'Happy to look into it! Which order is it about? Its number begins with "A-".';
  if (order === undefined) return { name: 'look_up_order', arguments: { orderId } };
  if (outcome !== undefined) return `I am sorry for the trouble. ${outcome}`;
  if (/broken|crack/i.test(input)) return { name: 'refund', arguments: { orderId } };
  if (/where|late/i.test(input)) {
    return { name: 'delegate', arguments: { agentName: 'courier-desk', input: `Where is the parcel of ${orderId}?` } };
  }
  return `Your order ${orderId} has been sent, and everything is in it.`;
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
