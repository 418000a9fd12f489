/**
 * Globals that the page uses often. In the built page they have short names, which takes 200 compressed bytes less: see
 * `vite.config.ts`.
 *
 * @module
 */

/** `undefined`, otherwise `void 0`. */
export let nothing: undefined;
export const { max: mathMax, min: mathMin, round: mathRound, floor: mathFloor } = Math;
export const { stringify: toJson } = JSON;
