import { describe, expect, test } from 'vitest';
import { leaseMs } from './limit-state.js';
import { readSpend, renewSpend, reserveSpend, settleSpend } from './spend-state.js';

const rule = { max: 100, perMs: 60_000 };
const reserve = (state: string | undefined, now: number, id: string, amount: number) =>
  reserveSpend(rule, state, now, id, amount);

describe('a spending limit', () => {
  test('reserves what fits, and waits for a correction while only reservations stand in the way', () => {
    const first = reserve(undefined, 0, 'a', 60);
    expect(first).toMatchObject({ isReserved: true, spent: 0, reserved: 60 });
    const second = reserve(first.state, 1, 'b', 50);
    expect(second).toMatchObject({ isReserved: false, isHeld: true, reserved: 60 });
    const settled = settleSpend(rule, second.state, 2, 'a', 10);
    expect(readSpend(rule, settled.state, 2)).toEqual({ spent: 10, reserved: 0 });
    expect(reserve(settled.state, 3, 'b', 50)).toMatchObject({ isReserved: true, spent: 10, reserved: 50 });
  });

  test('says when the window has room, and that a larger amount never has', () => {
    let { state } = settleSpend(rule, undefined, 1_000, 'a', 50);
    state = settleSpend(rule, state, 5_000, 'b', 50).state;
    expect(reserve(state, 10_000, 'c', 50)).toMatchObject({ isReserved: false, isHeld: false, waitMs: 51_000 });
    expect(reserve(state, 10_000, 'c', 60)).toMatchObject({ isHeld: false, waitMs: 55_000 });
    expect(reserve(state, 10_000, 'c', 101).waitMs).toBeUndefined();
    expect(reserve(state, 61_000, 'c', 50).isReserved).toBe(true);
    const cents = settleSpend({ ...rule, max: 0.3 }, undefined, 0, 'a', 0.1);
    expect(reserveSpend({ ...rule, max: 0.3 }, cents.state, 1, 'b', 0.3).waitMs).toBe(59_999);
  });

  test('counts a reservation that nobody renews as spent, from the end of its lease on', () => {
    const { state } = reserve(undefined, 0, 'a', 70);
    const renewed = renewSpend(rule, state, leaseMs - 1, new Set(['a'])).state;
    expect(readSpend(rule, renewed, leaseMs + 1)).toEqual({ spent: 0, reserved: 70 });
    expect(readSpend(rule, state, leaseMs)).toEqual({ spent: 70, reserved: 0 });
    expect(reserve(state, leaseMs, 'b', 40)).toMatchObject({ isHeld: false, waitMs: rule.perMs });
    expect(readSpend(rule, state, leaseMs + rule.perMs)).toEqual({ spent: 0, reserved: 0 });
  });

  test('holds few amounts, none of which leaves the window too early', () => {
    let state: string | undefined;
    const spends: number[] = [];
    for (let at = 0; at < 3 * rule.perMs; at += 37) {
      state = settleSpend(rule, state, at, 'a', 1).state;
      spends.push(at);
      const inWindow = spends.filter((then) => then > at - rule.perMs).length;
      const { spent } = readSpend(rule, state, at);
      expect(spent).toBeGreaterThanOrEqual(inWindow);
      expect(spent).toBeLessThanOrEqual(inWindow * (1 + 1 / 60) + 1);
    }
    expect(state?.length).toBeLessThan(2_500);
  });

  test('refuses a damaged state', () => {
    expect(() => readSpend(rule, '[[["x"]],[]]', 0)).toThrow('the stored state of a spending limit is damaged');
  });
});
