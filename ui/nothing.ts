/** `undefined` in the built page, which has a short name there: `void 0` would take 120 compressed bytes more. */
export let nothing: undefined;
