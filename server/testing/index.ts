/**
 * What a test of an application needs: time that is moved by hand.
 *
 * @module
 */
export { createFakeClock, type FakeClock } from './fake-clock.js';
