import type { Hub } from 'hubline';
import { pick, type Traffic } from '../simulate.js';
import { customerOf } from './support-tools.js';

const tickets = [
  'Where is my order A-17?',
  'The teapot of order A-23 arrived broken.',
  'Did order A-31 include the tray?',
  'My parcel is late, order A-8!',
  'Do you sell sugar tongs?',
  'Answer by Friday, or you hear from my lawyer.',
];
const complaints = ['I have to wait for two weeks now!', 'The lid is cracked, and the cup as well.'];
const questions = ['Should delivery be free?', 'Should gift wrapping be free?'];

const inquiries = [
  { type: 'ticket.opened', texts: tickets, everyMs: 4_000, firstAfterMs: 500 },
  { type: 'complaint.received', texts: complaints, everyMs: 11_000, firstAfterMs: 1_000 },
  { type: 'price.questioned', texts: questions, everyMs: 30_000, firstAfterMs: 1_500 },
];

/** Emits tickets and complaints every few seconds, and a question about prices twice per minute. */
export function startInquiries(hub: Hub, onError: (error: unknown) => void): Traffic {
  const timers = inquiries.flatMap(({ type, texts, everyMs, firstAfterMs }) => {
    const send = (): void => {
      const input = pick(texts);
      hub.emit(type, { customer: customerIn(input), input }).catch(onError);
    };
    return [setTimeout(send, firstAfterMs), setInterval(send, everyMs)];
  });
  return {
    stop() {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** Returns the customer who writes: the buyer of the order in the text, or someone without an order. */
function customerIn(text: string): string {
  const orderId = /\bA-\d+\b/.exec(text)?.[0];
  return orderId === undefined ? 'Katherine' : customerOf(orderId);
}
