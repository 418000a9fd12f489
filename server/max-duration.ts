/** Longest duration that every transport can store, in milliseconds: about 31 years. */
export const maxDurationMs = 1_000_000_000_000;
